"""What each observer learns of a record, and sentences about it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpsumm.errors import InvalidParameterError
from dpsumm.privacy import accounting
from dpsumm.privacy.events import Gaussian
from dpsumm.privacy.facts import rounded_up
from dpsumm.vertical.noise import NoisePlan
from dpsumm.vertical.way import Way

ANALYST = "analyst"


@dataclass(frozen=True)
class SynthesisPrivacy:
    """The guarantees of one run, for one replaced record.

    Attributes
    ----------
    owners
        Their names, in the plan's order.
    plan
        The noise of all tables that were released.
    delta
        The run's own: default of `epsilon`.
    seeded
        The noise came from a user's seed, so nothing is guaranteed.
    identified
        That the owners' records are the same was checked by identifiers.
    way
        How tables of two owners were made.

    See Also
    --------
    dpsumm.synthesize : Makes one with the records; its example runs.
    """

    owners: tuple[str, ...]
    plan: NoisePlan
    delta: float
    seeded: bool
    identified: bool
    way: Way = Way.PADS

    def epsilon(self, delta: float | None = None, *, observer: str = ANALYST) -> float:
        """Return epsilon (nats) of all that an observer sees, at `delta`, rounded up.

        Parameters
        ----------
        delta
            In (0, 1); the run's own by default.
        observer
            ``"analyst"``, who sees the released tables, the model and its rows, and so may
            everybody; or the name of an owner, who also knows its own columns and noise.

        Returns
        -------
        float
            Towards an owner: what it learns of the other owners' columns of a record.
        """
        if observer not in (ANALYST, *self.owners):
            known = ", ".join(map(repr, (ANALYST, *self.owners)))
            raise InvalidParameterError(f"observer must be one of {known}, got {observer!r}")
        if self.seeded:
            return math.inf
        mu = self.plan.mu(None if observer == ANALYST else self.owners.index(observer))
        delta = self.delta if delta is None else delta
        return accounting.compose([(Gaussian((1 - 1e-12) / mu), 1)], delta) if mu else 0.0

    @property
    def largest(self) -> float:
        """Epsilon of the observer who learns most, at the run's delta."""
        return max(self.epsilon(observer=who) for who in (ANALYST, *self.owners))

    @property
    def condition(self) -> str:
        """On what everything else rests, as a sentence."""
        return self.way.condition

    def statements(self) -> list[str]:
        """Return sentences for a privacy officer."""
        if self.seeded:
            return ["Nothing is guaranteed: the noise came from a seed, and can be drawn again."]
        unit = "unit: replace one record, number of records public"
        told = [
            "Every record towards the analyst, and towards everybody who sees the synthetic rows, "
            f"the model or the released tables: {self._figure(ANALYST)}-differential privacy; "
            f"{unit}."
        ]
        told += [
            f"Every record's columns at the other owners towards {name!r}, who also knows its own "
            f"columns and its own noise: {self._figure(name)}-differential privacy; {unit}."
            for name in self.owners
        ]
        told.append(self.condition)
        told.append(
            "Not protected: which records take part, which all owners know; owners that share "
            "their columns or their noise with each other learn as one owner of all their columns "
            "would; timing."
        )
        if not self.identified:
            told.append(
                "That the rows of all owners are the same records in the same order was trusted, "
                "not checked: no identifiers were given."
            )
        return told

    def _figure(self, observer: str) -> str:
        return f"({rounded_up(self.epsilon(observer=observer))}, {self.delta:g})"
