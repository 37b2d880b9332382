"""Offers: one noisy target goes out, each owner's best candidates come back, the curator selects.

Claim
    What an owner receives has the same law whatever the other owners hold: (0, 0)-DP for records,
    groups, whole owners and coalitions. The target has the guarantee of its one release, and of the
    bandwidth if that is private.
Assumes
    Target, bandwidth, weight, number of features, floor, cap, the set of owners and the time of the
    broadcast do not depend on any owner's records; the curator sends owners nothing afterwards.
Argument
    The broadcast is a function of the target, public numbers and fresh coins.
Numerics
    None between owners (no message depends on them); for the target
    :class:`dpsumm.summary.mechanisms.Gaussian`.
Tested by
    tests/summary/test_offers_transcript.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dpsumm import kernels
from dpsumm.checks import check_even_features, check_number, check_whole
from dpsumm.errors import InvalidParameterError
from dpsumm.exchange.messages import Request
from dpsumm.summary.mechanisms import Gaussian
from dpsumm.summary.protocols.curator import (
    CollectingCurator,
    Curator,
    Pooled,
    Setting,
)
from dpsumm.summary.protocols.features import features_of
from dpsumm.summary.protocols.messages import OfferRequest
from dpsumm.summary.protocols.protocol import Protocol
from dpsumm.summary.release import Mechanism

# Far above what is useful, and below what a message can hold.
MOST_PARSIMONY, MOST_OFFERS = 1e6, 2**48


@dataclass(frozen=True)
class Offers(Protocol):
    """The default protocol.

    Parameters
    ----------
    parsimony
        Points accessed per summary point, at the most (and at least 1, rounded up for each owner).
        More accesses, a closer summary.
    spread
        Share of each owner's offers that are drawn at random among all points of the owner that the
        target has room for (herded with mass 1 / size); the others are herded with mass
        `weight` / size, the best first. Herded points alone fit the noise and are alike at all
        owners; drawn ones alone miss what is rare.
    weight
        Mass of a herded offer in units of 1 / size. By default ``K / parsimony / (1 - spread)``: an
        owner that can cover the whole target alone then offers as much as the parsimony allows it.
    n_features
        Random features of the release, even. More bring the released target closer to the exact
        one and cost no privacy, only the owners' time: their scoring grows with it.
    at_least
        Public floor of offers per owner; ``ceil(size / K)`` by default, so that the pool rarely
        falls short of the summary's size.
    at_most
        Public cap of offers per owner; ``ceil(parsimony * size / K)`` by default.
    release
        How the target's mean embedding leaves the curator.
    exact_selection
        Select from the pool with the exact target. False: with its release alone, for a curator
        that is not trusted with the target.
    """

    parsimony: float = 4.0
    spread: float = 1 / 3
    weight: float | None = None
    n_features: int = 2048
    at_least: int | None = None
    at_most: int | None = None
    release: Mechanism = field(default_factory=Gaussian)
    exact_selection: bool = True

    name = "Offers"
    streams = silos = True
    owners_argument = (
        "So for records, whole owners and coalitions of owners alike: an owner receives one "
        "broadcast, made from the target, public numbers and fresh noise, and nothing afterwards. "
        "It holds as long as the target, the parameters, the list of owners and the time of the "
        "broadcast were fixed without looking at any owner's records."
    )

    def __post_init__(self) -> None:
        check_number(self.parsimony, "parsimony", 1, MOST_PARSIMONY)
        check_number(self.spread, "spread", 0, 1)
        if self.weight is not None:
            check_number(self.weight, "weight", 1e-9, 1e9, "K / parsimony / (1 - spread)")
        check_even_features(self.n_features)
        # Here, not at the owners: by then the release has been charged.
        for name, least in (("at_least", 0), ("at_most", 1)):
            if getattr(self, name) is not None:
                check_whole(getattr(self, name), name, least)
                check_number(getattr(self, name), name, least, MOST_OFFERS)
        if self.at_most is not None and (self.at_least or 0) > self.at_most:
            raise InvalidParameterError(
                f"at_least ({self.at_least}) must not be above at_most ({self.at_most})"
            )

    def curator(self, setting: Setting) -> Curator:
        """Return the curator of a run."""
        return OffersCurator(self, setting)


class OffersCurator(CollectingCurator):
    """Broadcasts once, collects offers, selects."""

    def __init__(self, protocol: Offers, setting: Setting) -> None:
        super().__init__(setting)
        self._protocol = protocol
        n_owners = len(self.names)
        herded = max(1 - protocol.spread, 1 / setting.size)
        usual = n_owners / protocol.parsimony / herded
        self._weight = usual if protocol.weight is None else protocol.weight
        share = math.ceil(setting.size / n_owners)
        at_most = (
            math.ceil(protocol.parsimony * setting.size / n_owners)
            if protocol.at_most is None
            else protocol.at_most
        )
        self._at_least = min(share, at_most) if protocol.at_least is None else protocol.at_least
        self._at_most = max(at_most, self._at_least)

    def requests(self) -> dict[str, Request]:
        """Release the target once and broadcast it; see `CollectingCurator.requests`."""
        size = self.setting.size
        feature_map = self.feature_map(self._protocol.n_features)
        self._features = features_of(feature_map)
        self._target = self.release_target(self._protocol.release, feature_map)
        request = OfferRequest(
            feature_map=feature_map,
            target=replace(self._target, state=None),
            mass=float(self._weight) / size,
            fine_mass=1.0 / size,
            spread=float(self._protocol.spread),
            at_least=int(self._at_least),
            at_most=int(self._at_most),
        )
        return dict.fromkeys(self.names, request)

    def _order(self, pool: Pooled) -> NDArray[np.int64]:
        if self._protocol.exact_selection:
            return super()._order(pool)
        attraction = self._features.scores(pool.scaled, self._target.mean)
        size = min(self.setting.size, len(pool.owner))
        return kernels.greedy(pool.scaled, attraction, self.kernel.gamma, size).rows

    def bounds(self, name: str) -> tuple[int, int]:
        """Return floor and cap, up to what the owner has; see `CollectingCurator.bounds`."""
        available = self.setting.n_records[name]
        return min(self._at_least, available), min(self._at_most, available)
