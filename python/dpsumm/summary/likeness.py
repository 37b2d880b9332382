"""A summary's likeness to the target, by the gap that it closes and a classifier's AUC.

For curator and consumer. Computed from raw data after everything was sent, at no charge.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dpsumm.data.kinds.label import label_of, places_of
from dpsumm.data.schema import Schema
from dpsumm.report.thinned import thinned

# Rows of a set that are looked at; of those read, twice as many.
MOST_ROWS = 600
# Parts of the jackknife, and of the cross-fitting.
TENTHS, FOLDS = 10, 5
RIDGE = 1.0
# Of a number, what is left out at either end to tell its spread; in spreads, the most that counts.
ENDS, MOST_SPREADS = 0.02, 4.0
# Two-sided, 95 %.
Z = 1.96
# Labels of a class, at the target and in the summary; draws of the bootstrap; classes at the most.
FEWEST_LABELS, DRAWS, MOST_CLASSES = 5, 300, 10

Array = NDArray[np.float64]
Labels = NDArray[np.int64]
# Points as `standardised` returns them, and the places of their labels.
Labelled = tuple[Array, Labels]


@dataclass(frozen=True)
class Estimate:
    """A number with its standard error."""

    value: float
    error: float

    @property
    def low(self) -> float:
        """Lower limit at 95 %."""
        return self.value - Z * self.error

    @property
    def high(self) -> float:
        """Upper limit at 95 %."""
        return self.value + Z * self.error


@dataclass(frozen=True)
class Use:
    """How well models rank the target's labels, as areas under the ROC curve.

    Of more than two classes the mean over classes, each against all others.

    Attributes
    ----------
    theirs
        Of a model of the summary.
    own
        Of a model of the target itself, cross-fitted.
    more
        The first less the second. All errors are a bootstrap's over the target's records.
    """

    theirs: Estimate
    own: Estimate
    more: Estimate

    @classmethod
    def of(cls, target: Labelled, summary: Labelled) -> Self | None:
        """Measure labelled points; None if the target has fewer than five of two classes.

        Of two classes in all, the summary needs as many. Of more, one with fewer is ranked by
        chance.
        """
        (points, labels), (others, known) = target, summary
        counts = np.bincount(labels, minlength=2), np.bincount(known, minlength=2)
        classes = _commonest(counts[0])
        if len(classes) < 2:
            return None
        if max(map(len, counts)) == 2:
            if counts[1].min() < FEWEST_LABELS:
                return None
            classes = classes[-1:]  # the other says the same
        which = [(labels == one).astype(np.int64) for one in classes]
        scores = (
            [_ranked(others, known == one, points) for one in classes],
            [cross_fitted(points, one) for one in which],
        )

        def areas(rows: NDArray[np.integer]) -> list[float]:
            return [
                float(np.mean([_area(s[rows], w[rows]) for s, w in zip(each, which, strict=True)]))
                for each in scores
            ]

        rng, draws = np.random.default_rng(0), []
        for _ in range(DRAWS):
            rows = rng.integers(0, len(labels), len(labels))
            if all(0 < one[rows].sum() < len(rows) for one in which):
                draws.append(areas(rows))
        theirs, own = np.array(draws).T
        value, other = areas(np.arange(len(labels)))
        return cls(
            Estimate(value, float(theirs.std())),
            Estimate(other, float(own.std())),
            Estimate(value - other, float((theirs - own).std())),
        )


@dataclass(frozen=True)
class Likeness:
    """The likeness of a summary S, the target T and the rows read R.

    Attributes
    ----------
    closed
        Share of R's distance to T that S closes: ``1 - MMD2(S, T) / MMD2(R, T)``, both unbiased.
        Its error is a jackknife's over tenths of the rows. None if S is R.
    apart
        Area under the ROC curve of a classifier that tells S from T, cross-fitted (Lopez-Paz &
        Oquab, 2017), with DeLong's error. About one half, or below it, if they are alike.
    rows_apart
        MMD2(R, T).
    use
        Of the labels of S and T; None if T has not five of each of two classes.
    """

    closed: Estimate | None
    apart: Estimate
    rows_apart: Estimate
    use: Use | None = None

    @classmethod
    def of(
        cls,
        target: Array,
        summary: Array,
        read: Array,
        *,
        chosen: bool = True,
        labels: tuple[Labels, Labels] | None = None,
    ) -> Self:
        """Measure sets of points as `standardised` returns them.

        Parameters
        ----------
        chosen
            Whether S is not all of R.
        labels
            Of the target and the summary, as `places` returns them.
        """
        closed, rows_apart = _closed(target, summary, read)
        which = np.repeat([1, 0], [len(summary), len(target)])
        scores = cross_fitted(np.concatenate([summary, target]), which)
        use = None
        if labels is not None:
            known = [(x[y >= 0], y[y >= 0]) for x, y in zip((target, summary), labels, strict=True)]
            use = Use.of(*known)
        return cls(closed if chosen else None, auc(scores, which), rows_apart, use)


def strangers(target: NDArray[Any] | None, summary: NDArray[Any] | None) -> bool:
    """Return whether both have labels, and none is at both."""
    if target is None or summary is None:
        return False
    ours, theirs = _classes(target), _classes(summary)
    return bool(ours and theirs and not ours & theirs)


def places(
    target: NDArray[Any] | None, summary: NDArray[Any] | None
) -> tuple[Labels, Labels] | None:
    """Return the place of each label among those compared, or -1 for a record without one."""
    if target is None or summary is None:
        return None
    classes = _classes(target) | _classes(summary)
    if len(classes) < 2:
        return None
    ordered = sorted(classes, key=str)
    ours, theirs = (places_of(thinned(part, MOST_ROWS), ordered) for part in (target, summary))
    return ours, theirs


def _commonest(counts: NDArray[np.integer]) -> list[int]:
    """Return the classes with the most labels, of those that have enough."""
    order = np.argsort(-counts, kind="stable")[:MOST_CLASSES]
    return sorted(order[counts[order] >= FEWEST_LABELS].tolist())


def _ranked(points: Array, those: NDArray[np.bool_], others: Array) -> Array:
    if not FEWEST_LABELS <= those.sum() < len(those):
        return np.zeros(len(others))
    return fitted(points, those.astype(np.int64), others)


def _classes(labels: NDArray[Any]) -> set[Any]:
    return {label_of(item) for item in set(labels.tolist()) - {None}}


def standardised(schema: Schema | None, *sets: NDArray[Any]) -> list[Array]:
    """Return points of the kernel's space as a classifier takes them, of large sets some.

    Numbers by their spread in all sets, categories as corners of a simplex: bounds and weights,
    which may hide a column from the kernel, have no part in it. The last set keeps most rows.

    Parameters
    ----------
    schema
        Of the points' columns; None if each coordinate is a number.
    """
    *chosen, read = sets
    kept = [*(thinned(points, MOST_ROWS) for points in chosen), thinned(read, 2 * MOST_ROWS)]
    every = np.concatenate(kept).astype(np.float64)
    parts: list[NDArray[Any]] = []
    start = 0
    kinds = [1] * every.shape[1] if schema is None else [len(c.how.cells) for c in schema.kernel]
    for j, width in enumerate(kinds):
        cells = every[:, start : start + width]
        start += width
        if schema is not None and schema.kernel[j].categories and not schema.kernel[j].ordered:
            parts.append((cells > 0) * math.sqrt(2))
            continue
        # Behind a number are marks, such as that of a missing value.
        marks: NDArray[np.bool_] = cells[:, 1:] > 0
        parts += [_by_spread(cells[:, 0], np.logical_not(marks.any(axis=1)))[:, None], marks * 2.0]
    ends = np.cumsum([len(points) for points in kept])[:-1]
    return np.split(np.concatenate(parts, axis=1), ends)


def _by_spread(values: Array, there: NDArray[np.bool_]) -> Array:
    """Return numbers less their median, by their spread; 0 for those that are not there."""
    if not there.any():
        return np.zeros(len(values))
    low, middle, high = np.quantile(values[there], (ENDS, 0.5, 1 - ENDS))
    spread = np.clip(values[there], low, high).std() or values[there].std() or 1.0
    return np.where(there, np.clip((values - middle) / spread, -MOST_SPREADS, MOST_SPREADS), 0.0)


def _closed(target: Array, summary: Array, read: Array) -> tuple[Estimate, Estimate]:
    width, rng = _width(target), np.random.default_rng(0)
    sets = {"t": target, "s": summary, "r": read}
    member = {
        name: np.eye(TENTHS)[rng.permutation(len(points)) % TENTHS] for name, points in sets.items()
    }
    size = {name: one.sum(axis=0) for name, one in member.items()}
    # Sums of the kernel by tenths of either set.
    sums = {
        pair: member[pair[0]].T
        @ np.exp(-_squares(sets[pair[0]], sets[pair[1]]) / width)
        @ member[pair[1]]
        for pair in ("tt", "ss", "rr", "st", "rt")
    }

    def gaps(without: int | None) -> Array:
        left = np.arange(TENTHS) != without
        n = {name: counts[left].sum() for name, counts in size.items()}
        total = {pair: one[np.ix_(left, left)].sum() for pair, one in sums.items()}
        own = {name: (total[2 * name] - n[name]) / (n[name] * (n[name] - 1)) for name in sets}
        return np.array(
            [own[x] + own["t"] - 2 * total[x + "t"] / (n[x] * n["t"]) for x in ("s", "r")]
        )

    gap, base = gaps(None)
    each = np.array([gaps(tenth) for tenth in range(TENTHS)])
    covariance = (TENTHS - 1) ** 2 / TENTHS * np.cov(each.T)
    base_error = math.sqrt(covariance[1, 1])
    base = max(base, 1e-6)
    slope = np.array([1, -gap / base]) / base
    error = math.sqrt(max(slope @ covariance @ slope, 0.0))
    return Estimate(float(1 - gap / base), error), Estimate(float(base), base_error)


def _ranks(scores: Array) -> Array:
    """Return the rank of each score from 1, the mean of their ranks where several are equal."""
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[place]


def _area(scores: Array, labels: NDArray[np.integer]) -> float:
    ones = np.count_nonzero(labels)
    above = _ranks(scores)[labels == 1].sum() - ones * (ones + 1) / 2
    return float(above / (ones * (len(labels) - ones)))


def auc(scores: Array, labels: NDArray[np.integer]) -> Estimate:
    """Return the area under the ROC curve of scores for labels 0 and 1, with DeLong's error."""
    ones, zeros = scores[labels == 1], scores[labels == 0]
    ranks = _ranks(np.concatenate([ones, zeros]))
    above = (ranks[: len(ones)] - _ranks(ones)) / len(zeros)
    below = 1 - (ranks[len(ones) :] - _ranks(zeros)) / len(ones)
    variance = above.var(ddof=1) / len(ones) + below.var(ddof=1) / len(zeros)
    # Without the last term it were 0 where all pairs are told.
    error = math.sqrt(variance + 0.25 / (len(ones) * len(zeros)))
    return Estimate(float(above.mean()), error)


