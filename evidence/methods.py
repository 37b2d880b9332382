"""The methods compared: names and protocols. To add one, add a line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import dpsumm
from evidence.invited import Choice, best_offers, most_used

MADE_UP = ("m", "K", "p")  # groups of scenarios, see scenarios.toml
SWEPT = ("mnist-K", "mnist-p", "invited")
EVERY = ("main", "share", *MADE_UP)
ORACLE = "draws from the target's own distribution"
GREEDY = "greedy on all data"


@dataclass(frozen=True)
class Method:
    """A protocol for a summary's size, with the target's budget.

    Attributes
    ----------
    protocol
        Size -> protocol; None for the oracle, which is none.
    epsilon
        The target's budget, at delta 1e-5.
    groups
        Groups of scenarios that it is run in.
    owners
        Chooses the owners that take part, with all data at hand: not private.
    """

    protocol: Callable[[int], object] | None
    epsilon: float = 1.0
    groups: tuple[str, ...] = ("main",)
    owners: Choice | None = None


def _offers(**parameters: float) -> Callable[[int], object]:
    return lambda _: dpsumm.Offers(**parameters)  # type: ignore[arg-type]


METHODS: dict[str, Method] = {
    GREEDY: Method(lambda _: dpsumm.Greedy(), groups=(*EVERY, *SWEPT)),
    ORACLE: Method(None),
    "uniform": Method(lambda _: dpsumm.Uniform(), groups=EVERY),
    "pool, 2": Method(lambda _: dpsumm.Pool(parsimony=2)),
    "pool, 4": Method(lambda _: dpsumm.Pool(parsimony=4), groups=(*EVERY, *SWEPT)),
    "pool, 8": Method(lambda _: dpsumm.Pool(parsimony=8), groups=EVERY),
    "Offers, 2": Method(_offers(parsimony=2), groups=EVERY),
    "Offers, 4": Method(_offers(parsimony=4), groups=(*EVERY, *SWEPT)),
    "Offers, 8": Method(_offers(parsimony=8), groups=EVERY),
    "Offers, 4, herded only": Method(_offers(parsimony=4, spread=0), groups=EVERY),
    "Offers, 4, drawn only": Method(_offers(parsimony=4, spread=1)),
    "Offers, 4, herded only, 512 features": Method(_offers(parsimony=4, spread=0, n_features=512)),
    "Auction, 10 rounds": Method(lambda _: dpsumm.Auction(), groups=(*EVERY, *SWEPT)),
    "Auction, as published": Method(dpsumm.Auction.published),
}
EPSILONS = (0.1, 0.3, 3.0, 10.0)
METHODS |= {
    f"Offers, 4, epsilon {epsilon:g}": Method(_offers(parsimony=4), epsilon, ("m", "epsilon"))
    for epsilon in EPSILONS
}
# Upper bounds: the choice is exact, so nothing of it is private.
INVITED: dict[str, Choice] = {
    "10 best": best_offers(10),
    "25 best": best_offers(25),
    "25 most used": most_used(25),
}
METHODS |= {
    f"Offers, 4, {name} owners only (not private)": Method(
        _offers(parsimony=4), groups=("invited",), owners=choice
    )
    for name, choice in INVITED.items()
}
SHORT = (GREEDY, ORACLE, "uniform", "pool, 4", "Offers, 4")
