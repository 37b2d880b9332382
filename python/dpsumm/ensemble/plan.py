"""What to expect of noisy votes before any data are touched, from public numbers alone."""

from __future__ import annotations

from dataclasses import dataclass

from dpsumm.basics.checks import plain
from dpsumm.ensemble.release import bound_of
from dpsumm.ensemble.terms import Terms
from dpsumm.privacy.accounting import gaussian_noise_multiplier
from dpsumm.privacy.events import Unit
from dpsumm.privacy.weak import thin_budget, weak_budget
from dpsumm.report.notes import Note, Severity

# Directions in which a student must tell signal from noise, and mean squared distance of a point's
# votes from the mean point's: guesses for two classes (a minority of a quarter) and for several
# balanced ones. Measured on Adult and MNIST the ratio below decides (docs/results-learn.md).
DIRECTIONS, SIGNAL = {True: 10, False: 20}, {True: 0.06, False: 0.5}
# Above the first nothing works; below the second noise is small.
NOTHING, LITTLE = 1.0, 0.1
FEW_PARTIES, FEW_POINTS = 50, 1000
ASK = "About 200 labelled points of your own (validation) can say how often the model is right"


@dataclass(frozen=True)
class LearningPlan:
    """What public numbers say about a run of `learn`; made by :func:`dpsumm.plan_learning`.

    Attributes
    ----------
    n_parties, n_points, n_classes, models_per_owner, unit, epsilon, delta
        As given.
    noise_multiplier
        Noise / sensitivity of the release.
    vote_noise
        Standard deviation of the noise in a point's share of votes, which lies in [0, 1].
    ratio
        Noise over signal in the directions that a student uses, whatever the number of points: the
        signal is guessed from the number of classes.

    See Also
    --------
    dpsumm.ensemble.plans.plan_learning : Makes one; its example runs.
    """

    n_parties: int
    n_points: int
    n_classes: int
    models_per_owner: int
    unit: Unit
    epsilon: float
    delta: float
    noise_multiplier: float
    vote_noise: float
    ratio: float

    @property
    def verdict(self) -> str:
        """Whether it is worth it, in a sentence."""
        if self.ratio > NOTHING:
            return "The noise is above the signal: the student would follow the noise"
        if self.ratio > LITTLE:
            return "Noisy votes work, and the noise can be felt: use all public points you have"
        return "The noise is small beside what votes usually say"

    @property
    def notes(self) -> tuple[Note, ...]:
        """What to put right before anything is spent, with the way out. From public numbers."""
        notes = []
        if self.ratio > NOTHING:
            text = f"noise over signal is {self.ratio:.2g}, above 1: expect little. {way_out(self)}"
            notes.append(Note(text, Severity.ALARM))
        elif self.unit is Unit.WHOLE_OWNER and self.n_parties < FEW_PARTIES:
            notes.append(
                Note(
                    f"{self.n_parties} parties are few to protect all records of one (usual: from "
                    f"{FEW_PARTIES}). {way_out(self)}"
                )
            )
        if self.n_points < FEW_POINTS:
            notes.append(
                Note(
                    f"{self.n_points} public points are few (usual: thousands, unlabelled): "
                    "give more, they add no noise to what is learnt"
                )
            )
        if self.delta * 10 * self.n_parties >= 1:
            notes.append(
                Note(
                    f"delta {self.delta:g} is not far below 1 / {self.n_parties} parties: use at "
                    f"most {1 / (10 * self.n_parties):.0e}"
                )
            )
        return tuple(notes)

    def __str__(self) -> str:
        each = "" if self.models_per_owner == 1 else f" of {self.models_per_owner} models"
        lines = [
            f"Noisy votes of {self.n_parties} parties{each} on {self.n_points} points, "
            f"{self.n_classes} classes, unit: {self.unit.value}, epsilon {self.epsilon:g}, delta "
            f"{self.delta:g}",
            f"  noise in a share of votes  {self.vote_noise:.4f} (shares lie in [0, 1])",
            f"  noise over signal          {self.ratio:.3f} (above 1 nothing is learnt, below "
            f"{LITTLE:g} it is small)",
            f"{self.verdict}.",
            f"{ASK}.",
        ]
        budget = self.epsilon, self.delta, self.n_parties
        weak = [*weak_budget(*budget), *thin_budget(*budget)]
        return "\n".join([*lines, *(f"Warning: {note}." for note in (*weak, *self.notes))])


def way_out(plan: LearningPlan) -> str:
    """Return what to do where the noise is too much, as a sentence without its end."""
    out = "Take `protocol='updates'`, a larger epsilon or more parties"
    if plan.unit is Unit.WHOLE_OWNER:
        return (
            f"{out}, or protect single records: `unit='replace one record'` with `models_per_owner`"
        )
    return f"{out}, or more models_per_owner"


def plan_of(terms: Terms, unit: Unit, epsilon: float, delta: float) -> LearningPlan:
    """Return the plan of a run whose terms are known."""
    epsilon, delta = plain(epsilon), plain(delta)
    multiplier = gaussian_noise_multiplier(epsilon, delta)
    two = terms.n_classes == 2
    votes = terms.n_parties * terms.total * (2 if two else 1)
    vote_noise = multiplier * bound_of(unit, terms).norm / votes
    degrees = 1 if two else terms.n_classes - 1
    ratio = DIRECTIONS[two] * degrees * vote_noise**2 / terms.n_points / SIGNAL[two]
    return LearningPlan(
        n_parties=terms.n_parties,
        n_points=terms.n_points,
        n_classes=terms.n_classes,
        models_per_owner=terms.shards,
        unit=unit,
        epsilon=epsilon,
        delta=delta,
        noise_multiplier=multiplier,
        vote_noise=vote_noise,
        ratio=ratio,
    )
