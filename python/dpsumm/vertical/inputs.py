"""Every owner's data as levels, and the digest by which owners see that they hold one table."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast, get_args

import numpy as np
from numpy.typing import NDArray

from dpsumm.data.extract import Extract, Source, Wanted
from dpsumm.data.frame import Backend
from dpsumm.data.kinds.items import text_of
from dpsumm.data.kinds.label import label_of
from dpsumm.data.lint import Hint, of_columns
from dpsumm.data.schema import Schema
from dpsumm.data.shards import Shards
from dpsumm.data.stream import Stream
from dpsumm.data.table import usable
from dpsumm.errors import InvalidDataError, InvalidParameterError
from dpsumm.vertical.grid import Counted, Drawn
from dpsumm.vertical.wire import DIGITS

# What to do about missing values: a dropped row would tell the other owners where they are.
MISSING = (
    "impute them with public values, or say when_missing = 'encode' in the schema; rows are never "
    "dropped, since the other owners hold them too"
)


# Identifiers that have one spelling: most of a million are told at a glance.
_AS_IT_IS = re.compile(r"0|[1-9][0-9]{0,14}|[A-Za-z][A-Za-z0-9_-]*")


@dataclass(frozen=True, eq=False)
class Held:
    """One owner's records.

    Attributes
    ----------
    codes : (n, d) uint32
        Level of each record in each column. In the order of the identifiers if there are any.
    identifiers
        Of the records, sorted; None without.
    hints
        What looks strange in the data. For who holds them.
    """

    codes: NDArray[np.uint32]
    identifiers: tuple[str, ...] | None
    hints: tuple[Hint, ...]

    def digest(self, key: bytes) -> str:
        """Return a keyed digest of the identifiers, by which owners compare their records.

        Claim: without the key, as the coordinator is, one sees whether two owners have the same
        records, and nothing else. Tested by: tests/vertical/test_synthesize.py.
        """
        if self.identifiers is None:
            return ""
        raws = [text.encode() for text in self.identifiers]
        whole = b"".join([part for raw in raws for part in (len(raw).to_bytes(8, "little"), raw)])
        return hmac.new(key, whole, hashlib.sha256).hexdigest()[:DIGITS]


def backend_of(source: Source) -> Backend | None:
    """Return the library of a data frame, by its type alone; None for other data."""
    library = type(source).__module__.partition(".")[0]
    return cast(Backend, library) if library in get_args(Backend) else None


def read_held(
    source: Source,
    name: str,
    schema: Schema,
    levels: Sequence[Counted],
    ids: str | None,
) -> Held:
    """Return one owner's data as levels. Errors are the owner's own, before anything is sent."""
    if isinstance(source, (Stream, Shards)):
        raise InvalidParameterError(
            f"{name!r}: a {type(source).__name__} cannot be joined. Give a frame, an array or a "
            "file"
        )
    extract = usable(source, name, Wanted(schema=schema), MISSING)
    codes = _encoded(extract, levels)
    hints = tuple(of_columns(extract.schema.kernel, extract.values))
    if ids is None:
        return Held(codes, None, hints)
    place = [column.name for column in schema.carried].index(ids)
    texts = _texts(extract, place, name, ids)
    order = sorted(range(len(texts)), key=texts.__getitem__)
    return Held(np.ascontiguousarray(codes[order]), tuple(texts[i] for i in order), hints)


def levels_of(source: Source, name: str, columns: Sequence[Drawn]) -> NDArray[np.uint32]:
    """Return the levels of anybody's records of these columns, (n, columns)."""
    wanted = Wanted(schema=Schema([one.column for one in columns]))
    return _encoded(usable(source, name, wanted, MISSING), columns)


def _encoded(extract: Extract, levels: Sequence[Counted | Drawn]) -> NDArray[np.uint32]:
    values = extract.values.astype(np.float64, copy=False)
    return np.stack([one.encode(x) for one, x in zip(levels, values.T, strict=True)], axis=1)


def _texts(extract: Extract, place: int, name: str, ids: str) -> list[str]:
    """Return identifiers as texts, each by itself. See `identifier`."""
    column = extract.carried[place]
    # What `identifier` gives for integers.
    text = str if column.dtype.kind in "iu" else identifier
    texts = list(map(text, column.tolist()))
    if not all(texts):
        raise InvalidDataError(
            f"{name!r}: column {ids!r} has missing identifiers, or numbers that a float may "
            "have rounded. Give every record one (as text, if in doubt)"
        )
    if len(set(texts)) < len(texts):
        raise InvalidDataError(
            f"{name!r}: column {ids!r} has an identifier twice. Every record needs its own"
        )
    return texts


def identifier(item: Any) -> str:
    """Return one identifier's text, without a point in whole numbers or spaces around texts.

    1, 1.0 and ``" 1"`` are one, since a library makes one of the other for the sake of the
    others. ``"007"`` is itself.
    """
    if isinstance(item, str) and _AS_IT_IS.fullmatch(item):
        return item
    if isinstance(item, float) and not abs(item) < 2**53:
        return ""
    text = text_of(item).strip()
    number = label_of(text)
    whole = isinstance(number, float) and number.is_integer() and abs(number) < 2**53
    return text_of(number) if whole or type(number) is int else text
