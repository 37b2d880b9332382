"""Messages as bytes, for engines that cross machines. No pickle: a JSON header and raw arrays.

Whatever the bytes are, :func:`decode` returns a valid message or raises `ProtocolError`: it
reads no more than it is given, allocates in proportion to that, runs nothing, and repeats no value
of the data. A message has one encoding only: another spelling of the same header is refused.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import struct
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.data.values import MOST_CHARACTERS
from dpsumm.errors import ProtocolError
from dpsumm.summary.protocols.messages import (
    Answer,
    BidRequest,
    Bids,
    Describe,
    Description,
    DrawRequest,
    FeatureMap,
    OfferRequest,
    Points,
    Request,
    SendRequest,
)
from dpsumm.summary.release import Release

Message = Request | Answer

# Largest message that is decoded, unless the caller says otherwise: 1 GiB.
MAX_BYTES = 2**30
_MAGIC = b"dpsm\x02"
_MAX_HEADER = 2**22
# What encode() writes has fewer. Checked before parsing: it bounds nesting and empty objects.
_MAX_BRACKETS = 256
# Scores are below 2**126 (39 digits); no integer of a message needs more.
_MAX_INTEGER = 2**127
_LONG_NUMBER = re.compile(rb"[0-9]{40}")
_DTYPES = {
    name: np.dtype(name)
    for name in "|b1 |i1 |u1 <i2 <u2 <i4 <u4 <i8 <u8 <f2 <f4 <f8 <M8[D] <M8[us]".split()
}
# Characters of a text label; see there.
_MAX_LABEL = MOST_CHARACTERS
_TEXT = re.compile(r"<U([1-9][0-9]{0,3})")
_FINGERPRINT = re.compile(r"[0-9a-f]{12}")
_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        Describe,
        Description,
        OfferRequest,
        DrawRequest,
        BidRequest,
        SendRequest,
        Points,
        Bids,
        FeatureMap,
        Release,
    )
}


def encode(message: Message) -> bytes:
    """Return the message as bytes; the same message gives the same bytes.

    Raises
    ------
    ProtocolError
        :func:`decode` would refuse it: fields of a wrong type or beyond the ranges below, labels of
        a type that cannot be sent or of more than 4096 characters.
    """
    _validate(message)
    arrays: list[bytes] = []
    header = _header(_pack(message, arrays))
    if len(header) > _MAX_HEADER:
        raise ProtocolError(f"a {type(message).__name__} is too long to be sent")
    return b"".join([_MAGIC, struct.pack("<I", len(header)), header, *arrays])


def decode(data: bytes, *, max_bytes: int = MAX_BYTES) -> Message:
    """Return the message that :func:`encode` wrote.

    It fits the protocol's types and ranges; whether it fits the run is for the role to check.

    Raises
    ------
    ProtocolError
        Anything else than an encoded message of at most `max_bytes`.
    """
    if len(data) > max_bytes:
        raise ProtocolError(f"a message of {len(data)} bytes, at most {max_bytes} are taken")
    start = len(_MAGIC) + 4
    if data[: len(_MAGIC)] != _MAGIC or len(data) < start:
        raise ProtocolError("not a dpsumm message of this version")
    (length,) = struct.unpack("<I", data[len(_MAGIC) : start])
    if length > min(_MAX_HEADER, len(data) - start):
        raise ProtocolError("a message is cut short, or its header is too long")
    try:
        header = _parse(data[start : start + length])
        reader = _Arrays(memoryview(data)[start + length :])
        message = _unpack(header, reader)
        reader.finish()
        _validate(message)
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError):
        # Never the reason itself: it may quote the data.
        raise ProtocolError("a message is malformed") from None
    return message  # type: ignore[no-any-return]


def _header(value: Any) -> bytes:
    text = json.dumps(value, separators=(",", ":"), sort_keys=True, allow_nan=False)
    return text.encode("ascii")


def _parse(raw: bytes) -> Any:
    """Return the header's JSON; only as :func:`encode` spells it.

    So no repeated key, NaN, byte-order mark or second spelling of a number passes.
    """
    if raw.count(b"{") + raw.count(b"[") > _MAX_BRACKETS:
        raise ValueError("too many parts")
    if _LONG_NUMBER.search(raw):
        raise ValueError("a number out of range")
    value = json.loads(raw)
    if _header(value) != raw:
        raise ValueError("another spelling")
    return value


def _dtype(name: str) -> np.dtype[Any]:
    text = _TEXT.fullmatch(name)
    if text is not None and int(text[1]) <= _MAX_LABEL:
        return np.dtype(name)
    return _DTYPES[name]


def _pack(value: Any, arrays: list[bytes]) -> Any:
    """Return plain JSON for a value; arrays go to the end of the message as they are."""
    if isinstance(value, np.ndarray):
        dtype = value.dtype.newbyteorder("<").str
        if dtype == "<U0":  # NumPy can make it but not read it
            dtype = "<U1"
        try:
            arrays.append(np.ascontiguousarray(value, dtype=_dtype(dtype)).tobytes())
        except KeyError:
            raise ProtocolError(
                f"arrays of dtype {value.dtype} cannot be sent; text has at most {_MAX_LABEL} "
                "characters"
            ) from None
        return {"array": dtype, "shape": list(value.shape)}
    if dataclasses.is_dataclass(value):
        fields = {
            field.name: _pack(getattr(value, field.name), arrays)
            for field in sorted(dataclasses.fields(value), key=lambda field: field.name)
        }
        return {"kind": type(value).__name__, "fields": fields}
    if isinstance(value, tuple):
        return [_pack(item, arrays) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    return value


class _Arrays:
    """The raw part of a message, read in order."""

    def __init__(self, data: memoryview) -> None:
        self._data = data

    def take(self, dtype: str, shape: list[int]) -> NDArray[Any]:
        kind = _dtype(dtype)
        if not 1 <= len(shape) <= 2 or any(type(n) is not int or n < 0 for n in shape):
            raise ValueError("shape")
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


def _unpack(value: Any, arrays: _Arrays) -> Any:
    if isinstance(value, dict):
        if set(value) == {"array", "shape"}:
            return arrays.take(value["array"], value["shape"])
        if set(value) != {"kind", "fields"}:
            raise ValueError("unknown form")
        kind, fields = _KINDS[value["kind"]], value["fields"]
        names = sorted(field.name for field in dataclasses.fields(kind))
        if type(fields) is not dict or sorted(fields) != names:
            raise ValueError("unknown or missing fields")
        return kind(**{name: _unpack(fields[name], arrays) for name in names})
    if isinstance(value, list):
        return tuple(_unpack(item, arrays) for item in value)
    return value


def _validate(message: object) -> None:
    """Check the type and range of every field: a dataclass does not."""
    ok = False
    if isinstance(message, OfferRequest):
        ok = (
            _is_map(message.feature_map)
            and _is_release(message.target, message.feature_map)
            and _is_number(message.mass)
            and _is_number(message.fine_mass)
            and _is_share(message.spread)
            and _is_whole(message.at_least)
            and _is_whole(message.at_most)
        )
    elif isinstance(message, Describe):
        ok = True
    elif isinstance(message, Description):
        ok = _is_whole(message.n_records) and _is_fingerprint(message.schema)
    elif isinstance(message, DrawRequest):
        ok = _is_whole(message.count)
    elif isinstance(message, BidRequest):
        ok = (
            _is_map(message.feature_map)
            and _is_vector(message.target, "i8", message.feature_map)
            and _is_vector(message.summary, "i8", message.feature_map)
            and _is_whole(message.target_factor)
            and _is_whole(message.summary_factor)
            and _is_whole(message.count)
        )
    elif isinstance(message, SendRequest):
        ok = isinstance(message.wanted, tuple) and all(type(x) is bool for x in message.wanted)
    elif isinstance(message, Points):
        ok = _is_points(message)
    elif isinstance(message, Bids):
        ok = all(
            isinstance(part, tuple) and all(type(x) is int and abs(x) < _MAX_INTEGER for x in part)
            for part in (message.scores, message.rows)
        )
    if not ok:
        raise ProtocolError(f"a {type(message).__name__} is malformed")


def _is_whole(value: Any, below: int = 2**62) -> bool:
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return whole and 0 <= value < below


def _is_number(value: Any) -> bool:
    number = isinstance(value, int | float | np.integer | np.floating)
    return number and not isinstance(value, bool) and 0 < value <= sys.float_info.max


def _is_share(value: Any) -> bool:
    number = isinstance(value, int | float | np.integer | np.floating)
    return number and not isinstance(value, bool) and 0 <= value <= 1


def _is_fingerprint(value: Any) -> bool:
    return type(value) is str and _FINGERPRINT.fullmatch(value) is not None


def _is_map(value: Any) -> bool:
    return (
        isinstance(value, FeatureMap)
        and _is_number(value.gamma)
        and _is_whole(value.n_columns, 2**20 + 1)
        and value.n_columns >= 1
        and _is_whole(value.n_features, 2**18 + 1)
        and value.n_features >= 2
        and _is_whole(value.seed, 2**64)
        and type(value.kind) is str  # an array would be compared item by item
        and value.kind in ("paired", "phase")
        and type(value.orthogonal) is bool
    )


def _is_vector(value: Any, dtype: str, feature_map: FeatureMap) -> bool:
    return _is_array(value, 1, dtype) and value.shape == (feature_map.n_features,)


def _is_release(value: Any, feature_map: FeatureMap) -> bool:
    return (
        isinstance(value, Release)
        and _is_vector(value.steps, "i8", feature_map)
        and _is_whole(value.count, 2**40)  # times LEVELS it is still an int64
        and value.count >= 1
        and (value.state is None or _is_vector(value.state, "f8", feature_map))
    )


def _is_points(points: Points) -> bool:
    return (
        _is_array(points.rows, 1, "i8")
        and _is_array(points.values, 2, "f4", "f8")
        and (points.labels is None or _is_column(points.labels))
        and (points.labels is None or points.labels.dtype.kind != "M")
        and isinstance(points.carried, tuple)
        and all(map(_is_column, points.carried))
    )


def _is_column(value: Any) -> bool:
    return _is_array(value, 1) and _is_text(value)


def _is_array(value: Any, ndim: int, *dtypes: str) -> bool:
    known = isinstance(value, np.ndarray) and value.ndim == ndim
    return known and (not dtypes or any(value.dtype == np.dtype(name) for name in dtypes))


def _is_text(labels: NDArray[Any]) -> bool:
    """Return whether text is Unicode: its code points can be anything in the raw bytes."""
    if labels.dtype.kind != "U" or labels.dtype.itemsize == 0:
        return True
    native = np.ascontiguousarray(labels, dtype=labels.dtype.newbyteorder("="))
    code = native.view(np.uint32)
    return not ((code > 0x10FFFF) | ((code >= 0xD800) & (code < 0xE000))).any()
