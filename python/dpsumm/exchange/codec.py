"""Messages as bytes, for engines that cross machines. No pickle: a JSON header and raw arrays.

For all bytes `Codec.decode` returns a valid message or raises `ProtocolError`. It
reads no more than it is given, allocates in proportion to that, runs nothing, and repeats no value
of the data. A message has one encoding only. Another spelling of the same header is refused.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.documents import parse_json
from dpsumm.errors import InvalidParameterError, ProtocolError
from dpsumm.exchange.fields import is_fingerprint, is_whole
from dpsumm.exchange.messages import Answer, Describe, Description, Expect, Request

Message = Request | Answer

# Largest message that is decoded, unless the caller says otherwise: 1 GiB.
MAX_BYTES = 2**30
# Characters of one text in an array, at most.
MAX_TEXT = 4096
_MAGIC = b"dpsm\x02"
_MAX_HEADER = 2**22
# What encode() writes has fewer. Checked before parsing: it bounds nesting and empty objects.
_MAX_BRACKETS = 256
_LONG_NUMBER = re.compile(rb"[0-9]{40}")
_DTYPES = {
    name: np.dtype(name)
    for name in "|b1 |i1 |u1 <i2 <u2 <i4 <u4 <i8 <u8 <f2 <f4 <f8 <M8[D] <M8[us]".split()
}
# Rows or columns of an array that has none of the other: they cost no bytes, and work later.
_MOST_EMPTY = 2**20
_TEXT = re.compile(r"<U([1-9][0-9]{0,3})")
# What wrong types and ranges raise, in a validator or here.
_MALFORMED = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Kind:
    """How one kind of message is written.

    Parameters
    ----------
    name
        On the wire, where it outlives the class's name.
    type
        A frozen dataclass below `Request` or `Answer`. Its fields hold numbers, truth values,
        texts, None, arrays of one or two axes, the codec's parts, and tuples of these.
    valid
        Whether every field has its type and range: a dataclass does not check them. It is given
        messages whose fields can hold anything. That it fails on one counts as no.
    sends
        A check of written messages. A journal may hold messages of an earlier version.
    version
        Of the format, from 1. A kind whose fields change gets the next one. The old kind stays in
        the codec for as long as old journals must be read.
    """

    name: str
    type: type[Message]
    valid: Callable[[Any], bool]
    version: int = 1
    sends: Callable[[Any], bool] = lambda _: True

    @property
    def wire(self) -> str:
        """The name and the version, as the header has them."""
        return self.name if self.version == 1 else f"{self.name}.{self.version}"


class Codec:
    """The messages of one subsystem, and no others, to bytes and back.

    `Describe`, `Description` and `Expect` are every codec's.
    """

    def __init__(
        self, kinds: Iterable[Kind] = (), parts: Mapping[str, type[Any]] | None = None
    ) -> None:
        kinds = (*_GENERIC, *kinds)
        pairs = [(kind.wire, kind.type) for kind in kinds] + list((parts or {}).items())
        self._types: dict[str, type[Any]] = dict(pairs)
        self._names = {known: name for name, known in pairs}
        self._valid: dict[type[Any], Callable[[Any], bool]] = {k.type: k.valid for k in kinds}
        self._sends: dict[type[Any], Callable[[Any], bool]] = {k.type: k.sends for k in kinds}
        #: Of all messages, in the order in which they were given.
        self.kinds = kinds
        if not len(pairs) == len(self._types) == len(self._names):
            raise InvalidParameterError("kinds: every message needs a type and a name of its own")
        for known in self._names:
            how = getattr(known, "__dataclass_params__", None)
            if how is None or not how.frozen:
                raise InvalidParameterError(f"kinds: {known.__name__} must be a frozen dataclass")
        for kind in kinds:
            if not (issubclass(kind.type, Message) and _NAME.fullmatch(kind.name)):
                raise InvalidParameterError(
                    f"kinds: {kind.name!r} must be a word, and its type a Request or an Answer"
                )
            if kind.version < 1:
                raise InvalidParameterError(f"kinds: version of {kind.name!r} must be at least 1")

    def encode(self, message: Message) -> bytes:
        """Return the message as bytes. The same message gives the same bytes."""
        self._validate(message, self._valid, self._sends)
        arrays: list[bytes] = []
        header = _header(self._pack(message, arrays))
        if len(header) > _MAX_HEADER:
            raise ProtocolError(f"a {type(message).__name__} is too long to be sent")
        return b"".join([_MAGIC, struct.pack("<I", len(header)), header, *arrays])

    def decode(self, data: bytes, *, max_bytes: int = MAX_BYTES) -> Any:
        """Return the message that `encode` wrote.

        It fits the protocol's types and ranges. Whether it fits the run is for the role to check.
        """
        if len(data) > max_bytes:
            raise ProtocolError(f"a message of {len(data)} bytes, at most {max_bytes} are taken")
        raw, arrays = _split(data)
        try:
            header = _parse(raw)
            reader = _Arrays(arrays)
            message = self._unpack(header, reader)
            reader.finish()
            self._validate(message, self._valid)
        except _MALFORMED:
            # Never the reason itself: it may quote the data.
            raise ProtocolError("a message is malformed") from None
        return message

    def _validate(self, message: object, *rules: Mapping[type[Any], Callable[[Any], bool]]) -> None:
        """Check the type and range of every field."""
        kind = type(message)
        try:
            if all(rule[kind](message) for rule in rules):
                return
        except _MALFORMED:
            pass
        raise ProtocolError(f"a {type(message).__name__} is malformed") from None

    def _pack(self, value: Any, arrays: list[bytes]) -> Any:
        """Return plain JSON for a value. Arrays go to the end of the message unchanged."""
        if isinstance(value, np.ndarray):
            dtype = value.dtype.newbyteorder("<").str
            if dtype == "<U0":  # NumPy can make it but not read it
                dtype = "<U1"
            try:
                arrays.append(np.ascontiguousarray(value, dtype=_dtype(dtype)).tobytes())
            except KeyError:
                raise ProtocolError(
                    f"arrays of dtype {value.dtype} cannot be sent. Text has at most {MAX_TEXT} "
                    "characters"
                ) from None
            if not _are_justified(value.shape):
                raise ProtocolError(
                    f"an array without columns has at most {_MOST_EMPTY} rows, and without rows as "
                    "many columns"
                )
            return {"array": dtype, "shape": list(value.shape)}
        if dataclasses.is_dataclass(value):
            fields = {
                field.name: self._pack(getattr(value, field.name), arrays)
                for field in sorted(dataclasses.fields(value), key=lambda field: field.name)
            }
            name = self._names.get(type(value))
            if name is None:
                raise ProtocolError(f"a {type(value).__name__} is not one of the codec's parts")
            return {"kind": name, "fields": fields}
        if isinstance(value, tuple):
            return [self._pack(item, arrays) for item in value]
        if isinstance(value, np.generic):
            return value.item()
        return value

    def _unpack(self, value: Any, arrays: _Arrays) -> Any:
        if isinstance(value, dict):
            if set(value) == {"array", "shape"}:
                return arrays.take(value["array"], value["shape"])
            if set(value) != {"kind", "fields"}:
                raise ValueError("unknown form")
            kind, fields = self._types[value["kind"]], value["fields"]
            names = sorted(field.name for field in dataclasses.fields(kind))
            if type(fields) is not dict or sorted(fields) != names:
                raise ValueError("unknown or missing fields")
            return kind(**{name: self._unpack(fields[name], arrays) for name in names})
        if isinstance(value, list):
            return tuple(self._unpack(item, arrays) for item in value)
        return value


def _header(value: Any) -> bytes:
    text = json.dumps(value, separators=(",", ":"), sort_keys=True, allow_nan=False)
    return text.encode("ascii")


def kind_of(data: bytes) -> str:
    """Return the kind of a message, as `Kind.wire` has it. The rest of it is not looked at."""
    raw, _ = _split(data)
    try:
        kind = _parse(raw)["kind"]
    except _MALFORMED:
        raise ProtocolError("a message is malformed") from None
    if not isinstance(kind, str):
        raise ProtocolError("a message is malformed")
    return kind


def _split(data: bytes) -> tuple[bytes, memoryview]:
    """Return a message's header and its arrays."""
    start = len(_MAGIC) + 4
    if data[: len(_MAGIC)] != _MAGIC or len(data) < start:
        raise ProtocolError("not a dpsumm message of this version")
    (length,) = struct.unpack("<I", data[len(_MAGIC) : start])
    if length > min(_MAX_HEADER, len(data) - start):
        raise ProtocolError("a message is cut short, or its header is too long")
    return data[start : start + length], memoryview(data)[start + length :]


