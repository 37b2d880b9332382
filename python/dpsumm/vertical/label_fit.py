"""Fits the label's model, which is logistic in the codes of all other columns.

Post-processing of noisy tables: no further cost. Fitted on rows that were drawn, so that its
moments over these are the released ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dpsumm.data.kinds.kind import Kind
from dpsumm.kernels import fit_softmax
from dpsumm.vertical.chosen import grouped
from dpsumm.vertical.grid import Drawn
from dpsumm.vertical.label_model import LabelModel
from dpsumm.vertical.layout import Released
from dpsumm.vertical.merged import level_shares

Floats = NDArray[np.float64]

# Groups of consecutive codes whose weights a column's codes share: halves and quarters.
_PARTS = (2, 4)
# Cells of fewer standard deviations are moved to their share of the rows, others scaled.
_SEEN = 4.0
# Of the drawn rows, so many by the label's codes.
_ENTRIES = 1_000_000


def fit_label(
    released: Released,
    columns: Sequence[Drawn],
    levels: NDArray[np.uint32],
    noisier: float = 1.0,
) -> LabelModel | None:
    """Return the label's model over drawn rows, (n, columns); None without a label or tables.

    `noisier` is how much larger the tables' noise is than the plan says.
    """
    n, label = released.n_records, released.plan.label
    if label is None or not released.with_label:
        return None
    tables = []
    for pair, std in tables_with_label(released):
        (j,) = set(pair) - {label}
        table = released.with_label[pair].astype(np.float64)
        tables.append((j, table if pair[1] == label else table.T, noisier * std))
    classes = sum(table.sum(0) / (len(table) * std**2) for _, table, std in tables)
    classes = np.maximum(classes, 1e-3 * max(classes.max(), 1e-9))
    classes = classes / classes.sum()
    levels = levels[: max(1000, _ENTRIES // len(classes))]
    maps, moments, ridges = [], [], []
    for j, table, std in tables:
        fine, bins = released.fine[j], released.codes[j]
        of_fine = bins[np.unique(fine, return_index=True)[1]]
        below, expected = np.zeros(len(table), np.int64), np.tile(classes, (len(table), 1))
        for code_of in _from_coarse(columns[j], bins, of_fine, table.sum(axis=1)):
            first = np.unique(code_of, return_index=True)[1]
            counts = np.zeros((len(first), table.shape[1]))
            np.add.at(counts, code_of, table)
            variance = np.bincount(code_of).astype(np.float64) * std**2
            signal = signal_of(counts, variance, expected[first], below[first])
            codes = code_of[fine]
            share = np.bincount(codes[levels[:, j]], minlength=len(counts)) / len(levels)
            moment, ridge = moments_of(counts, variance, n, share, classes, signal)
            maps.append((j, codes))
            moments.append(moment)
            ridges.append(ridge)
            below, expected = code_of, _shrunk(counts, variance, expected[first], signal)[code_of]
    sizes = tuple(map(len, moments))
    drawn = np.stack([codes[levels[:, j]] for j, codes in maps], axis=1)
    weights = fit_softmax(drawn, sizes, np.vstack(moments), np.vstack(ridges), classes)
    shares = level_shares(released, label), released.codes[label]
    return LabelModel(tuple(columns), label, tuple(maps), sizes, weights, classes, *shares)


def tables_with_label(released: Released) -> Iterator[tuple[tuple[int, int], float]]:
    """Yield the pairs of columns with the label, and the noise in each cell of their tables."""
    plan = released.plan
    for pair, std in zip(plan.pairs, plan.pair_std, strict=True):
        if plan.label in pair:
            yield pair, std * math.sqrt(plan.noises(pair))


def _from_coarse(
    drawn: Drawn, bins: NDArray[np.int64], of_fine: NDArray[np.int64], mass: Floats
) -> Iterator[NDArray[np.int64]]:
    """Yield the place of each of a column's finer codes in wide groups, in bins and in its own.

    Few records tell how the label goes with halves and quarters of a number or a date. Of finer
    codes it takes many.
    """
    if drawn.column.kind is not Kind.CATEGORY or drawn.column.ordered:
        known = 1 + bins[: drawn.n_known].max()
        unknown = np.arange(bins.max() + 1 - known)
        masses = np.bincount(of_fine, mass)[:known].astype(np.float64)
        for parts in _PARTS:
            if parts < known:
                groups = grouped(masses, parts)
                yield np.r_[groups, groups.max() + 1 + unknown][of_fine]
    yield of_fine
    if len(mass) > bins.max() + 1:
        yield np.arange(len(mass))


def signal_of(
    counts: Floats, variance: Floats, expected: Floats, below: NDArray[np.int64]
) -> float:
    """Return the variance of log-odds in a table's rows about expected ones, less what noise adds.

    By moments, with the weights that are best where noise prevails. One standard error is taken
    off, as without any signal noise would show some in every second table.

    Parameters
    ----------
    counts : (codes, K)
        Noisy.
    variance : (codes,)
        Of the noise in a cell.
    expected : (codes, K)
        Shares of the classes that a code has without a signal.
    below : (codes,)
        Which codes share their expected shares. These are their mean, so one alone has no signal.
    """
    total, k = np.maximum(counts.sum(axis=1, keepdims=True), 1.0), counts.shape[1]
    part = (total[:, 0] / np.bincount(below, total[:, 0])[below])[:, None]
    parts = np.bincount(below, part[:, 0] ** 2)[below][:, None]
    noises = (np.bincount(below, variance)[below] / variance)[:, None]
    one = 1 - 2 * expected
    noise = variance[:, None] * (one + k * expected**2)
    noise = noise * np.maximum(1 - 2 * part + part**2 * noises, 0.0)
    noise += np.maximum(total * expected * (1 - expected) * (1 - part), 1e-9)
    spread = (total * expected) ** 2 * (one + (expected**2).sum(axis=1, keepdims=True))
    spread *= np.maximum(1 - 2 * part + parts, 0.0)
    weight = spread / noise**2
    apart = (counts - counts.sum(axis=1, keepdims=True) * expected) ** 2 - noise
    error = math.sqrt(2 * k / max(k - 1, 1) * float(((weight * noise) ** 2).sum()))
    found = float((weight * apart).sum()) - error
    return max(found, 0.0) / max(float((weight * spread).sum()), 1e-12)


def _shrunk(counts: Floats, variance: Floats, expected: Floats, signal: float) -> Floats:
    """Return what finer codes are compared with: a code's shares as far as they are seen."""
    total = np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    scale = total * expected * (1 - expected)
    kept = scale**2 * signal
    kept = kept / (kept + variance[:, None] + scale)
    shares = np.maximum(expected + kept * (counts / total - expected), 1e-4)
    found: Floats = shares / shares.sum(axis=1, keepdims=True)
    return found


