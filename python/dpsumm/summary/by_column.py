"""Distributions of target, summary and read points, column by column, in original units."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.data.column import Column
from dpsumm.data.schema import Schema
from dpsumm.report.notes import Severity
from dpsumm.report.numbers import percent
from dpsumm.report.panels import Bins, Categories, Panel, histogram, most_frequent, tick
from dpsumm.report.thinned import MOST_SHOWN, thinned

if TYPE_CHECKING:
    from dpsumm.summary.result import Summary

# Values of a column that looks at so many at most are bars, not a curve.
FEW_VALUES = 8
MOST_BINS = 16
# A column is not followed if its gap to the target, beyond chance, is larger than both: so much,
# and such a part of that of the points read.
FAR, LEFT = 0.25, 0.5
# A gap beyond chance that is worth closing.
WORTH_CLOSING = 0.05
# Values that are looked at, of each set: what keeps thousands of columns quick.
MOST_VALUES = 4_000_000

Array = NDArray[Any]


@dataclass(frozen=True)
class Marginal:
    """One column, as numbers or as codes of categories, in the three sets.

    Attributes
    ----------
    values
        Of the read points, the target and the summary. Numbers in the column's units, or positions
        among `categories`.
    """

    name: str
    values: tuple[Array, ...]
    categories: tuple[str, ...] = ()
    absent: tuple[float, ...] = (0.0, 0.0, 0.0)
    is_date: bool = False

    def gap(self, one: int, other: int = 1) -> float:
        """Return how far two sets are apart, 0 to 1.

        The largest difference of cumulative shares. Of categories, the share of records that would
        have to change theirs.
        """
        a, b = self.values[one], self.values[other]
        missing = abs(self.absent[one] - self.absent[other])
        if not (len(a) and len(b)):
            return 1.0 if len(a) != len(b) else missing
        if self.categories:
            shares = self.shares()
            return float(np.abs(shares[one] - shares[other]).sum() / 2)
        few, many = sorted((np.sort(a), np.sort(b)), key=len)
        # Between two of the fewer values the shares differ most at either end.
        gaps = [
            np.searchsorted(few, few, side) / len(few)
            - np.searchsorted(many, few, side) / len(many)
            for side in ("left", "right")
        ]
        return max(float(np.abs(gaps).max()), missing)

    def effect(self, one: int, sizes: Sequence[int], other: int = 1) -> float:
        """Return the gap of two sets of so many records less what chance makes of it.

        Chance by the limits of Kolmogorov's distance, whose square has the mean pi^2 / 12, and of
        the total variation of categories.
        """
        spread = 1 / sizes[one] + 1 / sizes[other]
        if self.categories:
            shares = self.shares()[[one, other]].mean(axis=0)
            usual = float(np.sqrt(2 / math.pi * shares * (1 - shares)).sum() / 2) ** 2
        else:
            usual = math.pi**2 / 12
        return math.sqrt(max(self.gap(one, other) ** 2 - usual * spread, 0.0))

    def followed(self, sizes: Sequence[int]) -> bool:
        """Return whether the summary follows the target, or closed half of the gap."""
        left = self.effect(2, sizes)
        return left <= FAR or left <= LEFT * self.effect(0, sizes)

    def shares(self) -> NDArray[np.float64]:
        """Return the share of each category in each set, (3, number of categories)."""
        k = len(self.categories)
        return np.array([np.bincount(v, minlength=k) / max(len(v), 1) for v in self.values])

    def drawn(self) -> Bins | Categories:
        """Return the content of a panel."""
        if self.categories:
            return most_frequent(self.shares(), self.categories)
        distinct = np.unique(np.concatenate(self.values))
        if len(distinct) <= FEW_VALUES:
            codes = tuple(np.searchsorted(distinct, values) for values in self.values)
            names = tuple(tick(value, is_date=self.is_date) for value in distinct.tolist())
            return Categories(Marginal(self.name, codes, names).shares(), names)
        return self._bins()

    def _bins(self) -> Bins:
        # What was read may lie far from target and summary: it then counts at the ends.
        near = np.concatenate(self.values[1:])
        low, high = float(near.min()), float(near.max())
        # Rice's rule for the summary, the smallest of the three.
        n_bins = min(max(int(2 * len(self.values[2]) ** (1 / 3)), 4), MOST_BINS)
        return histogram(self.values, low, high, n_bins, is_date=self.is_date)


def marginals(summary: Summary) -> Iterator[Marginal]:
    """Yield the columns of a summary. Those of an `Embedding` are coordinates that mean nothing."""
    width = summary.scaled.shape[1]
    if len(summary.schema.cells) == width:
        yield from of_schema(summary.schema, *_sets(summary))
        return
    sets = few(*_sets(summary))
    for j in range(width):
        yield Marginal(f"coordinate {j}", tuple(points[:, j] for points in sets))


def of_schema(schema: Schema, *sets: Array, but: Container[str] = ()) -> Iterator[Marginal]:
    """Yield the columns of sets of points of the kernel's space, as `Marginal.values` has them.

    All `but` those of some names.
    """
    sets, start = few(*sets), 0
    for column in schema.kernel:
        stop = start + len(column.how.cells)
        if column.name not in but:
            yield _marginal(column, [points[:, start:stop] for points in sets])
        start = stop


def chance(p: int, m: int) -> float:
    """Return the gap that chance makes: Kolmogorov and Smirnov's bound at 95 %, for two samples."""
    return 1.36 * math.sqrt(1 / p + 1 / m)


