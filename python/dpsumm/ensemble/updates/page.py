"""A run of private updates as one self-contained HTML page, for the consumer."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpsumm.ensemble.page import MOST_COLUMNS, predicted
from dpsumm.report import parts, spent
from dpsumm.report.notes import around
from dpsumm.report.numbers import percent, round_up, small
from dpsumm.report.parts import Html, safe

if TYPE_CHECKING:
    from dpsumm.ensemble.updates.model import UpdatesModel


def render(model: UpdatesModel) -> str:
    """Return a model's page, without outside references; labels and names of columns are escaped.

    Everything in it is computed from the noisy sums, public facts and the consumer's own labels.
    """
    verdict = model.verdict
    return parts.page(
        "classifier from private updates",
        "Classifier from private updates, for the consumer.",
        f"{verdict.head[0].upper()}{verdict.head[1:]}",
        _lead(model, verdict.why),
        *around(parts.tiles(_tiles(model)), model.notes, seeded=model.privacy.seeded),
        *spent.sections(
            model.privacy,
            [("Parties towards the consumer, all rounds", model.privacy.epsilon(), "owners")],
            whom="the consumer and whoever sees the sums, the model or its predictions",
        ),
        parts.section("Noise against signal", *_rounds(model)),
        parts.section("What it says of the public points", *predicted(model)),
        parts.section("The run", parts.facts(_details(model))),
    )


def _lead(model: UpdatesModel, why: str) -> Html:
    terms, recipe = model.votes.terms, model.votes.recipe
    return safe(
        f"{why[:1].upper()}{why[1:]}." if why else "",
        f"In {recipe.rounds} rounds {terms.n_parties:,} registered parties were sent a model of "
        f"{terms.n_classes} classes. Each answered with one vector of limited length, and only the "
        "sum of all vectors, with noise, was released.",
    )


def _tiles(model: UpdatesModel) -> list[tuple[str, str]]:
    privacy, low_high = model.privacy, model.plan.kept
    unit = "all records of a party" if model.votes.recipe.whole else "one record"
    shown = [
        (round_up(privacy.epsilon()), f"epsilon for {unit} at delta {small(privacy.delta)}"),
        (f"{model.plan.ratio:.2g}", "noise over signal, foreseen from public numbers"),
        (
            f"{low_high[0]:.0%} to {low_high[1]:.0%}",
            "of what a model without noise gains over one label for all, foreseen",
        ),
    ]
    if model.accuracy is not None and model.verdict.good:
        shown.insert(0, (percent(model.accuracy), "of your own labels are met"))
    return shown


def _rounds(model: UpdatesModel) -> tuple[Html, Html]:
    """Return how long each round's sum is, beside noise alone."""
    lengths = np.linalg.norm(model.votes.sums.astype(float), axis=1)
    alone = model.votes.noise_std * math.sqrt(model.votes.sums.shape[1])
    text = (
        "Length of each round's released sum, as a multiple of what noise alone would give. Near 1 "
        "a round shows nothing by itself; the model uses all rounds together. Later rounds send "
        "what the model still misses, so they get shorter."
    )
    rows = ((f"{t + 1}", f"{length / alone:.3g}") for t, length in enumerate(lengths))
    return parts.intro(text), parts.table(("Round", "Length over noise alone"), rows)


def _details(model: UpdatesModel) -> list[tuple[str, str]]:
    sums, recipe = model.votes, model.votes.recipe
    columns = ", ".join(model.columns[:MOST_COLUMNS])
    hidden = len(model.columns) - MOST_COLUMNS
    return [
        ("Run", sums.run),
        ("Unit of the guarantee", recipe.unit),
        ("Rounds", f"{recipe.rounds}"),
        ("Features of a point", f"{model.n_features:,}"),
        ("Records, " + ("declared" if recipe.whole else "public"), f"{recipe.records:,}"),
        ("Noise over sensitivity, each round", f"{sums.noise_multiplier:.4g}"),
        ("Columns", columns if hidden <= 0 else f"{columns} and {hidden:,} more"),
        ("Plan", model.plan.verdict),
    ]
