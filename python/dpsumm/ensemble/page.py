"""A run of `learn` as one self-contained HTML page, for the consumer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from dpsumm.basics.checks import counted
from dpsumm.ensemble.plan import MAY_HIDE
from dpsumm.ensemble.verdict import HIDDEN
from dpsumm.privacy.events import Unit
from dpsumm.report import figures, parts, spent
from dpsumm.report.numbers import percent, round_up
from dpsumm.report.parts import Bar, Html, safe, tag
from dpsumm.report.screen import Flow, big, first_screen, flow, odds

if TYPE_CHECKING:
    from dpsumm.ensemble.model import Model

MOST_CANDIDATES = 12
MOST_COLUMNS = 16
# Classes of which labels and predictions are shown as a table.
MOST_CLASSES = 6


def render(model: Model) -> str:
    """Return a model's page, without outside references. Labels and names of columns are escaped.

    Everything in it is computed from the noisy votes, public facts and the consumer's own labels:
    of the parties it tells no more than the model does.
    """
    verdict = model.verdict
    return parts.page(
        "classifier from votes",
        "Classifier from noisy votes, for the consumer."
        + ("" if model.privacy.points_are == "public" else " Not for parties."),
        f"{verdict.head[0].upper()}{verdict.head[1:]}",
        _lead(model, verdict.why),
        *first_screen(
            "Is the model any good?",
            [*by_labels(model), _strength(model)],
            _seen(model),
            steps(model),
            model.notes,
            seeded=model.privacy.seeded,
            used=model.privacy.used,
        ),
        parts.section("What it says of the public points", *predicted(model)),
        *spent.sections(
            model.privacy,
            [
                ("Parties towards the consumer, all messages", model.privacy.epsilon(), "owners"),
                (
                    "The points towards parties, all messages",
                    model.privacy.epsilon(protected="target"),
                    "target",
                ),
            ],
            whom="the consumer and whoever sees the votes, the model or its predictions",
        ),
        parts.appendix("Noise against signal", *_noise(model)),
        parts.appendix("Which candidate is used, and why", *_candidates(model)),
        parts.appendix("The run", parts.facts(_details(model))),
    )


def _lead(model: Model, why: str) -> Html:
    terms = model.votes.terms
    each = "" if terms.shards == 1 else f", {terms.shards} classifiers each"
    return safe(
        f"{why[:1].upper()}{why[1:]}." if why else "",
        f"{terms.n_parties:,} registered parties{each} voted for {terms.n_classes} classes on "
        f"{terms.n_points:,} {'public ' if model.privacy.points_are == 'public' else ''}points "
        "without labels; the sum of their votes was released with noise, once. Student:",
        tag("strong", model.student),
    )


def by_labels(model: Model) -> Iterator[Html]:
    """Yield how often the model is right on the consumer's labels, if there are any."""
    known, table = model.one_label, model.confusion
    # A share of labels beside a model that means nothing would speak for it.
    if model.accuracy is None or known is None or table is None or not model.verdict.good:
        return
    yield big(percent(model.accuracy), "of your own labelled points are right")
    always, share = known
    rows = [
        Bar("the model", model.accuracy, percent(model.accuracy)),
        Bar(f"always {always}", share, percent(share), kind="pool"),
    ]
    yield parts.bars(rows, 1.0)
    if len(table) <= MOST_CLASSES:
        names = [str(name) for name in model.classes_]
        yield tag("p", "Your labels, and what the model says of these points:")
        yield parts.table(
            ("Your label", *(f"says {name}" for name in names)),
            ((name, *(f"{n:,}" for n in row)) for name, row in zip(names, table, strict=True)),
        )


def _strength(model: Model) -> Html:
    strength = model.strength
    return beside_labels(
        model,
        "no signal" if strength.chance > HIDDEN else f"{strength.ratio:.2g}",
        f"noise over signal, seen in the votes. From {MAY_HIDE:g} it may hide the votes. Public "
        f"numbers foresaw {model.plan.ratio:.2g}.",
    )


def beside_labels(model: Model, value: str, what: str) -> Html:
    """Return a number that needs no labels. It is large unless a number from labels is above it."""
    return (
        big(value, what) if model.accuracy is None else tag("p", f"Without labels: {value} {what}")
    )


def _seen(model: Model) -> Iterator[Html]:
    terms, public = model.votes.terms, model.privacy.points_are == "public"
    points = counted(terms.n_points, "point", "points")
    yield flow(
        Flow(
            (
                (counted(terms.n_parties, "party", "parties"), "records stay there"),
                ("Curator", "sees the votes" if public else "sees classifiers"),
                ("You", "have the model"),
            ),
            (
                f"votes for {counted(terms.n_classes, 'class', 'classes')}"
                if public
                else "their classifiers, as numbers",
                f"noisy sums, ε\u00a0=\u00a0{round_up(model.privacy.epsilon())}",
            ),
            (points if public else "the classes", points),
        )
    )
    whole = model.votes.unit == Unit.WHOLE_OWNER
    yield from promised(model, whole=whole, sent="votes" if public else "classifiers")
    if not public:
        yield tag(
            "p",
            "Parties learn",
            tag("strong", "nothing"),
            "about your points. Keep the model and its predictions, which tell of them.",
        )


