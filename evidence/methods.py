"""The methods compared: names and protocols. To add one, add a line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import dpsumm
from evidence.baselines import (
    Baseline,
    dp_merf,
    everything,
    points_read,
    uniform_read,
    with_own,
)
from evidence.invited import Choice, best_offers, most_used

MADE_UP = ("m", "K", "p")  # groups of scenarios, see scenarios.toml
SWEPT = ("mnist-K", "mnist-p", "invited")
TABLES = ("tables", "few")
EVERY = ("main", "share", *MADE_UP, *TABLES)
ORACLE = "draws from the target's own distribution"
GREEDY = "greedy on all data"
ALL, SYNTHETIC = "all owners' data", "DP-MERF"
READ, UNIFORM_READ = "Offers, 4, all points read", "uniform, as many points read"
OWN, FIT = " and own labels", "Summary.fit, 4"


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
    baseline
        Makes other training data than a summary; there is no protocol then.
    weighted
        Whether its weights are measured, too.
    fit
        Whether `Summary.fit` trains, with as many labelled records of the target as the summary has
        points.
    """

    protocol: Callable[[int], object] | None
    epsilon: float = 1.0
    groups: tuple[str, ...] = ("main",)
    owners: Choice | None = None
    baseline: Baseline | None = None
    weighted: bool = False
    fit: bool = False


def _offers(**parameters: float) -> Callable[[int], object]:
    return lambda _: dpsumm.Offers(**parameters)  # type: ignore[arg-type]


METHODS: dict[str, Method] = {
    GREEDY: Method(lambda _: dpsumm.summary.Greedy(), groups=(*EVERY, *SWEPT), weighted=True),
    ORACLE: Method(None, groups=("main", "tables")),
    "uniform": Method(lambda _: dpsumm.summary.Uniform(), groups=EVERY),
    "pool, 2": Method(
        lambda _: dpsumm.Pool(reads_per_record=2), groups=("main", *TABLES), weighted=True
    ),
    "pool, 4": Method(
        lambda _: dpsumm.Pool(reads_per_record=4), groups=(*EVERY, *SWEPT), weighted=True
    ),
    "pool, 8": Method(lambda _: dpsumm.Pool(reads_per_record=8), groups=EVERY, weighted=True),
    "Offers, 2": Method(_offers(reads_per_record=2), groups=EVERY, weighted=True),
    "Offers, 4": Method(_offers(reads_per_record=4), groups=(*EVERY, *SWEPT), weighted=True),
    "Offers, 8": Method(_offers(reads_per_record=8), groups=EVERY, weighted=True),
    "Offers, 4, picked only": Method(_offers(reads_per_record=4, spread=0)),
    "Offers, 4, drawn only": Method(_offers(reads_per_record=4, spread=1)),
    "Auction, 10 rounds": Method(lambda _: dpsumm.papers.Auction(), groups=("main", *MADE_UP)),
    "Auction, as published": Method(dpsumm.papers.Auction.published),
    ALL: Method(None, groups=("tables",), baseline=everything),
    SYNTHETIC: Method(None, groups=("tables",), baseline=dp_merf),
    READ: Method(None, groups=("tables",), baseline=points_read),
    FIT: Method(_offers(reads_per_record=4), groups=("main", "tables"), fit=True),
    UNIFORM_READ: Method(None, groups=("tables",), baseline=uniform_read),
    UNIFORM_READ + OWN: Method(None, groups=("tables",), baseline=with_own(uniform_read)),
}
# Beside epsilon 1.
EPSILONS = (0.1, 0.3, 3.0, 10.0)
METHODS |= {
    f"Offers, 4, epsilon {epsilon:g}": Method(
        _offers(reads_per_record=4),
        epsilon,
        ("m", "epsilon", "tables") if epsilon in (0.3, 3.0) else ("m", "epsilon"),
        weighted=epsilon in (0.3, 3.0),
    )
    for epsilon in EPSILONS
}
# Hardly any noise: what is left is the price of two reads.
METHODS["Offers, 2, epsilon 100"] = Method(_offers(reads_per_record=2), 100.0, ("tables",))
# Upper bounds: the choice is exact, so nothing of it is private.
INVITED: dict[str, Choice] = {
    "10 best": best_offers(10),
    "25 best": best_offers(25),
    "25 most used": most_used(25),
}
METHODS |= {
    f"Offers, 4, {name} owners only (not private)": Method(
        _offers(reads_per_record=4), groups=("invited",), owners=choice
    )
    for name, choice in INVITED.items()
}
SHORT = (GREEDY, ORACLE, "uniform", "pool, 4", "Offers, 4")
