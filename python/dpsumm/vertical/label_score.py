"""How well the label can be predicted on real records, by noisy tables alone.

Post-processing, without further cost. By its own shares the model looks too good, because noise in
the tables looks like signal. Models of two copies of the tables with independent noise (`halves`)
judge each other and look too bad, because both copies have twice the variance of noise. Real
records lie between the two, as a rule.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.data.kinds.kind import Kind
from dpsumm.vertical.grid import Drawn
from dpsumm.vertical.label_fit import fit_label, tables_with_label
from dpsumm.vertical.label_model import LabelModel
from dpsumm.vertical.layout import Released

Floats = NDArray[np.float64]

# Below these the label hardly depends on the other columns.
LITTLE = {"AUC": 0.6, "correlation": 0.2}
# The seed of the halves' noise: it touches no privacy.
_SEED = 0


@dataclass(frozen=True)
class LabelScore:
    """How well models of the rows predict the label on real records, as a range.

    It was made of noisy tables alone. In 270 of 287 useful runs on Adult and a made-up clinic,
    trees that were trained on the rows reached an AUC in the range or within 0.03 of it
    (docs/results-rows.md).

    Attributes
    ----------
    measure
        ``"AUC"`` for a category, of each class against the others and weighted by their shares.
        ``"correlation"`` with the prediction for a number or a date.
    low, high
        Ends of the range.

    See Also
    --------
    dpsumm.vertical.Synthetic : Has one if a label was named.

    Examples
    --------
    >>> from dpsumm.vertical import LabelScore
    >>> str(LabelScore("AUC", 0.81, 0.87))
    'AUC 0.81 to 0.87'
    """

    measure: str
    low: float
    high: float

    @property
    def hidden(self) -> bool:
        """Whether the noise leaves it open that almost nothing predicts the label."""
        return self.low < LITTLE[self.measure]

    @property
    def little(self) -> bool:
        """Whether almost nothing that was released predicts the label."""
        return self.high < LITTLE[self.measure]

    def __str__(self) -> str:
        """Return it as pages show it."""
        ends = [f"{end:.2f}" for end in (self.low, self.high)]
        return f"{self.measure} {' to '.join(dict.fromkeys(ends))}"


def score_label(
    released: Released, columns: Sequence[Drawn], levels: NDArray[np.uint32], model: LabelModel
) -> LabelScore:
    """Return how well the label can be predicted on records like drawn rows, (n, columns)."""
    shares = [model.shares(levels)]
    for half in halves(released, np.random.default_rng(_SEED)):
        fitted = fit_label(half, columns, levels, noisier=math.sqrt(2))
        assert fitted is not None  # as of the whole tables
        shares.append(fitted.shares(levels))
    whole, one, other = shares
    if model.columns[model.label].column.kind is Kind.CATEGORY:
        found = [auc(whole, whole), auc(one, other), auc(other, one)]
        return LabelScore("AUC", min(found), max(found))
    known, middles = model.middles
    whole, one, other = (each * known / (each @ known)[:, None] for each in shares)
    found = [correlation(*two, middles) for two in ((whole, whole), (one, other), (other, one))]
    return LabelScore("correlation", min(found), max(found))


def halves(released: Released, rng: np.random.Generator) -> tuple[Released, Released]:
    """Return two copies of the tables with independent noise, each of twice the variance.

    Of normal noise e of a table and noise z that is drawn as large, e + z and e - z are
    independent.
    """
    more: dict[tuple[int, int], Any] = dict(released.with_label)
    less = dict(more)
    for pair, std in tables_with_label(released):
        drawn = rng.normal(0.0, std, released.with_label[pair].shape)
        more[pair], less[pair] = more[pair] + drawn, less[pair] - drawn
    return replace(released, with_label=more), replace(released, with_label=less)


def auc(given: Floats, truth: Floats) -> float:
    """Return the AUC of shares of the classes, (n, K), where `truth` has the true shares."""
    total = 0.0
    for score, true in zip(given.T, truth.T, strict=True):
        has = true[np.argsort(score, kind="stable")]
        lacks = 1 - has
        below = np.cumsum(lacks) - lacks / 2
        pairs = max(float(has.sum() * lacks.sum()), 1e-12)
        total += float(has.mean()) * float(has @ below) / pairs
    return total


def correlation(given: Floats, truth: Floats, middles: Floats) -> float:
    """Return the correlation of a prediction with a number that has these shares of its codes."""
    predicted, expected = given @ middles, truth @ middles
    second = truth @ middles**2
    spread = math.sqrt(max(float(second.mean() - expected.mean() ** 2), 1e-12))
    moved = predicted - predicted.mean()
    return float((moved * expected).mean()) / max(float(moved.std()) * spread, 1e-12)
