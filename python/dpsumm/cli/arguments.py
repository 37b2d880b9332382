"""Meaning of the command line's arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from pathlib import Path

from dpsumm.data.files import MISSING, FileFormat
from dpsumm.errors import InvalidParameterError
from dpsumm.summary.protocols import Auction, Greedy, Offers, Pool, Requests, Uniform
from dpsumm.summary.summarize import Protocol


class Name(str, Enum):
    """Protocols by their names on the command line."""

    OFFERS = "offers"
    AUCTION = "auction"
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


def file_format_of(
    names: str | None,
    separator: str,
    missing: Sequence[str] = (),
    drop_missing: bool = False,
) -> FileFormat:
    """Return how text files are read, from the options that say it."""
    return FileFormat(
        names=None if names is None else tuple(name.strip() for name in names.split(",")),
        missing=(*MISSING, *missing),
        separator=separator.replace("\\t", "\t"),
        drop_missing=drop_missing,
    )


def choose_protocol(
    name: Name,
    size: int,
    *,
    parsimony: float | None = None,
    spread: float | None = None,
    weight: float | None = None,
    features: int | None = None,
    requests: Requests | None = None,
    batch: int | None = None,
    epsilon_owners: float | None = None,
) -> Protocol:
    """Return the protocol; refuse options that it would ignore.

    Raises
    ------
    InvalidParameterError
        An option that the protocol does not have, or out of range.
    """
    given = {
        "parsimony": parsimony,
        "spread": spread,
        "weight": weight,
        "n_features": features,
        "requests": requests,
        "batch": batch,
        "epsilon_owners": epsilon_owners,
    }
    given = {key: value for key, value in given.items() if value is not None}
    published = name is Name.AUCTION and requests is Requests.PUBLISHED
    allowed = {
        Name.OFFERS: {"parsimony", "spread", "weight", "n_features"},
        Name.POOL: {"parsimony"},
        Name.AUCTION: {"requests"} if published else set(given) - {"parsimony", "spread", "weight"},
    }
    for key in set(given) - allowed.get(name, set()):
        option = {"n_features": "features"}.get(key, key).replace("_", "-")
        what = "the published parameters" if published else f"--protocol {name.value}"
        raise InvalidParameterError(f"--{option} means nothing with {what}")
    if published:
        return Auction.published(size)
    makers: dict[Name, Callable[..., Protocol]] = {
        Name.OFFERS: Offers,
        Name.AUCTION: Auction,
        Name.POOL: Pool,
        Name.UNIFORM: Uniform,
        Name.GREEDY: Greedy,
    }
    return makers[name](**given)
