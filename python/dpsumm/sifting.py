"""The table of a streamed owner: one pass over its rows keeps the candidates for its offers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.coding import joined
from dpsumm.errors import InvalidDataError
from dpsumm.schema import Schema
from dpsumm.streams import Stream

if TYPE_CHECKING:
    from dpsumm.table import Table

# A kept set is cut back when it has grown to so many times what is wanted.
SLACK = 2


class StreamTable:
    """What a run needs to know of a streamed owner before it reads all its rows.

    Parameters
    ----------
    stream
        The source.
    head
        Its first rows as a table: columns, precision, kind of labels and scaling of them all.
    read
        Turns a block into a table with the head's columns, precision and scaling.
    """

    n_dropped = 0

    def __init__(self, stream: Stream, head: Table, read: Callable[[Any], Table]) -> None:
        self.stream = stream
        self.head = head
        self.n_clipped = self.n_missing = self.n_unknown = (0,) * len(head.columns)
        self._read = read

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.stream.n_rows

    @property
    def name(self) -> str:
        """Name of the owner."""
        return self.head.name

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.head.columns

    @property
    def schema(self) -> Schema:
        """What the columns are."""
        return self.head.schema

    @property
    def width(self) -> int:
        """Coordinates of the kernel's space."""
        return self.head.width

    @property
    def labels(self) -> NDArray[Any] | None:
        """Labels of the first rows: whether and of which kind there are."""
        return self.head.labels

    @property
    def backend(self) -> Any:
        """The data-frame library of the blocks, None for arrays."""
        return self.head.backend

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the points."""
        return self.head.dtype

    def astype(self, dtype: np.dtype[Any]) -> StreamTable:
        """Return the table with its points in another precision."""
        return StreamTable(self.stream, self.head.astype(dtype), self._read)

    def sift(
        self,
        score: Callable[[NDArray[Any]], NDArray[np.float64]],
        rng: np.random.Generator,
    ) -> tuple[Table, NDArray[np.float64]]:
        """Return the candidates as a table, rows in order, and their scores.

        Parameters
        ----------
        score
            Maps scaled points (b, c) to (b,) scores, row by row.
        rng
            For the uniform half of the candidates.

        Raises
        ------
        InvalidDataError
            A block is malformed or has missing values, or there are more or fewer rows than the
            file declares.
        """
        wanted = self.stream.n_candidates
        kept: list[tuple[Table, NDArray[np.float64], NDArray[np.float64]]] = []
        seen = n_kept = 0
        least, most = -np.inf, np.inf
        counts = np.zeros((3, len(self.columns)), np.int64)
        for raw in self.stream.blocks():
            block = self._read(raw).astype(self.dtype)
            counts += np.array([block.n_clipped, block.n_missing, block.n_unknown])
            scores, keys = score(block.scaled), rng.random(len(block))
            rows = np.flatnonzero((scores >= least) | (keys <= most))
            places = replace(block, rows=np.arange(seen, seen + len(block)))
            kept.append((_take(places, rows), scores[rows], keys[rows]))
            seen += len(block)
            n_kept += len(rows)
            if n_kept > 2 * SLACK * wanted:
                kept, least, most = _cut(kept, wanted)
                n_kept = len(kept[0][0])
        if seen != len(self):
            raise InvalidDataError(
                f"{self.name!r}: the file declares {len(self)} rows and holds {seen}; write it anew"
            )
        self.n_clipped, self.n_missing, self.n_unknown = map(tuple, counts.tolist())
        [(table, scores, _)], _, _ = _cut(kept, wanted)
        return table, scores


def _take(table: Table, rows: NDArray[np.int64]) -> Table:
    values = table.values[rows]
    return replace(
        table,
        values=values,
        scaled=values if table.scaled is table.values else table.scaled[rows],
        labels=None if table.labels is None else table.labels[rows],
        carried=tuple(column[rows] for column in table.carried),
        rows=table.original_rows(rows),
    )


def _cut(
    kept: list[tuple[Table, NDArray[np.float64], NDArray[np.float64]]], wanted: int
) -> tuple[list[tuple[Table, NDArray[np.float64], NDArray[np.float64]]], float, float]:
    """Keep the `wanted` highest scores (of equals the first rows) and the `wanted` lowest keys.

    Both sets only ever lose rows as more are read, so cutting early changes nothing. Returns them
    with the score and the key that a later row needs to get in.
    """
    tables = [table for table, _, _ in kept]
    scores = np.concatenate([scores for _, scores, _ in kept])
    keys = np.concatenate([keys for _, _, keys in kept])
    if len(scores) <= wanted:
        return [(_joined(tables), scores, keys)], -np.inf, np.inf
    best = np.argsort(-scores, kind="stable")[:wanted]
    drawn = np.argpartition(keys, wanted - 1)[:wanted]
    rows = np.union1d(best, drawn)
    least, most = float(scores[best[-1]]), float(keys[drawn].max())
    return [(_take(_joined(tables), rows), scores[rows], keys[rows])], least, most


def _joined(tables: list[Table]) -> Table:
    first = tables[0]
    labels = None
    if first.labels is not None:
        labels = np.concatenate([t.labels for t in tables if t.labels is not None])
    values = np.concatenate([t.values for t in tables])
    return replace(
        first,
        values=values,
        scaled=values
        if first.scaled is first.values
        else np.concatenate([t.scaled for t in tables]),
        labels=labels,
        carried=tuple(
            joined(list(parts)) for parts in zip(*(t.carried for t in tables), strict=True)
        ),
        rows=np.concatenate([t.rows for t in tables if t.rows is not None]),
    )
