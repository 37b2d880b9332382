"""Meaning of the command line's arguments."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from pathlib import Path

from dpsumm.errors import InvalidParameterError
from dpsumm.protocol import Greedy, Offers, Pool, Uniform
from dpsumm.summarize import Protocol


class Name(str, Enum):
    """Protocols by their names on the command line."""

    OFFERS = "offers"
    POOL = "pool"
    UNIFORM = "uniform"
    GREEDY = "greedy"


def parse_owners(given: Sequence[str]) -> dict[str, Path]:
    """Return name to file from ``NAME=FILE`` items.

    Raises
    ------
    InvalidParameterError
        An item has another form, or a name is given twice.
    """
    owners: dict[str, Path] = {}
    for item in given:
        name, equals, path = item.partition("=")
        if not (name and equals and path):
            raise InvalidParameterError(f"--owner: write NAME=FILE, got {item!r}")
        if name in owners:
            raise InvalidParameterError(f"--owner: {name!r} is given twice; give each a name")
        owners[name] = Path(path)
    return owners


def parse_columns(given: Sequence[str]) -> tuple[list[str], dict[str, tuple[float, float]]]:
    """Return the columns and their bounds from ``NAME`` and ``NAME=LOW:HIGH`` items.

    Raises
    ------
    InvalidParameterError
        An item has another form.
    """
    columns, bounds = [], {}
    for item in given:
        name, equals, pair = item.partition("=")
        if equals:
            low, _, high = pair.partition(":")
            try:
                bounds[name] = (float(low), float(high))
            except ValueError:
                raise InvalidParameterError(
                    f"--column: write NAME or NAME=LOW:HIGH with numbers, got {item!r}"
                ) from None
        if not name:
            raise InvalidParameterError(f"--column: the name is missing in {item!r}")
        columns.append(name)
    return columns, bounds


def choose_protocol(name: Name, weight: float | None, features: int | None) -> Protocol:
    """Return the protocol; refuse options that it would ignore.

    Raises
    ------
    InvalidParameterError
        `weight` or `features` for a protocol without offers, or out of range.
    """
    if name is Name.OFFERS:
        default = Offers()
        return Offers(
            weight=default.weight if weight is None else weight,
            n_features=default.n_features if features is None else features,
        )
    if weight is not None or features is not None:
        raise InvalidParameterError(f"--weight and --features mean nothing to {name.value}")
    others: dict[Name, Protocol] = {
        Name.POOL: Pool(),
        Name.UNIFORM: Uniform(),
        Name.GREEDY: Greedy(),
    }
    return others[name]
