"""Arguments as the core takes them. What does not fit is refused by its name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpsumm.basics.checks import check_whole, is_number
from dpsumm.errors import InvalidDataError, InvalidParameterError

FloatArray = NDArray[np.float32] | NDArray[np.float64]

_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
INT16, INT64 = np.dtype(np.int16), np.dtype(np.int64)
UINT32, UINT64 = np.dtype(np.uint32), np.dtype(np.uint64)

# Noise for which the samplers are exact; other noise is refused.
LEAST_NOISE, MOST_NOISE = 2.0**-20, 2.0**40

Words = NDArray[np.uint32] | NDArray[np.uint64]


def points(values: ArrayLike, name: str) -> FloatArray:
    """Return a table. float32 and float64 stay, other real numbers become float64."""
    array = _array(values, name)
    if array.dtype not in (_DOUBLE, _SINGLE):
        _check_kind(array, name, "biuf", "real numbers")
        # Single precision in another byte order is float32 still.
        single = array.dtype.kind == "f" and array.dtype.itemsize == 4
        array = array.astype(_SINGLE if single else _DOUBLE)
    return _shaped(array, name, 2)


def vector(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return real numbers, (k,), as float64."""
    array = _array(values, name)
    _check_kind(array, name, "biuf", "real numbers")
    return _shaped(array.astype(_DOUBLE, copy=False), name, 1)


def matrix(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return a table of real numbers as float64."""
    return np.asarray(points(values, name), np.float64)


def sizes(values: Sequence[int]) -> list[int]:
    """Return how many codes columns or blocks have."""
    try:
        return [whole(size, "sizes", 1, 2**16) for size in values]
    except TypeError:
        raise InvalidParameterError(f"sizes must be whole numbers, got {values!r}") from None


def directions(values: ArrayLike, name: str) -> tuple[NDArray[np.float64], bool]:
    """Return a (d,) vector or an (r, d) array as (r, d) float64, and whether it was an array."""
    if getattr(values, "ndim", 1) == 2:
        return points(values, name).astype(_DOUBLE, copy=False), True
    return vector(values, name)[None], False


def integers(
    values: ArrayLike, name: str, dtype: np.dtype[Any] = INT64, dimensions: int = 1
) -> NDArray[Any]:
    """Return integers as `dtype`, which must hold every value of theirs."""
    array = _array(values, name)
    if array.dtype != dtype:
        _check_kind(array, name, "iu", f"integers that {dtype} holds")
        limits = np.iinfo(dtype)
        if array.size and (array.min() < limits.min or array.max() > limits.max):
            raise InvalidParameterError(f"{name} must be integers that {dtype} holds")
        array = array.astype(dtype)
    return _shaped(array, name, dimensions)


def words(values: ArrayLike, name: str) -> Words:
    """Return a matrix of ring elements, uint32 or uint64, unchanged."""
    array = _array(values, name)
    if array.dtype not in (UINT32, UINT64):
        raise InvalidParameterError(
            f"{name} must be uint32 or uint64, got an array of {array.dtype}"
        )
    return _shaped(array, name, 2)


def number(value: object, name: str) -> float:
    """Return a number as a float. The core refuses those out of range."""
    if type(value) is float:
        return value
    try:
        if is_number(value):
            return float(value)  # type: ignore[arg-type]
    except OverflowError:
        pass  # an integer beyond the floats
    raise InvalidParameterError(f"{name} must be a number, got {value!r}")


def whole(value: object, name: str, at_least: int = 0, at_most: int = 2**63 - 1) -> int:
    """Return a whole number within bounds as an int."""
    if type(value) is int and at_least <= value <= at_most:
        return value  # in the rounds of an auction, a check costs as much as a short call
    check_whole(value, name, at_least, at_most)
    return int(value)  # type: ignore[call-overload, no-any-return]


def key(value: object) -> bytes:
    """Return a key of ChaCha20, checked."""
    if not (isinstance(value, bytes) and len(value) == 32):
        raise InvalidParameterError("key must be 32 bytes, as secrets.token_bytes(32) gives")
    return value


def seed(value: object) -> int | None:
    """Return a seed, or None for the operating system's randomness."""
    return None if value is None else whole(value, "seed", 0, 2**64 - 1)


def _array(values: ArrayLike, name: str) -> NDArray[Any]:
    if np.ma.is_masked(values):
        # NumPy would hand over what the mask hides.
        raise InvalidDataError(f"{name} holds masked values. Remove or impute them first")
    try:
        return np.asarray(values)
    except (ValueError, TypeError) as error:
        raise InvalidParameterError(f"{name} must be an array of numbers") from error


def _check_kind(array: NDArray[Any], name: str, kinds: str, wanted: str) -> None:
    if array.dtype.kind not in kinds:
        raise InvalidParameterError(f"{name} must be {wanted}, got an array of {array.dtype}")


def _shaped(array: NDArray[Any], name: str, dimensions: int) -> NDArray[Any]:
    if array.ndim != dimensions:
        wanted = "(rows, columns)" if dimensions == 2 else "(k,)"
        raise InvalidParameterError(f"{name} must have shape {wanted}, got {array.shape}")
    # The core reads memory as it lies; a view of bytes may lie anywhere.
    return array if array.flags.aligned else array.copy()
