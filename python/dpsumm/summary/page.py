"""A run as one self-contained HTML page: what was asked, what came out, what it cost."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpsumm.atomic import write_atomically
from dpsumm.report import figures, parts, spent
from dpsumm.report.numbers import counted, percent, round_up, small
from dpsumm.report.parts import Html, safe

if TYPE_CHECKING:
    from dpsumm.summary.result import Summary

MOST_OWNERS = 30
# Owners without a point are named if no more than so many are in all.
FEW_OWNERS = 6
MOST_COLUMNS = 16


def write_report(summary: Summary, path: str | os.PathLike[str]) -> Path:
    """Write a summary's report as one HTML file without outside references; return its path.

    For curator and consumer, not for owners: the figure of the points shows real records.

    Parameters
    ----------
    summary
        Result of a run.
    path
        Replaced as a whole if it exists; its directory must exist.

    Raises
    ------
    MissingExtraError
        matplotlib is not installed.
    InvalidParameterError
        The file cannot be written.
    """
    page = render(summary)
    return write_atomically(path, lambda temporary: _put(temporary, page))


def render(summary: Summary) -> str:
    """Return the page. Names of owners and columns are escaped.

    Raises
    ------
    MissingExtraError
        matplotlib is not installed.
    """
    used = counted(len(np.unique(summary.owner)), "owner", "owners")
    return parts.page(
        f"Summary of {len(summary):,} points",
        parts.opening(
            "Data summary, for the curator and the consumer. Not for owners: it shows their "
            "records.",
            f"{len(summary):,} points of {used} that look like the target",
            _lead(summary),
        ),
        parts.tiles(_tiles(summary)),
        *_notes(summary),
        *spent.sections(summary.privacy),
        parts.section("Where the points came from", *_owners(summary)),
        parts.section("How the summary lies in the target", _overlay(summary)),
        parts.section("Value by value", _columns(summary)),
        parts.section("Distance to the target as the summary grows", _curve(summary)),
        parts.section("The run", parts.facts(_details(summary))),
    )


def _lead(summary: Summary) -> Html:
    asked = f"{counted(summary.size_requested, 'point', 'points')} were asked for"
    got = "" if len(summary) == summary.size_requested else f"; {len(summary):,} came out"
    records = counted(sum(summary.n_records), "record", "records")
    return Html(
        f"{asked}{got}, out of {records} of {counted(len(summary.names), 'owner', 'owners')}, to "
        f"match {counted(len(summary.target), 'target record', 'target records')}. Protocol: "
        f"<strong>{safe(summary.protocol)}</strong>."
    )


def _tiles(summary: Summary) -> list[tuple[str, str]]:
    privacy = summary.privacy
    return [
        (f"{summary.mmd2:.3g}", "MMD² to the target (0 is a perfect match)"),
        (f"{len(summary):,}", f"points, {summary.size_requested:,} asked for"),
        (f"{summary.accesses:,}", f"points read, {summary.parsimony:.3g} per point kept"),
        (round_up(privacy.epsilon()), f"epsilon of the target at delta {small(privacy.delta)}"),
        (round_up(privacy.epsilon(protected="owners")), "epsilon between owners"),
    ]


def _notes(summary: Summary) -> list[Html]:
    notes = [parts.note(text) for text in summary.warnings]
    if summary.privacy.seeded:
        call = "Seeded run: nothing is guaranteed."
        text = "The noise can be computed again from the seed. For tests and experiments only."
        notes.insert(0, parts.alarm(call, text))
    return notes


def _owners(summary: Summary) -> tuple[Html, Html]:
    counts = np.bincount(summary.owner, minlength=len(summary.names))
    order = np.argsort(-counts, kind="stable")
    named = min(max(np.count_nonzero(counts), FEW_OWNERS), MOST_OWNERS)
    value = summary.attribution
    likeness = sum(value.values())
    # J of the summary is above 0 unless nothing fits; a share of nothing means nothing.
    worth = {name: gain / likeness if likeness > 0 else 0.0 for name, gain in value.items()}
    rows = []
    for i in order[:named]:
        # An owner that was left out has told of no records.
        share = counts[i] / max(summary.n_records[i], 1)
        valued = f"; worth {round(worth[summary.names[i]], 2) + 0.0:.0%}" if counts[i] else ""
        rows.append(
            parts.Bar(
                summary.names[i],
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
        "Points in the summary, most first, what part of the owner's records that is, and what "
        "they were worth: the sum of their gains in J, as a part of all; the first points picked "
        "gain most, and a gain can be below 0. For you alone, not for owners."
    )
    if np.count_nonzero(counts) > MOST_OWNERS:
        text += f" The {MOST_OWNERS} with most points are shown."
    return parts.intro(text), parts.bars(rows, counts.max())


def _overlay(summary: Summary) -> Html:
    return parts.figure(
        figures.overlay(summary.target, summary.scaled, summary.pool),
        f"Cloud of {len(summary.target):,} target points with the {len(summary):,} points of "
        "the summary and the pool they were chosen from.",
        _overlay_caption(summary),
    )


def _overlay_caption(summary: Summary) -> str:
    _, axes, share = figures.directions(summary.target)
    marks = "Blue dots: target; orange diamonds: summary; grey: all points the curator read."
    most = figures.MOST_SHOWN
    if max(len(summary.target), len(summary), len(summary.pool)) > most:
        marks += f" At most {most:,} of each are drawn."
    if len(axes) == 1:
        return (
            f"Share of points up to a value of {summary.schema.cells[0]}: target blue, summary "
            "orange, all points read grey."
        )
    if len(summary.schema.cells) == 2:
        across, up = summary.schema.cells
        return f"{marks} Across: {across}; up: {up}."
    return (
        f"{marks} Seen from the two directions in which the target varies most (principal "
        f"components; {share[0]:.0%} and {share[1]:.0%} of its variance), in the kernel's units."
    )


def _columns(summary: Summary) -> Html:
    picture, shown = figures.columns(summary.target, summary.scaled, summary.pool)
    panels = counted(len(shown), "panel", "panels")
    return parts.figure(
        picture,
        f"{panels} with cumulative shares of single coordinates.",
        _columns_caption(summary, shown),
    )


def _columns_caption(summary: Summary, shown: list[int]) -> str:
    names = _coordinates(summary)
    listed = ", ".join(f"{number} {names[j]}" for number, j in enumerate(shown, 1))
    text = (
        "Share of points up to a value, in the kernel's units: all points read grey, target blue, "
        "summary orange. Where orange follows blue, the summary is like the target."
    )
    if len(shown) < len(names):
        text += (
            f" These {len(shown)} of {len(names):,} are where the points read differ most from "
            "the target."
        )
    return f"{text} Panels: {listed}."


def _coordinates(summary: Summary) -> tuple[str, ...]:
    """Return names of the kernel's coordinates; with an `Embedding` they mean nothing."""
    width = summary.scaled.shape[1]
    cells = summary.schema.cells
    return cells if len(cells) == width else tuple(f"coordinate {j}" for j in range(width))


