"""The public numbers of a run of private updates, and what follows from them before any round."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dpsumm.ensemble.terms import Terms
from dpsumm.exchange.fields import is_number, is_whole
from dpsumm.privacy.accounting import gaussian_noise_multiplier
from dpsumm.privacy.events import Unit

# Equal shares of the budget. More cost time; fewer, accuracy where noise is low.
ROUNDS = 8
# Of the labels' variance: what a model is expected to explain.
SIGNAL = 0.25
# Noise over signal up to which more features are taken.
RATIO = 0.5
# Records of a party, where nobody declares how many a party has on average.
RECORDS_PER_OWNER = 100
MOST_ROUNDS = 64
# Functions on the points' neighbour graph for two classes, which columns often part alone.
_TWO_CLASSES = 12


@dataclass(frozen=True)
class Recipe:
    """Unit, budget and number of rounds. Public.

    Attributes
    ----------
    unit
        What may change: "one whole owner", or "replace one record".
    epsilon, delta
        Of all rounds together.
    records
        Of all parties together. A record as the unit: their sizes, which are public. A whole
        owner: parties times a *declared* mean, never the true number. A wrong one costs accuracy
        alone.
    rounds
        How many.
    """

    unit: str
    epsilon: float
    delta: float
    records: int
    rounds: int = ROUNDS

    @property
    def whole(self) -> bool:
        """Whether all records of a party are the unit."""
        return self.unit == Unit.WHOLE_OWNER.value

    def senders(self, terms: Terms) -> int:
        """Return over how many vectors of bounded length the released sum is."""
        return terms.n_parties if self.whole else self.records

    def noise(self, terms: Terms) -> float:
        """Return the noise in a mean of vectors of length at most 1, were there one round."""
        return 2 * gaussian_noise_multiplier(self.epsilon, self.delta) / self.senders(terms)

    def sampling(self, terms: Terms) -> float:
        """Return the variance that chance among a sender's records leaves in one of its moments."""
        classes = 1 - 1 / terms.n_classes
        return classes * terms.n_parties / self.records if self.whole else classes

    def ratio(self, m: int, terms: Terms, labels: float = 1.0) -> float:
        """Return noise over signal with m features, were the whole budget one round.

        `labels` is the variance of the labels as a part of that of classes of even shares. What
        chance among the records adds for these is left out, as usual noise.
        """
        k = terms.n_classes
        signal = expected_signal(m, k)
        length = (signal if self.whole else 0.0) + (m + 1) * self.sampling(terms)
        noise = self.noise(terms) * math.sqrt(length * (k - 1) * (m + 1) / signal)
        chance = (1 - 1 / k) * (k - 1) * (m + 1) / signal / self.records
        return math.hypot(noise / labels, math.sqrt(chance * (1 / labels - 1)))

    def features(self, n_columns: int, terms: Terms, labels: float = 1.0) -> dict[str, int]:
        """Return the parameters of `students.whitened.whitened`, by the noise."""
        low = self.ratio(100, terms, labels) <= RATIO
        # Twice as many as classes, of which each may have several clusters.
        leading = 2 * terms.n_classes
        if terms.n_classes > 2:
            return {"dimensions": 100 if low else 50, "eigenvectors": 50, "leading": leading}
        graph = {"eigenvectors": _TWO_CLASSES, "leading": leading}
        if low:
            more = self.ratio(200, terms, labels) <= RATIO
            return {"dimensions": 200 if more else 100, "waves": 300, **graph}
        return {"dimensions": min(n_columns + _TWO_CLASSES, 50), **graph}


def expected_signal(m: int, classes: int) -> float:
    """Return the expected squared length of the moments of m features."""
    return SIGNAL * min(m, classes - 1) / classes


def is_recipe(value: Any) -> bool:
    """Return whether a value from a message can be a recipe."""
    return (
        isinstance(value, Recipe)
        and value.unit in (Unit.WHOLE_OWNER.value, Unit.REPLACE_RECORD.value)
        and type(value.unit) is str
        and is_number(value.epsilon)
        and is_number(value.delta)
        and value.delta < 1
        and is_whole(value.records)
        and value.records >= 1
        and is_whole(value.rounds, MOST_ROUNDS + 1)
        and value.rounds >= 1
    )
