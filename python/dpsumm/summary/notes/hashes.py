"""Rows as hashes of their columns: which rows are equal, in all columns or in all but one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.data.schema import Schema

Hashes = NDArray[np.uint64]


def column_hashes(points: NDArray[Any], schema: Schema | None = None) -> Hashes:
    """Return a hash of each column's value in each row, (rows, columns).

    A row's hash is the sum of its columns', so that one is left out by a subtraction. A column is
    all coordinates that it has in the kernel's space; without a schema each coordinate is one.
    Different rows have the same hash with probability 2**-64.
    """
    bits = (np.ascontiguousarray(points, np.float64) + 0.0).view(np.uint64)  # -0.0 is 0.0
    bits ^= bits >> np.uint64(31)
    bits *= np.uint64(0xBF58476D1CE4E5B9)
    bits += np.random.default_rng(0).integers(0, 2**64, bits.shape[1], np.uint64)
    bits ^= bits >> np.uint64(29)
    bits *= np.uint64(0x94D049BB133111EB)
    bits ^= bits >> np.uint64(32)
    starts = _starts(schema, bits.shape[1])
    return bits if len(starts) == bits.shape[1] else np.add.reduceat(bits, starts, axis=1)


def _starts(schema: Schema | None, width: int) -> NDArray[np.int64]:
    """Return the first coordinate of each column."""
    if schema is None or len(schema.cells) != width:
        return np.arange(width)
    cells = [len(column.how.cells) for column in schema.kernel]
    starts: NDArray[np.int64] = np.cumsum([0, *cells[:-1]])
    return starts


def may_be_twice(points: Sequence[NDArray[Any]], schema: Schema | None) -> bool:
    """Return whether rows may be equal to another one, in all columns or in all but one.

    Such rows are equal in the first two columns or in the next two, of which no two rows of most
    tables of numbers are.
    """
    starts = _starts(schema, points[0].shape[1])
    if len(starts) < 5:
        return True
    middle, end = starts[2], starts[4]
    few = column_hashes(np.concatenate([part[:, :end] for part in points]))
    pairs = few[:, :middle], few[:, middle:]
    return any(equal_to_another(np.sort(row_hashes(pair))).any() for pair in pairs)


def row_hashes(hashes: Hashes) -> Hashes:
    """Return the hash of each row, (rows,)."""
    keys: Hashes = hashes.sum(axis=1, dtype=np.uint64)
    return keys


def equal_to_another(keys: Hashes) -> NDArray[np.bool_]:
    """Return whether each of the sorted keys of a column equals another one of it."""
    same = keys[1:] == keys[:-1]
    edge = np.zeros((1, *keys.shape[1:]), np.bool_)
    equal: NDArray[np.bool_] = np.concatenate([edge, same]) | np.concatenate([same, edge])
    return equal


def nearly_equal(hashes: Hashes) -> tuple[float, float]:
    """Return the share of rows that differ from another one in exactly one column.

    About so many at most are equal in all columns by chance: leaving a column out makes more rows
    equal, unless they are copies. And how many are if the columns have nothing to do with each
    other, by the column for which that is most: of rows that agree in all others, as many agree in
    it, too, as any two rows do.
    """
    _, first, counts = np.unique(row_hashes(hashes), return_index=True, return_counts=True)
    different = hashes[first]
    rest = row_hashes(different)[:, None] - different
    nearly, independent = np.zeros(len(first), np.bool_), 0.0
    for one, column in zip(rest.T, hashes.T, strict=True):
        order = np.argsort(one)
        equal = np.zeros(len(first), np.bool_)
        equal[order] = equal_to_another(one[order])
        if equal.any():
            nearly |= equal
            agree = float(np.square(np.unique(column, return_counts=True)[1] / len(column)).sum())
            share = float(counts[equal].sum()) / len(hashes)
            independent = max(independent, share * agree / (1 - agree))
    share = float(counts[nearly].sum() / len(hashes))
    return share, min(share, independent)
