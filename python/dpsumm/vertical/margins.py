"""Means and shares of single columns of the rows, in their own units, and how far noise moves them.

By released numbers alone: post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from dpsumm.data.kinds.items import EPOCH
from dpsumm.data.kinds.kind import Kind
from dpsumm.vertical.grid import Drawn
from dpsumm.vertical.layout import Released
from dpsumm.vertical.levels import limits_of
from dpsumm.vertical.noise import NoisePlan

# Categories that are named.
_NAMED = 3


class Grade(StrEnum):
    """How much of a column is noise."""

    CLOSE = "close"
    ROUGH = "rough"
    NOISE = "mostly noise"


# Up to these a column is close, and rough: a mean is off by so many standard deviations of the
# column, a share by such a part of all records.
_OF_MEANS, _OF_SHARES = (0.1, 0.5), (0.02, 0.1)


@dataclass(frozen=True)
class Margin:
    """One column of the rows.

    Attributes
    ----------
    said
        The mean of a number or a date, else the most frequent categories with their shares.
    off
        By how much noise may move the mean, as `mean_error` says, or a share.
    grade
        By `off`.
    """

    column: int
    said: str
    off: float
    grade: Grade


def mean_error(noise: NoisePlan, column: int, limits: tuple[float, float], records: int) -> float:
    """Return by how much noise may move the mean of a number or a date (in days).

    Twice the noise of one count times the width of the bounds, divided by the records. On the
    eleven columns of Adult and a made-up clinic that a tree counts, at epsilon 0.3 to 3, the root
    mean square error was 0.04 to 1.1 of it.
    """
    low, high = limits
    return 2 * noise.std_of(column) * (high - low) / records


def margins_of(
    released: Released, columns: Sequence[Drawn], drawn: NDArray[np.uint32]
) -> tuple[Margin, ...]:
    """Return the columns that were counted, by drawn rows, (n, columns)."""
    return tuple(
        (_share if columns[j].column.kind is Kind.CATEGORY else _mean)(
            released, j, columns[j], np.bincount(drawn[:, j], minlength=columns[j].size)
        )
        for j in released.plan.counted
    )


def _mean(released: Released, column: int, levels: Drawn, counts: NDArray[np.int64]) -> Margin:
    """Return the margin of a number or a date. Missing values have no part in it."""
    middles = np.array([sum(levels.ends(level)) / 2 for level in range(levels.n_known)])
    known = counts[: levels.n_known]
    shares = known / max(known.sum(), 1)
    mean = float(shares @ middles)
    spread = math.sqrt(float(shares @ (middles - mean) ** 2))
    if released.by_tree(column):
        off = mean_error(released.plan, column, limits_of(levels.column), released.n_records)
    else:
        far = math.sqrt(float(((middles - mean) ** 2).sum()))
        off = 2 * released.plan.std_of(column) * far / released.n_records
    if levels.column.kind is Kind.DATE:
        said = f"mean {date.fromordinal(round(mean) + EPOCH)}, within {_two(off)} days"
    else:
        said = f"mean {mean:,.4g}, within {_two(off)}"
    return Margin(column, said, off, _grade(off, spread, _OF_MEANS))


def _share(released: Released, column: int, levels: Drawn, counts: NDArray[np.int64]) -> Margin:
    """Return the margin of categories."""
    one, shares = levels.column, counts / counts.sum()
    names = [*map(str, one.categories), *([one.other] if one.other is not None else []), "missing"]
    first = np.argsort(-shares, kind="stable")[:_NAMED]
    off = 2 * released.plan.std_of(column) / released.n_records
    said = ", ".join(f"{names[level]} {100 * shares[level]:.1f}%" for level in first)
    said += f", within {_two(100 * off)} points"
    return Margin(column, said, off, _grade(off, 1.0, _OF_SHARES))


def _two(number: float) -> str:
    """Return a number by two digits."""
    return f"{float(f'{number:.2g}'):,g}"


def _grade(off: float, unit: float, limits: tuple[float, float]) -> Grade:
    close, rough = limits
    if off <= close * unit:
        return Grade.CLOSE
    return Grade.ROUGH if off <= rough * unit else Grade.NOISE
