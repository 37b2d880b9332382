"""What public numbers say about a run of private updates, before any data are touched."""

from __future__ import annotations

from dataclasses import dataclass

from dpsumm.ensemble.terms import Terms
from dpsumm.ensemble.updates.recipe import Recipe
from dpsumm.report.notes import Note


@dataclass(frozen=True)
class UpdatesPlan:
    """Made by :func:`plan_updates`.

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
        """Of the recipe."""
        return self.recipe.epsilon

    @property
    def delta(self) -> float:
        """Of the recipe."""
        return self.recipe.delta

    @property
    def n_parties(self) -> int:
        """Registered ones."""
        return self.terms.n_parties

    @property
    def kept(self) -> tuple[float, float]:
        """Share of what a model without noise gains over the commonest class: from, to."""
        return 1 / (1 + 0.8 * self.ratio**2), 1 / (1 + 0.06 * self.ratio**2)

    @property
    def verdict(self) -> str:
        """What to expect, in a sentence."""
        low, high = self.kept
        return (
            f"Noise over signal is {self.ratio:.2g}: of what a model without noise gains over "
            f"always saying the commonest class, about {low:.0%} to {high:.0%} is left"
        )

    @property
    def notes(self) -> tuple[Note, ...]:
        """What to put right before anything is spent."""
        if self.delta * 10 * self.n_parties < 1 or not self.recipe.whole:
            return ()
        most = 1 / (10 * self.n_parties)
        text = f"delta {self.delta:g} is not far below 1 / {self.n_parties} parties: use at most"
        return (Note(f"{text} {most:.0e}"),)

    def __str__(self) -> str:
        return f"{self.verdict}."


def plan_updates(n_columns: int, terms: Terms, recipe: Recipe) -> UpdatesPlan:
    """Return the plan of a run on points of so many columns."""
    m = recipe.features(n_columns, terms)["dimensions"]
    return UpdatesPlan(terms, recipe, m, recipe.ratio(m, terms))
