"""Scores of whole runs as one owner sees them: every message of it, nothing else."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsumm.audit.samples import DELTA, Scores
from dpsumm.kernel import RBF
from dpsumm.privacy.accounting import compose
from dpsumm.privacy.events import Protected
from dpsumm.privacy.ledger import Ledger
from dpsumm.protocol.auction import Auction
from dpsumm.protocol.curator import Curator, Setting
from dpsumm.protocol.messages import BidRequest, FeatureMap, OfferRequest, Request, SendRequest
from dpsumm.protocol.offers import Offers
from dpsumm.protocol.owner import Owner
from dpsumm.protocol.requests import Requests
from dpsumm.release import LEVELS, Exact, Gaussian
from dpsumm.tables import read_inputs

_RUN = "audit"


def _setting(target: NDArray[np.float64], sizes: dict[str, int], size: int, book: Ledger) -> Setting:
    return Setting(
        target=target,
        columns=("x",),
        bounds=None,
        n_records=sizes,
        size=size,
        epsilon=1.0,
        delta=DELTA,
        kernel=RBF(0.5),
        labelled=False,
        ledger=book,
    )


def half_period(setting: Setting, make: Offers | Auction) -> float:
    """Return the distance that turns the run's features round; the frequency is public."""
    from dpsumm.protocol.curator import frequency_seed

    feature_map = FeatureMap(0.5, 1, make.n_features, frequency_seed(setting))
    return math.pi / float(feature_map.build().omega[0, 0])


@dataclass(frozen=True)
class OffersRun:
    """Offers at (1, DELTA) for the target: what an owner receives until nothing more comes.

    Attributes
    ----------
    curator
        Makes the curator; a broken twin replaces it.
    release
        Of the target.
    """

    curator: type | None = None
    release: Gaussian = Gaussian()  # noqa: RUF009 (frozen)
    far: float = 1.0

    def scores(self, world: int, trials: int) -> Scores:
        """Return the sum of all releases received, in the direction that tells the worlds apart."""
        protocol = Offers(n_features=2, release=self.release)
        scores = np.empty(trials)
        for i in range(trials):
            with Ledger(run=_RUN, delta=DELTA) as book:
                setting = _setting(np.zeros((3, 1)), {"a": 4, "b": 4}, 2, book)
                turn = half_period(setting, protocol) * self.far
                setting.target[0, 0] = turn * world
                made: Curator = (
                    protocol.curator(setting)
                    if self.curator is None
                    else self.curator(protocol, setting)
                )
                scores[i] = sum(_target(request) for request in _received(made))
        return scores

    def claimed(self, delta: float) -> float:
        """Return what the ledger reports for a run."""
        return compose(self.release.calibrated(1.0, DELTA).cost(_TARGET), delta)


from dpsumm.release import TARGET as _TARGET  # noqa: E402


def _received(curator: Curator) -> list[Request]:
    """Return what owner "a" receives if nobody ever answers: an owner cannot tell if others do."""
    requests = []
    for _ in range(3):
        sent = curator.send()
        if not sent:
            break
        requests.append(sent["a"])
    return requests


def _target(request: Request) -> float:
    assert isinstance(request, OfferRequest)
    return float(request.target.steps[0])
