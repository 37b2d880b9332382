"""Checks of parameters that several protocols share, and parameters by name."""

from __future__ import annotations

import importlib.util
import inspect
import math
from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dpsumm.errors import InvalidParameterError, MissingExtraError, NotFittedError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# The core's limit for exact sums on the grid.
MAX_FEATURES = 2**18
# The core's limit: their kernel matrix and its factors have the square of it.
MAX_LANDMARKS = 2**13


def plain(value: Any) -> Any:
    """Return a scalar of NumPy or pandas as Python's own, and anything else as it is."""
    if type(value) in (str, int, float, bool, type(None)):
        return value
    import numpy as np

    if isinstance(value, np.datetime64):
        return value if np.isnat(value) else value.astype("M8[us]").item()
    if isinstance(value, np.generic):
        return value.item()
    # A timestamp of pandas is a datetime, which compares with no date.
    return value.to_pydatetime() if hasattr(value, "to_pydatetime") else value


def settle(made: Any) -> None:
    """Turn the scalars of NumPy in a frozen dataclass into Python's own, for messages and files."""
    for field in fields(made):
        object.__setattr__(made, field.name, plain(getattr(made, field.name)))


def is_number(value: object) -> bool:
    """Return whether this is an int or a float, of Python or NumPy, and not a truth value."""
    if isinstance(value, int | float):
        return not isinstance(value, bool)
    import numpy as np

    return isinstance(value, np.integer | np.floating)


def is_whole(value: object) -> bool:
    """Return whether this is an int, of Python or NumPy, and not a truth value."""
    if isinstance(value, int):
        return not isinstance(value, bool)
    import numpy as np

    return isinstance(value, np.integer)


def largest(dtype: np.dtype[Any]) -> float:
    """Return the largest value of a point that is taken, because an angle could overflow beyond it.

    That would stop a run after a release. With gamma up to 1e30 nothing below does.
    """
    return 1e15 if dtype.name == "float32" else 1e100


def all_usable(values: NDArray[np.floating]) -> bool:
    """Return whether no value is NaN, infinite or beyond :func:`largest`."""
    limit = largest(values.dtype)
    return values.size == 0 or bool(values.min() >= -limit and values.max() <= limit)


def check_number(value: object, name: str, least: float, most: float, usual: str = "") -> None:
    """Refuse anything but a number in [least, most]."""
    if not is_number(value) or not least <= value <= most:  # type: ignore[operator]
        hint = f" (usual: {usual})" if usual else ""
        raise InvalidParameterError(
            f"{name} must be a number from {least:g} to {most:g}{hint}, got {value!r}"
        )


def check_whole(value: object, name: str, at_least: int, at_most: int | None = None) -> None:
    """Refuse anything but a whole number within bounds; True is not a number here."""
    top = math.inf if at_most is None else at_most
    if not is_whole(value) or not at_least <= value <= top:  # type: ignore[operator]
        bounds = f"of at least {at_least}" if at_most is None else f"from {at_least} to {at_most}"
        raise InvalidParameterError(f"{name} must be a whole number {bounds}, got {value!r}")


def check_even_features(n_features: object) -> None:
    """Refuse a number of features that is not even and between 2 and `MAX_FEATURES`."""
    if not is_whole(n_features) or n_features not in range(2, MAX_FEATURES + 1, 2):
        raise InvalidParameterError(
            f"n_features must be an even number between 2 and {MAX_FEATURES}, got {n_features!r}"
        )


def counted(number: int, one: str, many: str) -> str:
    """Return a number with its noun: ``counted(2, "owner", "owners")`` is "2 owners"."""
    return f"{number:,} {one if number == 1 else many}"


def listed(names: Sequence[str], at_most: int = 12) -> str:
    """Return names for a message, the first few of many."""
    shown = ", ".join(repr(name) for name in names[:at_most])
    return shown if len(names) <= at_most else f"{shown} and {len(names) - at_most} more"


def check_installed(module: str, what_needs: str, extra: str) -> None:
    """Refuse a run that an absent module would stop later, before anything is spent."""
    if importlib.util.find_spec(module) is None:
        raise MissingExtraError(f"{what_needs} {module}: pip install 'dpsumm[{extra}]'")


def scikit_learn_base() -> type:
    """Return scikit-learn's BaseEstimator where it is installed, else `object`."""
    try:
        from sklearn.base import BaseEstimator
    except ImportError:
        return object
    return BaseEstimator  # type: ignore[no-any-return]


class Parameters:
    """An object whose parameters can be had and set by name, as scikit-learn's code expects.

    They are those of its class's ``__init__``, kept under their names and checked when used.
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Returns
        -------
        dict
            As given, not copies.
        """
        own = {name: getattr(self, name) for name in self._names()}
        if not deep:
            return own
        inner = {
            f"{name}__{field.name}": getattr(value, field.name)
            for name, value in own.items()
            if is_dataclass(value) and not isinstance(value, type)
            for field in fields(value)
            if field.init
        }
        return own | inner

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters by name. Return the estimator.

        ``protocol__parsimony=8`` sets a parameter of a parameter, of a copy of it.
        """
        known = self._names()
        new: dict[str, Any] = {}
        inner: dict[str, dict[str, Any]] = {}
        for name, value in parameters.items():
            outer, nested, part = name.partition("__")
            if outer not in known:
                raise InvalidParameterError(
                    f"{type(self).__name__} has no parameter {name!r}. It has {', '.join(known)}"
                )
            if nested:
                inner.setdefault(outer, {})[part] = value
            else:
                new[name] = value
        for outer, parts in inner.items():
            whole = new.get(outer, getattr(self, outer))
            of = [f.name for f in fields(whole) if f.init] if is_dataclass(whole) else []
            for part in parts:
                if part not in of:
                    has = f"It has {', '.join(of)}" if of else "Set it as a whole first"
                    raise InvalidParameterError(f"{outer}: no parameter {outer}__{part}. {has}")
            new[outer] = replace(whole, **parts)
        for name, value in new.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self)).parameters
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params(deep=False).items()
            if value is not defaults[name].default and repr(value) != repr(defaults[name].default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    @classmethod
    def _names(cls) -> list[str]:
        return list(inspect.signature(cls).parameters)


class Estimator(Parameters):
    """An estimator, next to `scikit_learn_base` among the bases. Fitted once it has a `_result`.

    It is not below that itself, since every check of a number would load scikit-learn.
    """

    _result: ClassVar[str]

    def _check_fitted(self) -> None:
        if not hasattr(self, self._result):
            name = type(self).__name__
            raise NotFittedError(f"this {name} is not fitted yet. Call fit first")

    def __sklearn_is_fitted__(self) -> bool:
        """Tell ``sklearn.utils.validation.check_is_fitted``."""
        return hasattr(self, self._result)
