"""Fits the label's model, which is logistic in the codes of all other columns.

Post-processing of noisy tables: no further cost. Fitted on rows that were drawn, so that its
moments over these are the released ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dpsumm.kernels import fit_softmax
from dpsumm.vertical.grid import Drawn
from dpsumm.vertical.label_model import LabelModel
from dpsumm.vertical.layout import Released
from dpsumm.vertical.merged import level_shares

Floats = NDArray[np.float64]

# How much wider than the signal of a table the prior of its weights is; trees that are trained on
# rows prefer 2 to 5.
_WIDER = 2.0
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
    plan, n, label = released.plan, released.n_records, released.plan.label
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
        of_bins = np.zeros((plan.sizes[j], table.shape[1]))
        np.add.at(of_bins, of_fine, table)
        blocks: list[tuple[NDArray[np.int64], Floats, float, float | None]]
        blocks = [(bins, of_bins, std * math.sqrt(len(table) / len(of_bins)), None)]
        if len(table) > len(of_bins):
            blocks.append((fine, table, std, _beyond_bins(table, of_bins, of_fine, std, n)))
        for codes, counts, noise, signal in blocks:
            share = np.bincount(codes[levels[:, j]], minlength=len(counts)) / len(levels)
            moment, ridge = moments_of(counts, noise, n, share, classes, signal)
            maps.append((j, codes))
            moments.append(moment)
            ridges.append(ridge)
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


def moments_of(
    counts: Floats,
    std: float,
    n: int,
    share: Floats,
    classes: Floats,
    signal: float | None = None,
) -> tuple[Floats, Floats]:
    """Return a table's moments over rows with these shares of its codes, and ridges by its noise.

    Conditional shares of the classes are the released ones where a code is seen. Elsewhere the
    table is moved by least squares. A table without signal beyond noise shrinks to nothing.
    """
    total = counts.sum(axis=1) / n
    seen = total > _SEEN * std * math.sqrt(len(classes)) / n
    ratio = np.where(seen, share / np.maximum(total, 1e-12), 1.0)[:, None]
    moved = np.where(seen, 0.0, (share - total) / len(classes))[:, None]
    even = np.outer(share, classes)
    noise = (std / n) ** 2
    if signal is None:
        apart = counts / max(counts.sum(), 1e-9) - even
        signal = max(float((apart**2 - noise - even / n).sum()), 0.0) / float((even**2).sum())
    noises = noise * np.clip(ratio, 0.5, 2.0) ** 2 + even / n
    ridge = noises / (np.maximum(even, 1e-6) * max(_WIDER * signal, 1e-4))
    return counts / n * ratio + moved, ridge


def _beyond_bins(
    counts: Floats, of_bins: Floats, bins: NDArray[np.int64], std: float, n: int
) -> float:
    """Return the variance of finer codes' log-odds about their bin's, beyond noise."""
    shares = np.maximum(of_bins, 0.5)
    shares = (shares / shares.sum(axis=1, keepdims=True))[bins]
    total = counts.sum(axis=1, keepdims=True)
    apart = (counts - total * shares) / n
    spread = np.maximum(total, 1.0) / n * shares * (1 - shares)
    noise = (std / n) ** 2 * (1 + (shares**2).sum(axis=1, keepdims=True)) / 2 + spread / n
    return max(float((apart**2 - noise).sum()), 0.0) / max(float((spread**2).sum()), 1e-12)
