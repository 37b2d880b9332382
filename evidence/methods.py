"""The methods compared: names and protocols. To add one, add a line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import dpsumm

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
    main
        In the page's main table; others are points of its curves.
    """

    protocol: Callable[[int], object] | None
    epsilon: float = 1.0
    main: bool = True


def _offers(**parameters: float) -> Callable[[int], object]:
    return lambda _: dpsumm.Offers(**parameters)  # type: ignore[arg-type]


METHODS: dict[str, Method] = {
    GREEDY: Method(lambda _: dpsumm.Greedy()),
    ORACLE: Method(None),
    "uniform": Method(lambda _: dpsumm.Uniform()),
    "pool, 2": Method(lambda _: dpsumm.Pool(parsimony=2)),
    "pool, 4": Method(lambda _: dpsumm.Pool(parsimony=4)),
    "pool, 8": Method(lambda _: dpsumm.Pool(parsimony=8), main=False),
    "Offers, 2": Method(_offers(parsimony=2)),
    "Offers, 4": Method(_offers(parsimony=4)),
    "Offers, 8": Method(_offers(parsimony=8), main=False),
    "Offers, 4, herded only": Method(_offers(parsimony=4, spread=0)),
    "Offers, 4, drawn only": Method(_offers(parsimony=4, spread=1)),
    "Offers, 4, herded only, 512 features": Method(_offers(parsimony=4, spread=0, n_features=512)),
    "Offers, 4, epsilon 0.3": Method(_offers(parsimony=4), 0.3, main=False),
    "Offers, 4, epsilon 3": Method(_offers(parsimony=4), 3.0, main=False),
    "Auction, 10 rounds": Method(lambda _: dpsumm.Auction()),
    "Auction, as published": Method(dpsumm.Auction.published),
}
SHORT = (GREEDY, ORACLE, "uniform", "pool, 4", "Offers, 4")
