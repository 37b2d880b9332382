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
    herded = kernels.herd(points, attraction, gamma, 0.02, 3, 50)
    bidder = kernels.Bidder(paired.on_grid(points))
    bidder.set_target(paired.sum_on_grid(others, 2**20))
    rows, scores = bidder.best(3, 2, 10)
    results = [
        attraction,
        kernels.mmd2(points, others, gamma),
        kernels.mean_kernel_self(points, gamma),
        kernels.objective(points, attraction, gamma),
        *(part for p in (picks, herded) for part in (p.rows, p.objective)),
        rows,
        [str(score) for score in scores],
    ]
    for made in (paired, phase):
        direction = np.linspace(-1, 1, made.n_features)
        results += [
            made.transform(points),
            made.scores(points, direction),
            made.on_grid(points),
            made.sum_on_grid(points, 1000),
            made.quantized_sum(points, 20, 3),
        ]
    return [np.asarray(result) for result in results]


def assert_identical(a, b):
    for one, other in zip(a, b, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
