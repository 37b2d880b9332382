"""What to expect of noisy votes before any data are touched, from public numbers alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dpsumm.basics.checks import plain
from dpsumm.ensemble.release import bound_of
from dpsumm.ensemble.terms import Terms
from dpsumm.privacy.accounting import gaussian_noise_multiplier
from dpsumm.privacy.events import Unit
from dpsumm.report.notes import Note, Severity
from dpsumm.report.plan import Plan
from dpsumm.report.verdict import Verdict

# Directions in which a student must tell signal from noise, and mean squared distance of a point's
# votes from the mean point's: guesses for two classes (a minority of a quarter) and for several
# balanced ones. Measured on Adult and MNIST the ratio below decides (docs/results-learn.md).
DIRECTIONS, SIGNAL = {True: 10, False: 20}, {True: 0.06, False: 0.5}
# Above the first hardly any votes are worth it. Up to the second most are. Below the third noise is
# small. Chosen on 178 made-up worlds of 10 to 200 parties.
HIDES, MAY_HIDE, LITTLE = 10.0, 1.0, 0.1
FEW_PARTIES, FEW_POINTS = 50, 1000
ASK = "About 200 labelled points of your own (validation) can say how often the model is right"
JUDGED = "to judge the model", "about 200 labelled points of your own (validation)"


@dataclass(frozen=True)
class LearningPlan(Plan):
    """What public numbers say about a run of `learn`. Made by :func:`dpsumm.plan_learning`.

    Attributes
    ----------
    n_parties, n_points, n_classes, models_per_owner, unit, epsilon, delta
        As given.
    noise_multiplier
        Noise / sensitivity of the release.
    vote_noise
        Standard deviation of the noise in a point's share of votes, from 0 to 1.
    ratio
        Noise over signal in the directions that a student uses, for any number of points. The
        signal is guessed from the number of classes.

    See Also
    --------
    dpsumm.ensemble.plans.plan_learning : Makes one. Its example runs.
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
    def title(self) -> str:
        """The run that is planned, in a line."""
        each = "" if self.models_per_owner == 1 else f" of {self.models_per_owner} models"
        return (
            f"Noisy votes of {self.n_parties} parties{each} on {self.n_points} points, "
            f"{self.n_classes} classes, unit: {self.unit.value}, epsilon {self.epsilon:g}, delta "
            f"{self.delta:g}"
        )

    @property
    def verdict(self) -> Verdict:
        """Whether a student can learn from the votes in spite of the noise."""
        if self.ratio > HIDES:
            return Verdict("the noise hides what the votes say", severity=Severity.ALARM)
        if self.ratio > MAY_HIDE:
            head = "the noise may hide what the votes say"
            return Verdict(head, severity=Severity.WARNING)
        if self.ratio > LITTLE:
            why = "use all public points that you have"
            return Verdict("the noise can be felt", why, Severity.WARNING)
        return Verdict("the noise is small compared with usual votes")

    @property
    def _budget(self) -> tuple[float, float, int]:
        return self.epsilon, self.delta, self.n_parties

    def _rows(self) -> list[tuple[str, str]]:
        small = f"from {MAY_HIDE:g} it may hide the votes, below {LITTLE:g} it is small"
        return [
            ("noise in a share of votes", f"{self.vote_noise:.4f} (shares lie in [0, 1])"),
            ("noise over signal", f"{self.ratio:.3f} ({small})"),
            JUDGED,
        ]

    def _advice(self) -> Iterable[Note]:
        if self.ratio > MAY_HIDE:
            text = f"Noise over signal is {self.ratio:.2g}, above {MAY_HIDE:g}. {way_out(self)}."
            yield Note(text, Severity.ALARM if self.ratio > HIDES else Severity.WARNING)
        elif self.unit is Unit.WHOLE_OWNER and self.n_parties < FEW_PARTIES:
            yield Note(
                f"{self.n_parties} parties are few to protect all records of one (usual: from "
                f"{FEW_PARTIES}). {way_out(self)}."
            )
        yield from few_points(self.n_points)


def few_points(n_points: int) -> Iterable[Note]:
    """Give the note on public points that are few."""
    if n_points < FEW_POINTS:
        yield Note(
            f"{n_points} public points are few (usual: thousands, unlabelled). Give more, which "
            "adds no noise to what is learnt."
        )


def way_out(plan: LearningPlan) -> str:
    """Return what to do if there is too much noise, as a sentence without its end."""
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