def moments_of(
    counts: Floats,
    variance: Floats,
    n: int,
    share: Floats,
    classes: Floats,
    signal: float,
) -> tuple[Floats, Floats]:
    """Return a table's moments over rows with these shares of its codes, and ridges by its noise.

    Conditional shares of the classes are the released ones where a code is seen. Elsewhere the
    table is moved by least squares. A table without signal beyond noise shrinks to nothing.
    """
    total = counts.sum(axis=1) / n
    seen = total > _SEEN * np.sqrt(variance * len(classes)) / n
    ratio = np.where(seen, share / np.maximum(total, 1e-12), 1.0)[:, None]
    moved = np.where(seen, 0.0, (share - total) / len(classes))[:, None]
    even = np.outer(share, classes)
    noises = (variance / n**2)[:, None] * np.clip(ratio, 0.5, 2.0) ** 2 + even / n
    # A weight moves its cell by the share of the code times c (1 - c), c that of the class.
    ridge = noises / (np.maximum(even * (1 - classes), 1e-7) * max(signal, 1e-4))
    return projected(counts / n * ratio + moved, share), ridge


def projected(rows: Floats, mass: Floats) -> Floats:
    """Return the nearest rows (r, K) without negative numbers whose sums are `mass`, (r,).

    No weights give a negative share. Fitted to one, they would grow without limit.
    """
    falling = -np.sort(-rows, axis=1)
    excess = (np.cumsum(falling, axis=1) - mass[:, None]) / (np.arange(rows.shape[1]) + 1)
    last = np.maximum((falling > excess).sum(axis=1) - 1, 0)
    found: Floats = np.maximum(rows - excess[np.arange(len(rows)), last][:, None], 0.0)
    return found
