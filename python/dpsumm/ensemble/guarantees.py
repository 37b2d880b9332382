"""The cost of a run of `learn`, and its guarantees in sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpsumm.ensemble.release import classifiers_of
from dpsumm.ensemble.terms import Terms
from dpsumm.privacy import accounting
from dpsumm.privacy.events import Gaussian, Protected, Unit
from dpsumm.privacy.facts import rounded_up
from dpsumm.privacy.guarantees import PrivacyReport


@dataclass(frozen=True)
class LearningPrivacy(PrivacyReport):
    """The charge of noisy votes and the guarantees that follow from it.

    Attributes
    ----------
    points_are
        Whose the points are: "public", or the "consumer"'s.
    """

    # What the curator sees of each party.
    _seen: ClassVar[str] = "votes"

    terms: Terms | None = None
    points_are: str = "public"
    validated: bool = False

    def epsilon(
        self,
        delta: float | None = None,
        *,
        protected: Protected | str = Protected.OWNERS,
        unit: Unit | str | None = None,
    ) -> float:
        """Return epsilon (nats) of all that the consumer received, at `delta`, rounded up.

        Parameters
        ----------
        delta
            In (0, 1). The run's own by default.
        protected
            ``"owners"``: the parties' records towards the consumer. ``"target"``: the public
            points towards the parties.
        unit
            "one whole owner" (all records of a party) or "replace one record". The run's own by
            default. With shards one release has a figure for each.

        Returns
        -------
        float
            0 if nothing that was sent depends on them, infinity if nothing is guaranteed.
        """
        mine = [c for c in self.charges if c.protected is Protected(protected)]
        if unit is None or self.terms is None or len(mine) != 1:
            return super().epsilon(delta, protected=protected, unit=unit)
        unit = Unit(unit)
        charge, delta = mine[0], self.delta if delta is None else delta
        own, other = (classifiers_of(u, self.terms) for u in (charge.unit, unit))
        if own == other or not isinstance(charge.event, Gaussian):
            return super().epsilon(delta, protected=protected)
        # Less by far more than the rounding error.
        multiplier = charge.event.noise_multiplier * own / other * (1 - 1e-12)
        return accounting.compose([(Gaussian(multiplier), 1)], delta)

    def statements(self) -> list[str]:
        """Return sentences for a privacy officer on the protection of each party from others."""
        return [
            self._parties(),
            self.owners_argument,
            self._points(),
            *([VALIDATED] if self.validated else []),
            "Not protected: anything of the parties towards the curator, who sees their "
            f"{self._seen}, or anyone who colludes with it; records that a party shares or sells "
            "otherwise, such as points of a summary. Timing and traffic sizes are not covered.",
        ]

    def _parties(self) -> str:
        units = [c.unit for c in self.charges if c.protected is Protected.OWNERS]
        assert self.terms is not None
        if self.seeded or not units:
            return (
                "The parties' records towards the consumer: epsilon is infinite, nothing is "
                "guaranteed (a seed was given)."
            )
        units += [unit for unit in (Unit.WHOLE_OWNER, Unit.REPLACE_RECORD) if unit not in units]
        shown = []
        for unit in units[: 2 if self.terms.shards > 1 else 1]:
            epsilon = rounded_up(self.epsilon(unit=unit))
            who = "all records of a party" if unit is Unit.WHOLE_OWNER else "one record of a party"
            shown.append(f"({epsilon}, {self.delta:g})-differential privacy for {who}")
        return (
            "The parties' records towards the consumer, and whoever sees the noisy votes, the "
            f"model or its predictions: {'; '.join(shown)}. Unit of the charge: {units[0].value}."
        )

    def _points(self) -> str:
        if self.points_are == "public":
            return "The points are public: parties see them, and the model may be shown."
        return (
            "The consumer's points towards the parties: epsilon = 0, delta = 0, parties "
            "receive nothing that depends on them. Towards whoever sees the model or its "
            "predictions they are not protected: keep both."
        )


VALIDATED = (
    "The consumer's labelled validation points are not protected: they chose the student without "
    "noise. Whoever sees the model, its predictions or its report may learn of them."
)
ARGUMENT = (
    "It holds for every set of points, as long as points, classes and the list of "
    "parties were fixed before the votes, and no party's classifier, scaling or parameters were "
    "fitted on another party's records. Whether a party came is covered. Choosing and fitting "
    "students is post-processing and costs nothing."
)