def _parse(raw: bytes) -> Any:
    """Return the header's JSON. Only as `Codec.encode` spells it.

    So no repeated key, NaN, byte-order mark or second spelling of a number passes.
    """
    if raw.count(b"{") + raw.count(b"[") > _MAX_BRACKETS:
        raise ValueError("too many parts")
    if _LONG_NUMBER.search(raw):
        raise ValueError("a number out of range")
    value = parse_json(raw)
    if _header(value) != raw:
        raise ValueError("another spelling")
    return value


def _dtype(name: str) -> np.dtype[Any]:
    text = _TEXT.fullmatch(name)
    if text is not None and int(text[1]) <= MAX_TEXT:
        return np.dtype(name)
    return _DTYPES[name]


def _are_justified(shape: Sequence[int]) -> bool:
    """Return whether bytes stand for a shape, or it is small: 10**15 rows of no columns are not."""
    return math.prod(shape) > 0 or max(shape) <= _MOST_EMPTY


class _Arrays:
    """The raw part of a message, read in order."""

    def __init__(self, data: memoryview) -> None:
        self._data = data

    def take(self, dtype: str, shape: list[int]) -> NDArray[Any]:
        kind = _dtype(dtype)
        if not 1 <= len(shape) <= 2 or any(type(n) is not int or n < 0 for n in shape):
            raise ValueError("shape")
        if not _are_justified(shape):
            raise ValueError("rows that no bytes stand for")
        size = math.prod(shape) * kind.itemsize
        if size > len(self._data):
            raise ValueError("too short")
        array = np.frombuffer(self._data[:size], dtype=kind).reshape(shape)
        if dtype == "|b1" and (array.view(np.uint8) > 1).any():
            raise ValueError("not a boolean")
        self._data = self._data[size:]
        # A copy: aligned, writable and independent of the buffer.
        return array.astype(kind.newbyteorder("="))

    def finish(self) -> None:
        if len(self._data):
            raise ValueError("too long")


def _is_description(value: Description) -> bool:
    return is_fingerprint(value.schema) and is_whole(value.n_records)


_GENERIC = (
    Kind("Describe", Describe, lambda _: True),
    Kind("Description", Description, _is_description),
    Kind("Expect", Expect, lambda message: is_fingerprint(message.schema)),
)
