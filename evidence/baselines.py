"""What a user could train on instead of a summary, such as all owners' data or synthetic records.

Harder, Adamczewski & Park (2021), "DP-MERF", by its published method for one table: random features
of a record times its label, summed, with Gaussian noise once; a generator is trained to match. Each
owner releases a sum of its own, with noise for the whole budget, and the receiver adds them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import dpsumm
from dpsumm import Schema
from dpsumm.kernels import RandomFeatures
from dpsumm.privacy import accounting
from evidence.problem import Labelled, Problem

Floats = NDArray[np.float64]
Baseline = Callable[[Problem, float, int], Labelled]  # problem, epsilon, seed -> points as seen

FEATURES, HIDDEN, NOISE_INPUTS, BATCH, STEPS, RECORDS = 1000, 100, 10, 200, 400, 2000
# Records that models of all data are trained on; more hardly change them.
MOST = 5000


def everything(problem: Problem, epsilon: float, seed: int) -> Labelled:
    """Return all records of all owners, at most 5,000 of them at random: nothing is protected."""
    points = np.concatenate([problem.seen(owner.points) for owner in problem.owners])
    labels = np.concatenate([owner.labels for owner in problem.owners])
    rows = np.random.default_rng(seed).permutation(len(labels))[:MOST]
    return Labelled(points[rows], labels[rows])


def points_read(problem: Problem, epsilon: float, seed: int) -> Labelled:
    """Return all points that Offers read at 4 reads for each point of a summary."""
    return _pool(problem, dpsumm.Offers(), len(problem.oracle.labels), epsilon, seed)


def uniform_read(problem: Problem, epsilon: float, seed: int) -> Labelled:
    """Return four times as many random points as a summary has. They release nothing."""
    return _pool(problem, dpsumm.summary.Uniform(), 4 * len(problem.oracle.labels), epsilon, seed)


def with_own(baseline: Baseline) -> Baseline:
    """Return a baseline with the target's own labelled records added, as `Summary.fit` does."""

    def made(problem: Problem, epsilon: float, seed: int) -> Labelled:
        others, own = baseline(problem, epsilon, seed), problem.oracle
        points = np.concatenate([others.points, problem.seen(own.points)])
        return Labelled(points, np.concatenate([others.labels, own.labels]))

    return made


def _pool(
    problem: Problem,
    protocol: dpsumm.Offers | dpsumm.summary.Uniform,
    size: int,
    epsilon: float,
    seed: int,
) -> Labelled:
    pool = dpsumm.summarize(
        [owner.points for owner in problem.owners],
        problem.target,
        size=min(size, sum(len(owner.labels) for owner in problem.owners)),
        schema=problem.schema,
        kernel=problem.kernel,
        protocol=protocol,
        epsilon=epsilon,
        seed=seed,
    ).pool
    labels = [problem.owners[i].labels[j] for i, j in zip(pool.owner, pool.index, strict=True)]
    return Labelled(pool.scaled, np.array(labels))


def importance(points: Floats, target: Floats) -> Floats:
    """Return weights of sum 1 by the odds that a logistic regression takes a record for a target's.

    The usual correction of covariate shift (Bickel, Brueckner & Scheffer 2009); not private.
    """
    from sklearn.linear_model import LogisticRegression

    both = np.concatenate([points, target])
    is_target = np.arange(len(both)) >= len(points)
    model = LogisticRegression(class_weight="balanced", max_iter=300).fit(both, is_target)
    odds = np.exp(model.decision_function(points))
    return np.asarray(odds / odds.sum())


def dp_merf(problem: Problem, epsilon: float, seed: int) -> Labelled:
    """Return 2,000 synthetic records, (epsilon, 1e-5)-private for each owner's records.

    Accounting: a record's features have norm 1, and so has its label's row of a one-hot matrix; the
    two stand side by side. Replacing a record by one of the same label changes the features by 2 at
    most and the labels not, by one of another label both by sqrt 2: the sensitivity is 2, and the
    noise the analytic Gaussian mechanism's (Balle & Wang 2018).
    """
    assert problem.schema is not None
    rng = np.random.default_rng(seed)
    labels = np.unique(np.concatenate([owner.labels for owner in problem.owners]))
    width = len(problem.schema.cells)
    features = RandomFeatures(width, FEATURES, gamma=problem.kernel.gamma, seed=seed)
    noise = 2 * accounting.gaussian_noise_multiplier(epsilon, 1e-5)
    total = np.zeros((len(labels), FEATURES + 1))
    for owner in problem.owners:
        made = features.transform(problem.seen(owner.points))
        which = owner.labels[:, None] == labels
        sums = np.column_stack([which.T @ made, which.sum(axis=0)])
        # A test of usefulness needs no exact sampler.
        total += sums + noise * rng.normal(size=sums.shape)
    total /= sum(len(owner.labels) for owner in problem.owners)
    shares = np.maximum(total[:, -1], 1e-3)
    generator = _Generator(problem.schema, len(labels), rng)
    frequencies = features.omega
    _fit(generator, frequencies, total[:, :-1], shares / shares.sum(), rng)
    which = rng.choice(len(labels), RECORDS, p=shares / shares.sum())
    return Labelled(generator.records(which), labels[which])