def not_followed(summary: Summary) -> list[str]:
    """Return the columns in which the summary is far from the target, worst first."""
    sizes = _sizes(summary)
    far = [one for one in marginals(summary) if not one.followed(sizes)]
    return [one.name for one in sorted(far, key=lambda one: -one.effect(2, sizes))]


def closed_by_column(summary: Summary, most: int) -> list[tuple[str, float, bool]]:
    """Return the columns in which the records read are farthest from the target.

    Each with the share of its gap that the summary closes, beyond chance, and whether the summary
    follows the target in it. Least closed first.
    """
    sizes, found = _sizes(summary), []
    for one in marginals(summary):
        gap = one.effect(0, sizes)
        if gap > WORTH_CLOSING:
            share = 1 - one.effect(2, sizes) / gap
            found.append((gap, one.name, share, one.followed(sizes)))
    largest = sorted(found, reverse=True)[:most]
    return sorted(((name, share, near) for _, name, share, near in largest), key=lambda one: one[1])


def _sizes(summary: Summary) -> list[int]:
    """Return how many records of each set `Marginal.values` has."""
    return [len(points) for points in few(*_sets(summary))]


def _sets(summary: Summary) -> tuple[Array, Array, Array]:
    """Return the points read, the target and the summary, in the kernel's space."""
    return summary.pool.scaled, summary.target, summary.scaled


def few(*sets: Array) -> tuple[Array, ...]:
    """Return the examined points of each set, (n, coordinates). All of a small one."""
    most = min(MOST_SHOWN, max(MOST_VALUES // sets[0].shape[1], 100))
    return tuple(thinned(points, most) for points in sets)


def _marginal(column: Column, cells: list[Array]) -> Marginal:
    names = tuple("no value" if one is None else str(one) for one in column.how.classes)
    if column.categories and not column.ordered:
        return Marginal(column.name, tuple(part.argmax(axis=1) for part in cells), names)
    flagged = [part[:, 1:] > 0 for part in cells]
    places = [part[:, 0] / column.weight for part in cells]
    if column.categories:
        # Those that have no place are at the end: other, no value.
        k = len(column.categories)
        codes = [
            np.where(flags.any(axis=1), k + flags.argmax(axis=1), np.rint(place * (k - 1)))
            if flags.shape[1]
            else np.rint(place * (k - 1))
            for place, flags in zip(places, flagged, strict=True)
        ]
        return Marginal(column.name, tuple(c.astype(np.int64) for c in codes), names)
    low, high = column.limits or (0.0, 1.0)
    values = [low + (high - low) * place for place in places]
    absent = [0.0] * len(values)
    if flagged[0].shape[1]:
        gone = [flags.any(axis=1) for flags in flagged]
        values = [part[~flags] for part, flags in zip(values, gone, strict=True)]
        absent = [float(flags.mean()) for flags in gone]
    return Marginal(column.name, tuple(values), absent=tuple(absent), is_date=column.how.is_date)


def worst_first(summary: Summary, most: int) -> tuple[list[Panel], float]:
    """Return panels of the columns where the summary is furthest from the target, worst first.

    And the largest gap of the columns that are not shown.
    """
    found = list(marginals(summary))
    gaps = np.array([marginal.gap(2) for marginal in found])
    order = np.argsort(-gaps, kind="stable")
    panels, sizes = [], _sizes(summary)
    for i in order[:most]:
        one = found[i]
        severity = Severity.INFO if one.followed(sizes) else Severity.WARNING
        said = f"gap {percent(gaps[i])}; of the points read {percent(one.gap(0))}"
        if any(one.absent):
            _, theirs, ours = map(percent, one.absent)
            said += f". No value: target {theirs}, summary {ours}"
        panels.append(Panel(one.name, said, one.drawn(), severity))
    return panels, float(gaps[order[most:]].max(initial=0.0))
