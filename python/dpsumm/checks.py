"""Checks of parameters that several protocols share."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.errors import InvalidParameterError, MissingExtraError

# The core's limit for exact sums on the grid.
MAX_FEATURES = 2**18


def is_number(value: object) -> bool:
    """Return whether this is an int or a float, of Python or NumPy, and not a truth value."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def largest(dtype: np.dtype[Any]) -> float:
    """Return the largest value of a point that is taken: beyond it an angle could overflow.

    That would stop a run after a release; with gamma up to 1e30 nothing below does.
    """
    return 1e15 if dtype == np.float32 else 1e100


def all_usable(values: NDArray[np.floating]) -> bool:
    """Return whether no value is NaN, infinite or beyond :func:`largest`."""
    limit = largest(values.dtype)
    return values.size == 0 or bool(values.min() >= -limit and values.max() <= limit)


def check_number(value: object, name: str, least: float, most: float, usual: str = "") -> None:
    """Refuse anything but a number in [least, most].

    Raises
    ------
    InvalidParameterError
        Naming the parameter, the range and what is `usual`.
    """
    if not is_number(value) or not least <= value <= most:  # type: ignore[operator]
        hint = f" (usual: {usual})" if usual else ""
        raise InvalidParameterError(
            f"{name} must be a number from {least:g} to {most:g}{hint}, got {value!r}"
        )


def check_whole(value: object, name: str, at_least: int, at_most: int | None = None) -> None:
    """Refuse anything but a whole number within bounds; True is not a number here.

    Raises
    ------
    InvalidParameterError
        Naming the parameter and the range.
    """
    if (
        isinstance(value, bool)
        or not isinstance(value, int | np.integer)
        or not at_least <= value
        or not (at_most is None or value <= at_most)
    ):
        bounds = f"of at least {at_least}" if at_most is None else f"from {at_least} to {at_most}"
        raise InvalidParameterError(f"{name} must be a whole number {bounds}, got {value!r}")


def check_even_features(n_features: object) -> None:
    """Refuse a number of features that is not even and between 2 and `MAX_FEATURES`."""
    if (
        isinstance(n_features, bool)
        or not isinstance(n_features, int | np.integer)
        or not 2 <= n_features <= MAX_FEATURES
        or n_features % 2
    ):
        raise InvalidParameterError(
            f"n_features must be an even number between 2 and {MAX_FEATURES}, got {n_features!r}"
        )


def listed(names: Sequence[str], at_most: int = 12) -> str:
    """Return names for a message, the first few of many."""
    shown = ", ".join(repr(name) for name in names[:at_most])
    return shown if len(names) <= at_most else f"{shown} and {len(names) - at_most} more"


def check_installed(module: str, what_needs: str, extra: str) -> None:
    """Refuse, before anything is spent, what an absent module would stop later.

    Raises
    ------
    MissingExtraError
        Naming the extra that has the module.
    """
    if importlib.util.find_spec(module) is None:
        raise MissingExtraError(f"{what_needs} {module}: pip install 'dpsumm[{extra}]'")
