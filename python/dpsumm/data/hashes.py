"""Rows as hashes of their columns, to find rows equal in all columns or in all but one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.data.schema import Schema

Hashes = NDArray[np.uint64]


def column_hashes(points: NDArray[Any], schema: Schema | None = None) -> Hashes:
    """Return a hash of each column's value in each row, (rows, columns).

    A row's hash is the sum of its columns', so that one is left out by a subtraction. A column is
    all coordinates that it has in the kernel's space. Without a schema each coordinate is one.
    Different rows have the same hash with probability 2**-64.
    """
    bits = (np.ascontiguousarray(points, np.float64) + 0.0).view(np.uint64)  # -0.0 is 0.0
    bits ^= bits >> np.uint64(31)
    bits *= np.uint64(0xBF58476D1CE4E5B9)
    bits += np.random.default_rng(0).integers(0, 2**64, bits.shape[1], np.uint64)
    bits ^= bits >> np.uint64(29)
    bits *= np.uint64(0x94D049BB133111EB)
    bits ^= bits >> np.uint64(32)
    if schema is None or len(schema.cells) != bits.shape[1]:
        return bits
    cells = [len(column.how.cells) for column in schema.kernel]
    return np.add.reduceat(bits, np.cumsum([0, *cells[:-1]]), axis=1)


def row_hashes(hashes: Hashes) -> Hashes:
    """Return the hash of each row, (rows,)."""
    keys: Hashes = hashes.sum(axis=1, dtype=np.uint64)
    return keys
