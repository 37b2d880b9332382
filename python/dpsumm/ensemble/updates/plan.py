"""What public numbers say about a run of private updates, before any data are touched."""

from __future__ import annotations

from dataclasses import dataclass

from dpsumm.ensemble.plan import ASK
from dpsumm.ensemble.terms import Terms
from dpsumm.ensemble.updates.recipe import Recipe
from dpsumm.privacy.weak import thin_budget, weak_budget
from dpsumm.report.notes import Note

# Of the share that is left of a model without noise: `evidence.ensemble.worlds` says how many runs
# lie between, of 4 to 1000 parties, 2 to 20 classes, 4 to 50 columns, both units, epsilon 0.3 to 3.
_LEAST, _MOST = 2.0, 0.03
# Below such a share at best there is little to expect.
_LITTLE = 0.5
FEW_POINTS = 1000


@dataclass(frozen=True)
class UpdatesPlan:
    """Made by :func:`dpsumm.plan_learning`.

    Attributes
    ----------
    features
        m, at most.
    ratio
        Noise over signal, were the whole budget one round.
    """

    terms: Terms
    recipe: Recipe
    features: int
    ratio: float

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
        """Share of what a model without noise gains over the commonest class: from, to."""
        return 1 / (1 + _LEAST * self.ratio**2), 1 / (1 + _MOST * self.ratio**2)

    @property
    def verdict(self) -> str:
        """What to expect, in a sentence."""
        low, high = self.kept
        return (
            "Of what a model without noise gains over always saying the commonest class, "
            f"{low:.0%} to {high:.0%} is left"
        )

    @property
    def notes(self) -> tuple[Note, ...]:
        """What to put right before anything is spent, with the way out. From public numbers."""
        notes = []
        if self.kept[1] < _LITTLE:
            notes.append(
                Note(
                    f"noise over signal is {self.ratio:.2g}: expect little, at most "
                    f"{self.kept[1]:.0%} of what a model without noise would gain. {self.way_out}"
                )
            )
        if self.terms.n_points < FEW_POINTS:
            notes.append(
                Note(
                    f"{self.terms.n_points} public points are few (usual: thousands, unlabelled): "
                    "give more, they add no noise to what is learnt"
                )
            )
        if self.recipe.whole and self.delta * 10 * self.n_parties >= 1:
            notes.append(
                Note(
                    f"delta {self.delta:g} is not far below 1 / {self.n_parties} parties: use at "
                    f"most {1 / (10 * self.n_parties):.0e}"
                )
            )
        return tuple(notes)

    @property
    def way_out(self) -> str:
        """What to do where the noise is too much, as a sentence without its end."""
        out = "Take a larger epsilon or more parties"
        if not self.recipe.whole:
            return out
        return f"{out}, or protect single records: `unit='replace one record'`"

    def __str__(self) -> str:
        lines = [
            f"Private updates of {self.n_parties:,} parties, {self.terms.n_classes} classes, unit: "
            f"{self.recipe.unit}, epsilon {self.epsilon:g}, delta {self.delta:g}",
            f"  records           {self.recipe.records:,} in all",
            f"  features          {self.features}, in {self.recipe.rounds} rounds",
            f"  noise over signal {self.ratio:.3g}",
            f"{self.verdict}.",
            f"{ASK}.",
        ]
        budget = self.epsilon, self.delta, self.n_parties
        weak = [*weak_budget(*budget), *thin_budget(*budget)]
        return "\n".join([*lines, *(f"Warning: {note}." for note in (*weak, *self.notes))])


def plan_updates(n_columns: int, terms: Terms, recipe: Recipe) -> UpdatesPlan:
    """Return the plan of a run on points of so many columns."""
    m = recipe.features(n_columns, terms)["dimensions"]
    return UpdatesPlan(terms, recipe, m, recipe.ratio(m, terms))
