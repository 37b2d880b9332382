"""A run of private updates as one self-contained HTML page, for the consumer."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from dpsumm.basics.checks import counted
from dpsumm.ensemble.page import (
    MOST_COLUMNS,
    beside_labels,
    by_labels,
    predicted,
    promised,
    steps,
)
from dpsumm.report import parts, spent
from dpsumm.report.numbers import round_up
from dpsumm.report.parts import Html, safe
from dpsumm.report.screen import Flow, first_screen, flow

if TYPE_CHECKING:
    from dpsumm.ensemble.updates.model import UpdatesModel


def render(model: UpdatesModel) -> str:
    """Return a model's page, without outside references. Labels and names of columns are escaped.

    Everything in it is computed from the noisy sums, public facts and the consumer's own labels.
    """
    verdict = model.verdict
    return parts.page(
        "classifier from private updates",
        "Classifier from private updates, for the consumer.",
        f"{verdict.head[0].upper()}{verdict.head[1:]}",
        _lead(model, verdict.why),
        *first_screen(
            "Is the model any good?",
            [*by_labels(model), _foreseen(model)],
            _seen(model),
            steps(model),
            model.notes,
            seeded=model.privacy.seeded,
            used=model.privacy.used,
        ),
        parts.section("What it says of the public points", *predicted(model)),
        *spent.sections(
            model.privacy,
            [("Parties towards the consumer, all rounds", model.privacy.epsilon(), "owners")],
            whom="the consumer and whoever sees the sums, the model or its predictions",
        ),
        parts.appendix("Noise against signal", *_rounds(model)),
        parts.appendix("The run", parts.facts(_details(model))),
    )


def _lead(model: UpdatesModel, why: str) -> Html:
    terms, recipe = model.votes.terms, model.votes.recipe
    return safe(
        f"{why[:1].upper()}{why[1:]}." if why else "",
        f"In {recipe.rounds} rounds {terms.n_parties:,} registered parties were sent a model of "
        f"{terms.n_classes} classes. Each answered with one vector of limited length, and only the "
        "sum of all vectors, with noise, was released.",
    )


def _foreseen(model: UpdatesModel) -> Html:
    kept = model.plan.expected
    gain = "of what a model without noise gains over one label for all"
    if model.unlike:
        about = f"share {gain}. The plan's {kept} is for public points like the parties' records."
        return beside_labels(model, "Unknown", about)
    return beside_labels(model, kept, f"{gain}, foreseen from public numbers.")


def _seen(model: UpdatesModel) -> Iterator[Html]:
    recipe, sums = model.votes.recipe, model.votes
    rounds = recipe.rounds
    known = "declared" if recipe.whole else "in all"
    yield flow(
        Flow(
            (
                (
                    counted(sums.terms.n_parties, "party", "parties"),
                    f"{recipe.records:,} {known}",
                ),
                ("Curator", "sees vectors"),
                ("You", "have the model"),
            ),
            (
                f"{rounds} vectors each, of limited length",
                f"{rounds} noisy sums, ε\u00a0=\u00a0{round_up(model.privacy.epsilon())}",
            ),
            (f"the model so far, {rounds} times", f"{len(model.places):,} public points"),
        )
    )
    yield from promised(model, whole=recipe.whole, sent="vectors")


def _rounds(model: UpdatesModel) -> tuple[Html, Html]:
    """Return how long each round's sum is, next to noise alone."""
    lengths = np.linalg.norm(model.votes.sums.astype(float), axis=1)
    alone = model.votes.noise_std * math.sqrt(model.votes.sums.shape[1])
    text = (
        "Length of each round's released sum, as a multiple of what noise alone would give. Near 1 "
        "a round shows nothing by itself; the model uses all rounds together. Later rounds send "
        "what the model still misses, so as a rule they get shorter."
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
        ("Plan", model.plan.verdict.text),
    ]
