"""The protocol that a configuration names, with the options it has."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from dpsumm.errors import InvalidParameterError
from dpsumm.summary.protocols import Auction, Greedy, Offers, Pool, Protocol, Requests, Uniform
from dpsumm.summary.words import Name


def choose_protocol(name: Name, size: int, **options: Any) -> Protocol:
    """Return the protocol. Refuse options that it would ignore."""
    made: Any = {
        Name.OFFERS: Offers,
        Name.AUCTION: Auction,
        Name.POOL: Pool,
        Name.UNIFORM: Uniform,
        Name.GREEDY: Greedy,
    }[name]
    given = {key: value for key, value in options.items() if value is not None}
    published = made is Auction and given.get("requests") == Requests.PUBLISHED
    allowed = {"requests"} if published else {field.name for field in fields(made)}
    for key in [key for key in given if key not in allowed]:
        what = "the published parameters" if published else f"the protocol {name.value!r}"
        raise InvalidParameterError(f"{key} means nothing with {what}. Leave it out")
    return Auction.published(size) if published else made(**given)