class _Generator:
    """One hidden layer from noise and label to a record: a number's place, a category's odds."""

    def __init__(self, schema: Schema, n_labels: int, rng: np.random.Generator) -> None:
        sizes = [len(column.how.cells) for column in schema.kernel]
        ends = np.cumsum(sizes)
        self.blocks = [
            slice(end - size, end)
            for end, size, column in zip(ends, sizes, schema.kernel, strict=True)
            if column.categories and not column.ordered
        ]
        self.numbers = np.ones(ends[-1], bool)
        for block in self.blocks:
            self.numbers[block] = False
        self.rng, self.n_labels = rng, n_labels
        shapes = [(NOISE_INPUTS + n_labels, HIDDEN), (HIDDEN,), (HIDDEN, ends[-1]), (ends[-1],)]
        self.weights = [rng.normal(size=shape) / np.sqrt(shape[0]) for shape in shapes]

    def forward(self, labels: NDArray[np.integer]) -> Floats:
        """Return soft records, and keep what `backward` needs."""
        first, bias, second, last = self.weights
        noise = self.rng.normal(size=(len(labels), NOISE_INPUTS))
        self.inputs = np.column_stack([noise, np.eye(self.n_labels)[labels]])
        self.hidden = np.maximum(self.inputs @ first + bias, 0)
        raw = self.hidden @ second + last
        out = 1 / (1 + np.exp(-raw))
        for block in self.blocks:
            odds = np.exp(raw[:, block] - raw[:, block].max(axis=1, keepdims=True))
            out[:, block] = odds / odds.sum(axis=1, keepdims=True) / np.sqrt(2)
        self.out = out
        return out

    def backward(self, slope: Floats) -> list[Floats]:
        """Return the slopes of all weights from those of the records."""
        out, raw = self.out, np.empty_like(slope)
        numbers = self.numbers
        raw[:, numbers] = slope[:, numbers] * out[:, numbers] * (1 - out[:, numbers])
        for block in self.blocks:
            odds, mine = out[:, block] * np.sqrt(2), slope[:, block] / np.sqrt(2)
            raw[:, block] = odds * (mine - (odds * mine).sum(axis=1, keepdims=True))
        hidden = raw @ self.weights[2].T * (self.hidden > 0)
        return [self.inputs.T @ hidden, hidden.sum(axis=0), self.hidden.T @ raw, raw.sum(axis=0)]

    def records(self, labels: NDArray[np.integer]) -> Floats:
        """Return records with one category each, the likeliest."""
        out = self.forward(labels).copy()
        for block in self.blocks:
            best = out[:, block].argmax(axis=1)
            out[:, block] = np.eye(block.stop - block.start)[best] / np.sqrt(2)
        return out


def _fit(
    generator: _Generator,
    frequencies: Floats,
    wanted: Floats,
    shares: Floats,
    rng: np.random.Generator,
) -> None:
    """Match the released sums by Adam (Kingma & Ba 2015), with the published learning rate 0.01."""
    scale, half = np.sqrt(2 / FEATURES), FEATURES // 2
    means = [np.zeros_like(w) for w in generator.weights]
    squares = [np.zeros_like(w) for w in generator.weights]
    for step in range(1, STEPS + 1):
        labels = rng.choice(len(shares), BATCH, p=shares)
        which = np.eye(len(shares))[labels]
        angles = generator.forward(labels) @ frequencies.T
        cos, sin = scale * np.cos(angles), scale * np.sin(angles)
        left = which.T @ np.column_stack([cos, sin]) / BATCH - wanted
        slope = 2 / BATCH * which @ left
        records = (slope[:, half:] * cos - slope[:, :half] * sin) @ frequencies
        for i, grad in enumerate(generator.backward(records)):
            means[i] += 0.1 * (grad - means[i])
            squares[i] += 0.001 * (grad * grad - squares[i])
            size = np.sqrt(squares[i] / (1 - 0.999**step)) + 1e-8
            generator.weights[i] -= 0.01 / (1 - 0.9**step) * means[i] / size