def _curve(summary: Summary) -> Html:
    return parts.figure(
        figures.growth(summary.curve),
        f"Line: MMD squared goes from {summary.curve[0]:.3g} with one point to "
        f"{summary.curve[-1]:.3g} with {len(summary):,}.",
        "MMD² (maximum mean discrepancy, squared) between the first points picked and the "
        "target; 0 would be the same distribution. Measured on the target given to the "
        f"curator, so a little lower than on fresh data.{_closest(summary)}",
    )


def _closest(summary: Summary) -> str:
    """Say so when fewer points would have been clearly closer: the owners had no more that fit."""
    best = int(np.argmin(summary.curve))
    if summary.curve[best] > 0.9 * summary.curve[-1]:
        return ""
    return (
        f" The first {counted(best + 1, 'point', 'points')} are closer ({summary.curve[best]:.3g}) "
        f"than all {len(summary):,}: what came after fits less well."
    )


def _details(summary: Summary) -> list[tuple[str, str]]:
    columns = ", ".join(summary.columns[:MOST_COLUMNS])
    hidden = len(summary.columns) - MOST_COLUMNS
    return [
        ("Protocol", summary.protocol),
        ("Kernel", f"Gaussian, exp(−γ‖x − y‖²) with γ = {summary.gamma:.6g}"),  # noqa: RUF001
        ("Columns", columns if hidden <= 0 else f"{columns} and {hidden:,} more"),
        ("Labels", "travelled along, not used" if summary.labels is not None else "none"),
        ("Time", f"{summary.seconds:.3g} s"),
    ]


def _put(path: Path, page: str) -> None:
    path.write_text(page, "utf-8")
