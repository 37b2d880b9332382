"""A run as one self-contained HTML page, with its settings, its result and its cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from dpsumm.basics.checks import counted
from dpsumm.report import parts, spent
from dpsumm.report.numbers import percent
from dpsumm.report.parts import Html, safe
from dpsumm.report.screen import first_screen
from dpsumm.summary import pictures
from dpsumm.summary.answers import answer, seen, steps

if TYPE_CHECKING:
    from dpsumm.summary.result import Summary

MOST_OWNERS = 30
# Owners without a point are named if no more than so many are in all.
FEW_OWNERS = 6
MOST_COLUMNS = 16
MOST_LABELS = 12


def render(summary: Summary, image: tuple[int, int] | None = None) -> str:
    """Return a summary's page, without outside references. Names in it are escaped."""
    verdict = summary.verdict
    return parts.page(
        "data summary",
        f"Data summary, {_when(summary)}. For the curator and the consumer, not for owners: it "
        "shows their records.",
        f"{verdict.head[0].upper()}{verdict.head[1:]}",
        _lead(summary, verdict.why),
        *first_screen(
            "Does it look like your data?",
            answer(summary),
            seen(summary),
            steps(summary),
            summary.notes,
            seeded=summary.privacy.seeded,
            used=summary.privacy.used,
        ),
        *_content(summary, image),
    )


def _content(summary: Summary, image: tuple[int, int] | None) -> Iterator[Html]:
    yield pictures.by_column(summary) if image is None else pictures.gallery(summary, image)
    if summary.labels is not None:
        yield parts.section("Labels", *_labels(summary))
    yield parts.section("Where the points came from", *_owners(summary))
    yield from spent.sections(summary.privacy)
    yield parts.appendix("How the summary lies in the target", pictures.overlay(summary))
    yield parts.appendix("Distance to the target", *_closeness(summary), pictures.growth(summary))
    yield parts.appendix("The run", parts.facts(_details(summary)))


def _closeness(summary: Summary) -> tuple[Html, Html]:
    scale = summary.scale
    far = scale.to_distribution(summary.mmd2)
    rows = [
        ("The summary", summary.mmd2, "to the records given", ""),
        ("With the target's sampling error", far, "to compare", ""),
    ]
    if scale.random is not None:
        rows.append(("As many random points of those read", scale.random, "expected", "pool"))
    rows.append(("As many fresh target records", scale.fresh, "expected", "target"))
    text = (
        "Distance to the target (MMD², maximum mean discrepancy squared; 0 is the same "
        "distribution): shorter is closer. The summary was fitted to the "
        f"{counted(len(summary.target), 'target record', 'target records')} given, which are a "
        "sample themselves. Fresh records were fitted to nothing: compare them with the second bar."
    )
    bars = (
        parts.Bar(name, value, f"{value:.3g}", small_text, kind)
        for name, value, small_text, kind in rows
    )
    return parts.intro(text), parts.bars(bars, max(value for _, value, _, _ in rows))


def _lead(summary: Summary, why: str) -> Html:
    used = counted(len(np.unique(summary.owner)), "owner", "owners")
    points = f"{counted(len(summary), 'record', 'records')} of {used}"
    asked = f"{counted(summary.size_requested, 'point', 'points')} were asked for"
    got = "" if len(summary) == summary.size_requested else f"; {len(summary):,} came out"
    records = counted(sum(summary.n_records), "record", "records")
    return safe(
        f"{points}: {why}." if why else f"{points}.",
        f"{asked}{got}, out of {records} of "
        f"{counted(len(summary.names), 'owner', 'owners')}, to match "
        f"{counted(len(summary.target), 'target record', 'target records')}. Protocol: "
        f"{summary.protocol}.",
    )