def promised(model: Model, *, whole: bool, sent: str) -> Iterator[Html]:
    """Yield the meaning of epsilon for one party or record, and the messages without protection."""
    what = "one party" if whole else "one record"
    yield from odds("Anyone", what, model.privacy.epsilon(), model.privacy.delta)
    yield tag("p", tag("strong", "Not protected:"), f"the parties' {sent}, from the curator.")


def steps(model: Model) -> Iterator[str]:
    """Yield what to do with a model."""
    if model.accuracy is None:
        yield (
            "Give some 200 labelled points of your own: `validation=(X, y)`. They stay with you, "
            "cost nothing, and tell how often the model is right."
        )
    yield "Predict with `model.predict(X)`, or with `model.predict_proba(X)` for probabilities."
    if model.privacy.points_are == "public":
        yield "Keep the model with `model.save(path)`."


def _noise(model: Model) -> tuple[Html, Html]:
    strength = model.strength
    text = (
        "The votes' squared shares along the directions in which the public points vary most. A "
        "bar that ends at the line has nothing but noise in it. Computed from the noisy votes, at "
        "no charge."
    )
    share = (
        "Together they are within chance of pure noise."
        if strength.chance > HIDDEN
        else f"Together they are {strength.signal / strength.error:.3g} standard errors above it."
    )
    return parts.intro(text), parts.figure(
        figures.spectrum(strength.energies, strength.noise),
        f"{len(strength.energies)} bars beside the level of the noise.",
        f"Blue: seen in the noisy votes; orange line: noise alone, expected. {share}",
    )


def _candidates(model: Model) -> tuple[Html, Html]:
    judged = sorted(
        model.candidates,
        key=lambda one: (
            -(one.accuracy if one.accuracy is not None else 0.0),
            -(one.sure if one.sure is not None else -np.inf),
        ),
    )
    used = next(one for one in judged if one.name == model.student)
    shown = [used, *(one for one in judged if one is not used)][:MOST_CANDIDATES]
    validated = used.accuracy is not None
    rows = [
        Bar(
            one.name + (" (in use)" if one is used else ""),
            one.accuracy or 0.0,
            "" if one.accuracy is None else percent(one.accuracy),
            "" if one.sure is None else f"Stein's estimate {one.sure:.4g}",
        )
        for one in shown
    ]
    if (always := model.one_label) is not None:
        rows.append(Bar(f"always {always[0]}", always[1], percent(always[1]), "no model"))
    text = (
        "Share of your own labelled points that each candidate has right. The best of several is "
        "flattered by it: labels that chose nothing would say a little less."
        if validated
        else "You gave no labels of your own, so Stein's estimate chose: how well a candidate fits "
        "the votes without their noise, not how often it is right. A few hundred labels tell that "
        "(validation), at no charge."
    )
    if len(judged) > len(shown):
        text += f" {len(shown)} of {len(judged)} are shown."
    if validated:
        return parts.intro(text), parts.bars(rows, 1.0)
    return parts.intro(text), parts.table(
        ("Candidate", "Stein's estimate"),
        ((row.name, "none" if one.sure is None else f"{one.sure:.4g}")
         for row, one in zip(rows, shown, strict=False)),
    )  # fmt: skip


def predicted(model: Model) -> tuple[Html, Html]:
    """Return how many public points each class is predicted for."""
    counts = np.bincount(model.places, minlength=len(model.classes_))
    total = int(counts.sum())
    order = np.argsort(-counts, kind="stable")[:MOST_CANDIDATES]
    rows = [
        Bar(str(model.classes_[k]), counts[k], f"{counts[k]:,} ({percent(counts[k] / total)})")
        for k in order
    ]
    text = f"Points of each predicted class, of {counted(total, 'point', 'points')}."
    return parts.intro(text), parts.bars(rows, counts.max())


def _details(model: Model) -> list[tuple[str, str]]:
    terms, votes = model.votes.terms, model.votes
    columns = ", ".join(model.columns[:MOST_COLUMNS])
    hidden = len(model.columns) - MOST_COLUMNS
    return [
        ("Run", votes.run),
        ("Unit of the guarantee", str(votes.unit)),
        ("Votes of a classifier on a point", f"{terms.grid}"),
        ("Noise in a count", f"standard deviation {votes.noise_std:,.4g}"),
        ("Noise over sensitivity", f"{votes.noise_multiplier:.4g}"),
        ("Columns", columns if hidden <= 0 else f"{columns} and {hidden:,} more"),
        ("Plan", model.plan.verdict.text),
    ]
