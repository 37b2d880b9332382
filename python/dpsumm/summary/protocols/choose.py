"""The protocol that a configuration names, with the options it has."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from dpsumm.errors import InvalidParameterError
from dpsumm.summary.protocols import Auction, Greedy, Offers, Pool, Protocol, Requests, Uniform


class Name(str, Enum):
    """Protocols by the names that they have on a command line and in a run's configuration."""

    OFFERS = "offers"
    AUCTION = "auction"
    POOL = "pool"
    UNIFORM = "uniform"
    GREEDY = "greedy"


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
        raise InvalidParameterError(f"--{option} means nothing with {what}; leave it out")
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
