"""Checks of the values in fields of messages. Their validators trust no type."""

from __future__ import annotations

import re
import sys
from typing import Any

import numpy as np

from dpsumm.basics import checks
from dpsumm.kernels.inputs import LEAST_NOISE, MOST_NOISE

_HEX = re.compile(r"[0-9a-f]+")


def is_whole(value: Any, below: int = 2**62) -> bool:
    """Return whether a value is an integer from 0 to less than `below`, and no truth value."""
    return checks.is_whole(value) and 0 <= value < below


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number above 0."""
    return checks.is_number(value) and 0 < value <= sys.float_info.max


def is_noise(value: Any) -> bool:
    """Return whether a value is a standard deviation that exact noise can have.

    Beyond this range the noise is not drawn, and a square of it is 0 or infinite.
    """
    return checks.is_number(value) and LEAST_NOISE <= value <= MOST_NOISE


def is_share(value: Any) -> bool:
    """Return whether a value is a number from 0 to 1."""
    return checks.is_number(value) and 0 <= value <= 1


def is_fingerprint(value: Any) -> bool:
    """Return whether a value is a schema's fingerprint: twelve hexadecimal digits."""
    return is_hex(value, 12)


def is_hex(value: Any, digits: int) -> bool:
    """Return whether a value is a text of so many hexadecimal digits, in lower case."""
    return type(value) is str and len(value) == digits and _HEX.fullmatch(value) is not None


def is_array(value: Any, ndim: int, *dtypes: str) -> bool:
    """Return whether a value is an array of `ndim` axes, of one of the dtypes if any are given."""
    known = isinstance(value, np.ndarray) and value.ndim == ndim
    return known and (not dtypes or any(value.dtype == np.dtype(name) for name in dtypes))


def is_column(value: Any) -> bool:
    """Return whether a value is an array of one axis whose text, if it is text, is Unicode.

    Its code points can be anything in the raw bytes.
    """
    if not is_array(value, 1):
        return False
    if value.dtype.kind != "U" or value.dtype.itemsize == 0:
        return True
    native = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("="))
    code = native.view(np.uint32)
    return not ((code > 0x10FFFF) | ((code >= 0xD800) & (code < 0xE000))).any()


def are_texts(value: Any) -> bool:
    """Return whether a column is of texts, as wide as the longest, so that its bytes are theirs."""
    own = np.array(value.tolist(), np.str_).dtype.itemsize
    return bool(value.dtype.kind == "U" and max(4, value.dtype.itemsize) == own)
