"""The cost of a run of private updates, in sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpsumm.ensemble.guarantees import LearningPrivacy
from dpsumm.privacy.events import Protected, Unit
from dpsumm.privacy.facts import rounded_up
from dpsumm.privacy.guarantees import PrivacyReport

ARGUMENT = (
    "It holds for every set of points and every model that a round starts from, as long as points, "
    "classes, rounds and the list of parties were fixed before the first round. Whether a party "
    "came, in any round, is covered. What is made of the noisy sums is post-processing and costs "
    "nothing."
)


@dataclass(frozen=True)
class UpdatesPrivacy(LearningPrivacy):
    """The charges of all rounds and the guarantees that follow from them."""

    _seen: ClassVar[str] = "vectors"

    def epsilon(
        self,
        delta: float | None = None,
        *,
        protected: Protected | str = Protected.OWNERS,
        unit: Unit | str | None = None,
    ) -> float:
        """See `LearningPrivacy.epsilon`. What protects a whole owner protects each record."""
        units = {c.unit for c in self.charges if c.protected is Protected(protected)}
        if units == {Unit.WHOLE_OWNER} and unit == Unit.REPLACE_RECORD:
            unit = Unit.WHOLE_OWNER
        return PrivacyReport.epsilon(self, delta, protected=protected, unit=unit)

    def _parties(self) -> str:
        if self.seeded or not self.charges:
            return (
                "The parties' records towards the consumer: epsilon is infinite, nothing is "
                "guaranteed (a seed was given)."
            )
        whole = self.charges[0].unit is Unit.WHOLE_OWNER
        who = "all records of a party" if whole else "one record of a party, sizes public"
        return (
            "The parties' records towards the consumer, and whoever sees the noisy sums of the "
            f"{len(self.charges)} rounds, the model or its predictions: "
            f"({rounded_up(self.epsilon())}, {self.delta:g})-differential privacy for {who}. Unit "
            f"of the charge: {self.charges[0].unit.value}."
        )
