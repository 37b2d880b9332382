"""All compiled kernels at once: what must not depend on memory order or threads."""

import numpy as np

from dpsumm import kernels


def every_result(points, others, gamma=0.3):
    """All kernels on two tables, as a list of arrays."""
    width = points.shape[1]
    paired = kernels.RandomFeatures(width, 16, gamma=gamma, seed=7)
    phase = kernels.RandomFeatures(width, 15, gamma=gamma, seed=7, kind="phase", orthogonal=False)
    attraction = kernels.kernel_means(points, others, gamma)
    picks = kernels.greedy(points, attraction, gamma, min(20, len(points)))
    towards = kernels.greedy_towards(points, others, gamma, min(20, len(points)))
    bidder = kernels.Bidder(paired.on_grid(points))
    bidder.set_target(paired.sum_on_grid(others, 2**20))
    rows, scores = bidder.best(3, 2, 10)
    results = [
        attraction,
        kernels.mmd2(points, others, gamma),
        kernels.mean_kernel_self(points, gamma),
        kernels.objective(points, attraction, gamma),
        *kernels.nearest(points, others, 2),
        picks.rows,
        picks.objective,
        towards.rows,
        towards.objective,
        rows,
        [str(score) for score in scores],
    ]
    results += tables_and_model(points)
    for made in (paired, phase):
        direction = np.linspace(-1, 1, made.n_features)
        results += [
            made.transform(points),
            made.scores(points, direction),
            made.scores(points, np.stack([direction, -direction])),
            kernels.tilt(made, points, direction / made.n_features, noise=0.01),
            made.on_grid(points),
            made.sum_on_grid(points, 1000),
            made.quantized_sum(points, 20, 3),
        ]
    return [np.asarray(result) for result in results]


def tables_and_model(points):
    """Secret products and a mixture, of signs as two categories for each column."""
    width = 2 * points.shape[1]
    codes = (points > 0) + np.arange(0, width, 2)
    pads = [kernels.Pad(width, bytes([i] * 32)) for i in range(2)]
    masked = pads[0].mask(codes, first_row=3)
    shares = np.full(width, 1 / 2)
    weights = np.full((width, width), 1e3)
    counts = kernels.pair_counts(codes, width)
    tables = (counts + counts.T) / len(points)
    fit = kernels.fit_mixture(
        [2] * points.shape[1], tables, weights, shares, weights[0], components=7, max_steps=9
    )
    rows = kernels.sample_mixture(fit.pi, fit.theta, [2] * points.shape[1], 50, seed=1)
    return [
        masked,
        kernels.one_hot_product(codes, width, masked),
        pads[1].product(masked),
        pads[0].correction(pads[1], 100),
        counts,
        *fit,
        rows,
    ]


def assert_identical(a, b):
    for one, other in zip(a, b, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
