"""Offers. One noisy target goes out, each owner's choice comes back, the curator selects.

Claim
    The messages to an owner have the same law for all data of the other owners: (0, 0)-DP for
    records, groups, whole owners and coalitions. The target has the guarantee of its one release,
    and of the bandwidth if that is private.
Assumes
    Target, bandwidth, `reads_per_record`, spread, number of features, the set of owners and the
    time of the broadcast do not depend on any owner's records. The curator sends owners nothing
    afterwards.
Argument
    The broadcast is a function of the target, public numbers and fresh coins.
Numerics
    None between owners (no message depends on them). For the target
    :class:`dpsumm.summary.mechanisms.Gaussian`.
Tested by
    tests/summary/test_offers_transcript.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpsumm import kernels
from dpsumm.basics.checks import check_number, settle
from dpsumm.errors import InvalidParameterError
from dpsumm.exchange.messages import Request
from dpsumm.summary.mechanisms import Gaussian
from dpsumm.summary.protocols.curator import (
    CollectingCurator,
    Curator,
    Pooled,
    Setting,
    frequency_seed,
)
from dpsumm.summary.protocols.features import FeatureChoice, MapChoice
from dpsumm.summary.protocols.messages import OfferRequest
from dpsumm.summary.protocols.protocol import Protocol
from dpsumm.summary.release import Mechanism
from dpsumm.summary.stability import Stability

# Far above what is useful, and below what a message can hold.
MOST_READS = 1e6


@dataclass(frozen=True)
class Offers(Protocol):
    """The default protocol.

    Every owner sends ``ceil(reads_per_record * size / K)`` of its records, or all if it has fewer,
    which is a public number. It picks some of them by the greedy towards the released target, and
    draws the others at random. A record is drawn more often if it is more likely under the target
    than among the owner's records. With more noise in the release, it draws more evenly. Picked
    points alone would follow the noise and be alike at all owners. Drawn points alone would miss
    rare ones.

    Parameters
    ----------
    reads_per_record
        Points that the curator reads for each point of the summary, at least 1, rounded up for each
        owner. With more, the summary is closer to the target.
    spread
        Share of each owner's offers that are drawn, from 0 to 1.
    features
        Features in which the target is released. ``"landmarks"`` are
        `dpsumm.kernels.LandmarkFeatures` of points drawn from the schema, which needs bounds or
        categories for all columns. They need about two thirds of the noise of ``"random"``, which
        are `dpsumm.kernels.RandomFeatures`. ``"auto"`` takes landmarks if the schema allows them
        and they keep enough of a record, judged by public facts.
    n_features
        Number of features, by default 1024 landmarks or 2048 random ones. Random ones are even in
        number, and landmarks at most 8192. More features bring the release closer to the exact
        target. They cost no privacy, but owners need more time to score their records.
    sample : (L, number of `Schema.cells`)
        A **public** sample to take as landmarks, for images, embeddings and other data that no
        schema describes. It is in the kernel's space, so it has the values themselves if the schema
        has no bounds and categories. The first `n_features` rows count, at most 8192. Every owner
        receives it, so private records in it would leak.
    release
        Mechanism of the target's release.
    exact_selection
        Select from the pool with the exact target. If False, with its release only, for a curator
        that is not trusted with the target.

    See Also
    --------
    dpsumm.papers.Auction : Rounds of bids.
    dpsumm.Pool : Random points at epsilon 0.
    dpsumm.summary.Gaussian : The default release.
    dpsumm.papers.Mwem : Another release.

    Examples
    --------
    >>> import numpy as np, dpsumm
    >>> rng = np.random.default_rng(0)
    >>> owners = [rng.uniform(0, 1, (200, 2)) for _ in range(3)]
    >>> target = rng.uniform(0.4, 1, (300, 2))
    >>> protocol = dpsumm.Offers(reads_per_record=2)
    >>> summary = dpsumm.summarize(
    ...     owners, target, size=12, kernel=dpsumm.RBF(4), protocol=protocol
    ... )
    >>> len(summary), summary.accesses
    (12, 24)
    """

    reads_per_record: float = 4.0
    spread: float = 0.5
    features: FeatureChoice = "auto"
    n_features: int | None = None
    sample: ArrayLike | None = field(default=None, repr=False, compare=False)
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
        settle(self)
        # Here, not at the owners: by then the release has been charged.
        check_number(self.reads_per_record, "reads_per_record", 1, MOST_READS)
        check_number(self.spread, "spread", 0, 1)
        object.__setattr__(self, "sample", self.map_choice.sample)
        self.map_choice.check_release(self.release)

    @property
    def map_choice(self) -> MapChoice:
        """Return what decides the feature map."""
        sample: Any = self.sample
        return MapChoice(self.features, self.n_features, sample)

    def check_embedded(self) -> None:
        """Refuse landmarks, because under a secret map there is no public sample and no schema."""
        if self.map_choice.asks_for_landmarks:
            raise InvalidParameterError(
                "embedding: landmarks would be known records under the secret map. Use "
                'features="auto" or "random" without a sample'
            )

    def stability(self, setting: Setting) -> Stability:
        """Return no stability. See `Protocol.stability`."""
        return Stability(
            None,
            "under Offers an owner's points are chosen together, and the curator chooses among all "
            "offers, so one record may change every point of the summary",
        )

    def curator(self, setting: Setting) -> Curator:
        """Return the curator of a run."""
        return OffersCurator(self, setting)


class OffersCurator(CollectingCurator):
    """Broadcasts once, collects offers, selects."""

    def __init__(self, protocol: Offers, setting: Setting) -> None:
        super().__init__(setting)
        self._protocol = protocol
        self._share = math.ceil(protocol.reads_per_record * setting.size / len(self.names))
        protocol.map_choice.check_columns(setting.schema, setting.target.shape[1])

    def requests(self) -> dict[str, Request]:
        """Release the target once and broadcast it. See `CollectingCurator.requests`."""
        setting, release = self.setting, self._protocol.release
        feature_map = self._protocol.map_choice.recipe(
            setting.schema,
            self.kernel.gamma,
            setting.target.shape[1],
            frequency_seed(setting),
            release,
        )
        self._features = self.features(feature_map)
        self._target = self.release_target(release, feature_map)
        request = OfferRequest(
            feature_map=feature_map,
            target=replace(self._target, state=None),
            noise=self.target_noise(release, feature_map),
            count=self._share,
            spread=float(self._protocol.spread),
        )
        return dict.fromkeys(self.names, request)

    def _order(self, pool: Pooled) -> NDArray[np.int64]:
        if self._protocol.exact_selection:
            return super()._order(pool)
        attraction = self._features.scores(pool.scaled, self._target.mean)
        size = min(self.setting.size, len(pool.owner))
        return kernels.greedy(pool.scaled, attraction, self.kernel.gamma, size).rows

    def count(self, name: str) -> int:
        """Return the public number of offers. See `CollectingCurator.count`."""
        return min(self._share, self.setting.n_records[name])
