"""What public numbers say about a run of private updates, before any data are touched."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dpsumm.ensemble.plan import JUDGED, few_points
from dpsumm.ensemble.terms import Terms
from dpsumm.ensemble.updates.recipe import Recipe
from dpsumm.report.notes import Note, Severity
from dpsumm.report.plan import Plan
from dpsumm.report.verdict import Verdict

# Of the share that is left of a model without noise: at worst all features are needed, at best as
# few as part the classes. `evidence.ensemble.worlds` says how many runs lie between.
_WORST, _BEST = 2.0, 0.05
# Below such a share at best there is little to expect, at worst the outcome is open.
_LITTLE = 0.5
# Below such a share at worst a note says what to change.
_HARDLY = 0.015


@dataclass(frozen=True)
class UpdatesPlan(Plan):
    """Made by :func:`dpsumm.plan_learning`.

    Attributes
    ----------
    features
        m, at most.
    ratio
        Noise over signal, were the whole budget one round.
    least_ratio
        The same, were the signal in K - 1 features, the fewest that part K classes.
    """

    terms: Terms
    recipe: Recipe
    features: int
    ratio: float
    least_ratio: float

    @property
    def epsilon(self) -> float:
        """Of all rounds together."""
        return self.recipe.epsilon

    @property
    def delta(self) -> float:
        """Of all rounds together."""
        return self.recipe.delta

    @property
    def n_parties(self) -> int:
        """Registered ones."""
        return self.terms.n_parties

    @property
    def kept(self) -> tuple[float, float]:
        """Share of the gain of a model without noise over the commonest class, from and to."""
        return 1 / (1 + _WORST * self.ratio**2), 1 / (1 + _BEST * self.least_ratio**2)

    @property
    def expected(self) -> str:
        """Both ends of `kept` in per cent, in words."""
        return " to ".join(dict.fromkeys(f"{end:.0%}" for end in self.kept))

    @property
    def title(self) -> str:
        """The run that is planned, in a line."""
        return (
            f"Private updates of {self.n_parties:,} parties, {self.terms.n_classes} classes, unit: "
            f"{self.recipe.unit}, epsilon {self.epsilon:g}, delta {self.delta:g}"
        )

    @property
    def verdict(self) -> Verdict:
        """The remaining gain of a model without noise over the commonest class."""
        low, high = self.kept
        head = f"{self.expected} of the gain without noise is left"
        why = "the gain over always saying the commonest class"
        if high < _LITTLE:
            return Verdict(head, why, Severity.ALARM)
        return Verdict(head, why, Severity.WARNING if low < _LITTLE else Severity.INFO)

    @property
    def _budget(self) -> tuple[float, float, int]:
        return self.epsilon, self.delta, self.n_parties

    def _rows(self) -> list[tuple[str, str]]:
        return [
            ("records", f"{self.recipe.records:,} in all"),
            ("features", f"{self.features}, in {self.recipe.rounds} rounds"),
            ("noise over signal", f"{self.least_ratio:.3g} to {self.ratio:.3g}"),
            JUDGED,
        ]

    def _advice(self) -> Iterable[Note]:
        if self.kept[0] < _HARDLY:
            yield Note(
                f"Noise over signal is {self.least_ratio:.2g} to {self.ratio:.2g}. Expect "
                f"{self.expected} of the possible gain. {self.way_out}."
            )
        yield from few_points(self.terms.n_points)

    @property
    def way_out(self) -> str:
        """What to do if there is too much noise, as a sentence without its end."""
        out = "Take a larger epsilon or more parties"
        if not self.recipe.whole:
            return out
        return f"{out}, or protect single records: `unit='replace one record'`"


def plan_updates(n_columns: int, terms: Terms, recipe: Recipe) -> UpdatesPlan:
    """Return the plan of a run on points of so many columns."""
    m = recipe.features(n_columns, terms)["dimensions"]
    few = min(m, terms.n_classes - 1)
    return UpdatesPlan(terms, recipe, m, recipe.ratio(m, terms), recipe.ratio(few, terms))
