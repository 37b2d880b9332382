"""An owner's rows as the leaves of its commitment: the bytes of a row, and its secret salt."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import shake_256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.data.items import text_of
from dpsumm.data.merkle import SIZE, Forest, Place, leaf
from dpsumm.data.records import Records
from dpsumm.errors import ProtocolError

# Rows whose salts are made together, and rows that are hashed together.
_CHUNK, BLOCK = 1024, 65_536
_HEAD = struct.Struct("<q2sIBI")


@dataclass(frozen=True)
class Salts:
    """The secret of one owner in one run: from it come the salts of its rows, and the fillers.

    Parameters
    ----------
    key
        32 random bytes that the owner alone has.
    run
        What the curator calls the run: 32 hexadecimal digits. Other runs have other salts, so that
        their roots do not tell whether a table is still the same.
    """

    key: bytes = field(repr=False)
    run: str

    def of(self, first: int, count: int) -> bytes:
        """Return the salts of consecutive rows, 32 bytes each."""
        start, end = first // _CHUNK, -(-(first + count) // _CHUNK)
        whole = b"".join(self._made(b"salt", chunk, SIZE * _CHUNK) for chunk in range(start, end))
        skip = SIZE * (first - start * _CHUNK)
        return whole[skip : skip + SIZE * count]

    def filler(self, place: Place) -> bytes:
        """Return what stands where no row is."""
        level, number = place
        return self._made(b"fill", (level << 40) + number, SIZE)

    def _made(self, use: bytes, number: int, size: int) -> bytes:
        secret = self.key + bytes.fromhex(self.run)
        return shake_256(secret + use + number.to_bytes(8, "little")).digest(size)

    def plant(self, forest: Forest, first: int, records: Records) -> None:
        """Show a forest the leaves of consecutive rows."""
        for start in range(0, len(records), BLOCK):
            block = records.take(np.arange(start, min(start + BLOCK, len(records))))
            salts = self.of(first + start, len(block))
            forest.extend(
                first + start,
                [
                    leaf(salts[SIZE * i : SIZE * (i + 1)], row)
                    for i, row in enumerate(bytes_of(block))
                ],
            )


def bytes_of(records: Records) -> list[bytes]:
    """Return each record as bytes: those of two records are the same if all of them is the same.

    Its row number, its values as they are sent, and the text of its label and of what travels
    along (`dpsumm.data.items.text_of`, which is the same in whatever type a column arrives).
    ``docs/privacy/commitments.md`` has the format.
    """
    values = np.ascontiguousarray(records.values, records.values.dtype.newbyteorder("<"))
    n_columns = values.shape[1]
    kind = values.dtype.str[1:].encode()
    labels = () if records.labels is None else (records.labels,)
    along = [_texts(column) for column in (*labels, *records.carried)]
    flat, width = values.tobytes(), n_columns * values.dtype.itemsize
    facts = kind, n_columns, len(labels), len(along)
    found = [
        _HEAD.pack(row, *facts) + flat[width * i : width * (i + 1)]
        for i, row in enumerate(records.rows.tolist())
    ]
    for texts in along:
        found = [row + text for row, text in zip(found, texts, strict=True)]
    return found


def record_of(row: bytes) -> tuple[int, NDArray[Any], str | None, tuple[str, ...]]:
    """Return what `bytes_of` wrote: row number, values, label, and what travels along, as text.

    Raises
    ------
    ProtocolError
        It wrote something else.
    """
    try:
        number, kind, n_columns, labelled, n_texts = _HEAD.unpack_from(row)
        dtype: np.dtype[Any] = np.dtype({b"f4": "<f4", b"f8": "<f8"}[kind])
        at = _HEAD.size
        values = np.frombuffer(row, dtype, n_columns, at)
        at += values.nbytes
        texts = []
        for _ in range(n_texts):
            (size,) = struct.unpack_from("<I", row, at)
            texts.append(row[at + 4 : at + 4 + size].decode())
            at += 4 + size
        if at != len(row) or labelled > min(1, n_texts):
            raise ValueError("another length")
    except (KeyError, ValueError, struct.error):
        raise ProtocolError("a row of an opening is malformed") from None
    label, along = (texts[0], texts[1:]) if labelled else (None, texts)
    return int(number), values, label, tuple(along)


def _texts(column: NDArray[Any]) -> Sequence[bytes]:
    texts = (text_of(item).encode() for item in column.tolist())
    return [len(text).to_bytes(4, "little") + text for text in texts]
