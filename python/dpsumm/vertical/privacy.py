"""The guarantees of a run of rows, with sentences about them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpsumm.privacy import accounting
from dpsumm.privacy.events import Gaussian
from dpsumm.privacy.facts import rounded_up
from dpsumm.vertical.way import Way


@dataclass(frozen=True)
class SynthesisPrivacy:
    """The guarantees of one run, for one replaced record.

    Attributes
    ----------
    owners
        Their names, in the plan's order.
    noise_multiplier
        Of one Gaussian release that costs as much as all that a party sees.
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
    dpsumm.synthesize : Makes one with the records. Its example runs.
    """

    owners: tuple[str, ...]
    noise_multiplier: float
    delta: float
    seeded: bool
    identified: bool
    way: Way = Way.PADS

    def epsilon(self, delta: float | None = None) -> float:
        """Return epsilon (nats) of all that any one party sees, at `delta`, rounded up.

        It is that of the budget. The noise of two-way tables follows from counts that were released
        before, so a smaller figure of one run is no guarantee.

        Parameters
        ----------
        delta
            In (0, 1). The run's own by default.
        """
        if self.seeded:
            return math.inf
        delta = self.delta if delta is None else delta
        return accounting.compose([(Gaussian(self.noise_multiplier), 1)], delta)

    @property
    def condition(self) -> str:
        """On what everything else rests, as a sentence."""
        return self.way.condition

    def statements(self) -> list[str]:
        """Return sentences for a privacy officer."""
        if self.seeded:
            return ["Nothing is guaranteed: the noise came from a seed, and can be drawn again."]
        figure = f"({rounded_up(self.epsilon())}, {self.delta:g})"
        unit = "unit: replace one record, number of records public"
        if self.way.sums:
            return [
                "Every record towards everybody but its own owner, also towards the analyst and "
                f"the other owners: {figure}-differential privacy; {unit}.",
                self.condition,
                "Not protected: how many records each owner has; timing. A person with records at "
                "several owners, or several records at one, is protected for each of them alone.",
            ]
        told = [
            "Every record towards the analyst, and towards everybody who sees the synthetic rows, "
            f"the model or the released tables: {figure}-differential privacy; {unit}.",
            "Every record's columns at the other owners towards each of "
            f"{', '.join(map(repr, self.owners))}, who also knows its own columns and its own "
            f"noise: {figure}-differential privacy; {unit}.",
            self.condition,
            "Not protected: which records take part, which all owners know; owners that share "
            "their columns or their noise with each other learn as one owner of all their columns "
            "would; timing.",
        ]
        if not self.identified:
            told.append(
                "That the rows of all owners are the same records in the same order was trusted, "
                "not checked: no identifiers were given."
            )
        return told
