"""BROKEN ON PURPOSE: readers and features that look at all records to treat one of them.

Both were in this package once.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.audit.every_record import Features, Points, read_csv
from dpsumm.data.schema import Schema
from dpsumm.summary.kernel import FloatArray
from dpsumm.summary.release import LEVELS


def read_by_column(path: Path, schema: Schema) -> Points:
    """BROKEN: a column in which every field is a number is read as numbers, any other as text."""
    return _read(path, schema, [column.name for column in schema.kernel])


def labels_by_column(path: Path, schema: Schema) -> Points:
    """BROKEN: labels are numbers if every one of them is, and else all of them are text."""
    assert schema.label is not None
    return _read(path, schema, [schema.label.name])


def _read(path: Path, schema: Schema, names: Sequence[str]) -> Points:
    """Read a file after giving each of some columns a type by all of its fields."""
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    columns = [list(column) for column in zip(*rows, strict=True)]
    for i, column in enumerate(columns):
        if header[i] in names and all(_is_number(field) for field in column):
            columns[i] = [f"{float(field):.15g}" for field in column]
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *zip(*columns, strict=True)])
    return read_csv(path, schema)


def _is_number(field: str) -> bool:
    try:
        return bool(np.isfinite(float(field)))
    except ValueError:
        return False


class PanelFeatures(Features):
    """BROKEN: a block of rows takes the slower sine if any of its angles is large."""

    rows = 48

    def bids(self, points: FloatArray) -> NDArray[np.int64]:
        """Return the features, scaled to 2^14 and rounded."""
        return self._rounded(points, 2**14)

    def total(self, points: FloatArray) -> NDArray[np.int64]:
        """Return the sum of the features on the grid."""
        total: NDArray[np.int64] = self._rounded(points, LEVELS).sum(axis=0)
        return total

    def _rounded(self, points: NDArray[Any], levels: int) -> NDArray[np.int64]:
        angles = points @ self.core.omega.T.astype(points.dtype)
        blocks = np.split(angles, range(self.rows, len(angles), self.rows))
        features = np.concatenate([self._block(block) for block in blocks])
        return np.asarray(np.rint(features * levels), dtype=np.int64)

    @staticmethod
    def _block(angles: NDArray[Any]) -> NDArray[Any]:
        limit = 1e5 if angles.dtype == np.float32 else 1e9
        if np.abs(angles).max() > limit:
            return np.concatenate([np.cos(angles), np.sin(angles)], axis=1)
        # The quick way: the sine of half the angle, doubled; other last bits.
        half = angles / 2
        sine, cosine = np.sin(half), np.cos(half)
        return np.concatenate([1 - 2 * sine * sine, 2 * sine * cosine], axis=1)