def cross_fitted(points: Array, labels: NDArray[np.integer]) -> Array:
    """Return scores of points by kernel ridge classifiers that did not see them. Labels 0 and 1.

    In closed form: of all points one matrix is inverted.
    """
    fold, rng = np.empty(len(labels), np.int64), np.random.default_rng(0)
    for label in (0, 1):
        rows = rng.permutation(np.flatnonzero(labels == label))
        fold[rows] = np.arange(len(rows)) % FOLDS
    inverse = np.linalg.inv(_kernel(points, points, _width(points)) + _ridge(labels))
    signs, scores = 2.0 * labels - 1, np.empty(len(labels))
    weights = inverse @ signs
    for k in range(FOLDS):
        out = np.flatnonzero(fold == k)
        scores[out] = signs[out] - np.linalg.solve(inverse[np.ix_(out, out)], weights[out])
    return scores


def fitted(points: Array, labels: NDArray[np.integer], others: Array) -> Array:
    """Return scores of other points by a kernel ridge classifier of points. Labels 0 and 1."""
    width = _width(points)
    weights = np.linalg.solve(_kernel(points, points, width) + _ridge(labels), 2.0 * labels - 1)
    scores: Array = _kernel(others, points, width) @ weights
    return scores


def _kernel(a: Array, b: Array, width: float) -> Array:
    """A smooth and a straight part, so that clusters and trends are both found."""
    kernel: Array = np.exp(-_squares(a, b) / width) + a @ b.T / a.shape[1] / 4 + 1
    return kernel


def _ridge(labels: NDArray[np.integer]) -> Array:
    """Return a penalty by which both classes have equal weight."""
    share = labels.mean()
    return np.diag(2 * RIDGE * np.where(labels == 1, share, 1 - share))


def _squares(a: Array, b: Array) -> Array:
    squares: Array = np.maximum((a**2).sum(1)[:, None] + (b**2).sum(1) - 2 * a @ b.T, 0)
    return squares


def _width(points: Array) -> float:
    """Return the median squared distance of two points, 1 if that is 0."""
    some = points[:: max(len(points) // 300, 1)]
    return float(np.median(_squares(some, some)[np.triu_indices(len(some), 1)])) or 1.0