def _owners(summary: Summary) -> tuple[Html, Html]:
    counts = np.bincount(summary.owner, minlength=len(summary.names))
    order = np.argsort(-counts, kind="stable")
    named = min(max(np.count_nonzero(counts), FEW_OWNERS), MOST_OWNERS)
    value, error = summary.attribution, summary.attribution_error
    likeness = sum(value.values())
    rows = []
    for i in order[:named]:
        name = summary.names[i]
        # An owner that was left out has told of no records.
        share = counts[i] / max(summary.n_records[i], 1)
        # J of the summary is above 0 unless nothing fits; a share of nothing means nothing.
        valued = ""
        if counts[i] and likeness > 0:
            part = round(value[name] / likeness, 2) + 0.0
            # Nothing of it may go to another line.
            valued = f"; worth\u00a0{100 * part:.0f}\u00a0±\u00a0{error[name] / likeness:.0%}"
        rows.append(
            parts.Bar(
                name,
                counts[i],
                f"{counts[i]:,} ({counts[i] / len(summary):.0%})",
                f"{percent(share)} of its {summary.n_records[i]:,}{valued}",
            )
        )
    rest = counts[order[named:]]
    if len(rest):
        total = int(rest.sum())
        name = counted(len(rest), "other owner", "other owners")
        rows.append(parts.Bar(name, total, f"{total:,} ({total / len(summary):.0%})", "together"))
    text = (
        "Points in the summary, most first, and what part of the owner's records that is. Worth: "
        "what an owner's points add to the summary's likeness to the target, on average over all "
        "orders in which owners could join (Shapley value), as a part of all, with a standard "
        "error; owners that differ by less are equal. It can be below 0. For you alone, not for "
        "owners."
    )
    if np.count_nonzero(counts) > MOST_OWNERS:
        text += f" The {MOST_OWNERS} with most points are shown."
    return parts.intro(text), parts.bars(rows, counts.max())


def _details(summary: Summary) -> list[tuple[str, str]]:
    columns = ", ".join(summary.columns[:MOST_COLUMNS])
    hidden = len(summary.columns) - MOST_COLUMNS
    return [
        ("Protocol", summary.protocol),
        ("Kernel", f"Gaussian, exp(−γ‖x − y‖²) with γ = {summary.gamma:.6g}"),  # noqa: RUF001
        ("Columns", columns if hidden <= 0 else f"{columns} and {hidden:,} more"),
        ("Weights", _weights(summary)),
        ("MMD² for comparison", _scale(summary)),
        ("Run", summary.run or "without a name"),
        ("Finished", _when(summary)),
        ("Time", f"{summary.seconds:.3g} s"),
    ]


def _when(summary: Summary) -> str:
    return "unknown" if summary.finished is None else f"{summary.finished:%d %B %Y, %H:%M} UTC"


def _scale(summary: Summary) -> str:
    scale = summary.scale
    random = "" if scale.random is None else f"{scale.random:.3g} as many random points read, "
    return (
        f"{summary.mmd2:.3g} the summary, {scale.to_distribution(summary.mmd2):.3g} with the "
        f"target's sampling error; expected: {scale.fresh:.3g} as many fresh target "
        f"records, {random}{scale.pool:.3g} all points read, {scale.sampling:.3g} the target itself"
    )


def _labels(summary: Summary) -> tuple[Html, Html]:
    """Return the shares of labels, the most frequent ones of the points read first."""
    every = {
        "Points read": summary.pool.labels,
        "Summary": summary.labels,
        "Your target": summary.target_labels,
    }
    sets = {name: labels for name, labels in every.items() if labels is not None}
    shares = []
    for labels in sets.values():
        known = [str(label) for label in labels if label is not None]
        shares.append({name: n / len(known) for name, n in Counter(known).items()})
    first = sorted({name for each in shares for name in each}, key=lambda n: -shares[0].get(n, 0))
    rows = [
        (name, *(percent(each.get(name, 0.0)) for each in shares)) for name in first[:MOST_LABELS]
    ]
    text = "Shares of the owners' labels. They travelled with the points and chose none of them."
    if len(first) > MOST_LABELS:
        text += f" {MOST_LABELS} of {len(first)} labels are shown."
    if summary.target_labels is not None:
        text += " The target's own labels stayed with you."
    return parts.intro(text), parts.table(("Label", *sets), rows)


def _weights(summary: Summary) -> str:
    if not summary.has_weights:
        return "none"
    return f"worth {summary.effective_size:.0f} of {len(summary):,} points of equal weight"
