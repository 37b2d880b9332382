"""The protocol that a configuration names, with the options it has."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module
from typing import Any

from dpsumm.errors import InvalidParameterError
from dpsumm.summary.protocols import Greedy, Offers, Pool, Protocol, Uniform
from dpsumm.summary.words import Name, Rule


def choose_protocol(name: Name, size: int, **options: Any) -> Protocol:
    """Return the protocol. Refuse options that it would ignore."""
    made = _class_of(name)
    given = {key: value for key, value in options.items() if value is not None}
    published = name is Name.AUCTION and given.get("requests") == Rule.PUBLISHED
    allowed = {"requests"} if published else {field.name for field in fields(made)}
    for key in [key for key in given if key not in allowed]:
        what = "the published parameters" if published else f"the protocol {name.value!r}"
        raise InvalidParameterError(f"{key} means nothing with {what}. Leave it out")
    chosen: Protocol = made.published(size) if published else made(**given)
    return chosen


def _class_of(name: Name) -> Any:
    if name is Name.AUCTION:
        # Found by name, because no product imports the papers.
        return import_module("dpsumm.papers").Auction
    return {
        Name.OFFERS: Offers,
        Name.POOL: Pool,
        Name.UNIFORM: Uniform,
        Name.GREEDY: Greedy,
    }[name]
