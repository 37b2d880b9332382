"""A run as one self-contained HTML page: what was asked, what came out, what it cost."""

from __future__ import annotations

import html
import math
import os
from datetime import datetime, timezone
from importlib import resources
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

import numpy as np

from dpsumm.atomic import write_atomically
from dpsumm.privacy import accounting
from dpsumm.privacy.events import Charge, NonPrivate, Protected
from dpsumm.report import figures

if TYPE_CHECKING:
    from dpsumm.summary.result import Summary

MOST_OWNERS = 30
# Owners without a point are named if no more than so many are in all.
FEW_OWNERS = 6
MOST_COLUMNS = 16
MECHANISMS = {
    "Gaussian": "Gaussian noise",
    "Laplace": "Laplace noise",
    "BoundedRange": "exponential mechanism",
    "Pure": "pure differential privacy",
    "Approximate": "approximate differential privacy",
    "NonPrivate": "none",
}


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
    panels, shown = figures.columns(summary.target, summary.scaled, summary.pool)
    template = resources.files("dpsumm.report").joinpath("template.html").read_text("utf-8")
    n_owners = len(summary.names)
    used = len(np.unique(summary.owner))
    return Template(template).substitute(
        title=f"Summary of {len(summary):,} points",
        headline=f"{len(summary):,} points of {_count(used, 'owner')} that look like the target",
        lead=_lead(summary, n_owners),
        tiles=_tiles(summary),
        notes=_notes(summary),
        statements="\n".join(f"<li>{_safe(text)}</li>" for text in summary.privacy.statements()),
        spent_intro=(
            f"Epsilon (in nats) at delta = {_small(summary.privacy.delta)}, for one owner that "
            "sees all messages; smaller protects more, 0 tells nothing, ∞ guarantees nothing. A "
            "total comes from composing the messages and is not their sum."
        ),
        spent=_spent(summary),
        charges=_charges(summary),
        owners_intro=_owners_intro(summary),
        owners=_owners(summary),
        overlay=figures.overlay(summary.target, summary.scaled, summary.pool),
        overlay_alt=(
            f"Cloud of {len(summary.target):,} target points with the {len(summary):,} points of "
            "the summary and the pool they were chosen from."
        ),
        overlay_caption=_overlay_caption(summary),
        columns=panels,
        columns_alt=f"{_count(len(shown), 'panel')} with cumulative shares of single coordinates.",
        columns_caption=_columns_caption(summary, shown),
        curve=figures.growth(summary.curve),
        curve_alt=(
            f"Line: MMD squared goes from {summary.curve[0]:.3g} with one point to "
            f"{summary.curve[-1]:.3g} with {len(summary):,}."
        ),
        curve_caption=(
            "MMD² (maximum mean discrepancy, squared) between the first points picked and the "
            "target; 0 would be the same distribution. Measured on the target given to the "
            f"curator, so a little lower than on fresh data.{_closest(summary)}"
        ),
        details=_details(summary),
        footer=_footer(),
    )


def round_up(figure: float) -> str:
    """Return an epsilon for a reader: four significant digits, never rounded down."""
    if math.isinf(figure):
        return "∞"
    if figure == 0:
        return "0"
    step = 10.0 ** (math.floor(math.log10(figure)) - 3)
    # The accountant has already rounded up by a billionth: 1.0000000005 is still shown as 1.
    shown = math.ceil(figure / step - 1e-5) * step
    return f"{shown:,.0f}" if shown >= 1000 else f"{shown:.4g}"


def _lead(summary: Summary, n_owners: int) -> str:
    asked = f"{_count(summary.size_requested, 'point')} were asked for"
    got = "" if len(summary) == summary.size_requested else f"; {len(summary):,} came out"
    records = _count(sum(summary.n_records), "record")
    return (
        f"{asked}{got}, out of {records} of {_count(n_owners, 'owner')}, to match "
        f"{_count(len(summary.target), 'target record')}. Protocol: "
        f"<strong>{_safe(summary.protocol)}</strong>."
    )


def _tiles(summary: Summary) -> str:
    privacy = summary.privacy
    tiles = [
        (f"{summary.mmd2:.3g}", "MMD² to the target (0 is a perfect match)"),
        (f"{len(summary):,}", f"points, {summary.size_requested:,} asked for"),
        (f"{summary.accesses:,}", f"points read, {summary.parsimony:.3g} per point kept"),
        (round_up(privacy.epsilon()), f"epsilon of the target at delta {_small(privacy.delta)}"),
        (round_up(privacy.epsilon(protected="owners")), "epsilon between owners"),
    ]
    return "\n".join(
        f'<div class="tile"><b>{figure}</b><span>{text}</span></div>' for figure, text in tiles
    )


def _notes(summary: Summary) -> str:
    notes = [f'<div class="note"><p>{_safe(text)}</p></div>' for text in summary.warnings]
    if summary.privacy.seeded:
        notes.insert(
            0,
            '<div class="note alarm"><p><strong>Seeded run: nothing is guaranteed.</strong> The '
            "noise can be computed again from the seed. For tests and experiments only.</p></div>",
        )
    return "\n".join(notes)


def _spent(summary: Summary) -> str:
    privacy = summary.privacy
    rows = [
        (f"{charge.message}{'' if charge.count == 1 else f', {charge.count} times'}",
         accounting.compose([(charge.event, charge.count)], privacy.delta), charge.protected)
        for charge in privacy.charges
    ]  # fmt: skip
    rows += [
        ("Target, all messages", privacy.epsilon(), Protected.TARGET),
        ("Between owners, all messages", privacy.epsilon(protected="owners"), Protected.OWNERS),
    ]
    largest = max((epsilon for _, epsilon, _ in rows if math.isfinite(epsilon)), default=0.0)
    return "\n".join(
        _bar(
            name,
            1.0 if math.isinf(epsilon) else _share(epsilon, largest),
            f"ε = {round_up(epsilon)}",
            "",
            "endless" if math.isinf(epsilon) else protected.value,
        )
        for name, epsilon, protected in rows
    )


def _charges(summary: Summary) -> str:
    heads = ("Message", "Protects", "Seen by", "Mechanism", "Unit")
    rows = []
    for charge in summary.privacy.charges:
        cells = (
            charge.message,
            "the target's records" if charge.protected is Protected.TARGET else "owners' records",
            charge.observer.value,
            _mechanism(charge),
            charge.unit.value,
        )
        row = (
            f'<td data-label="{head}">{_safe(cell)}</td>'
            for head, cell in zip(heads, cells, strict=True)
        )
        rows.append(f"<tr>{''.join(row)}</tr>")
    if not rows:
        return "<p>No message to an owner depended on private data, so nothing was spent.</p>"
    head = "".join(f'<th scope="col">{text}</th>' for text in heads)
    body = "\n".join(rows)
    return f'<table class="stack"><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>'


def _mechanism(charge: Charge) -> str:
    event = charge.event
    name = MECHANISMS.get(type(event).__name__, type(event).__name__)
    if isinstance(event, NonPrivate):
        return f"{name}: {event.reason}"
    multiplier = getattr(event, "noise_multiplier", None)
    scale = "" if multiplier is None else f", {multiplier:.4g} times the sensitivity"
    return f"{name}{scale}"


def _owners_intro(summary: Summary) -> str:
    text = (
        "Points in the summary, most first, what part of the owner's records that is, and what "
        "they were worth: the sum of their gains in J, as a part of all; the first points picked "
        "gain most, and a gain can be below 0. For you alone, not for owners."
    )
    used = len(np.unique(summary.owner))
    return text if used <= MOST_OWNERS else f"{text} The {MOST_OWNERS} with most points are shown."


def _owners(summary: Summary) -> str:
    counts = np.bincount(summary.owner, minlength=len(summary.names))
    order = np.argsort(-counts, kind="stable")
    value = summary.attribution
    likeness = sum(value.values())
    # J of the summary is above 0 unless nothing fits; a share of nothing means nothing.
    worth = {name: gain / likeness if likeness > 0 else 0.0 for name, gain in value.items()}
    rows = []
    named = min(max(np.count_nonzero(counts), FEW_OWNERS), MOST_OWNERS)
    for i in order[:named]:
        # An owner that was left out has told of no records.
        share = counts[i] / max(summary.n_records[i], 1)
        rows.append(
            _bar(
                summary.names[i],
                _share(counts[i], counts.max()),
                f"{counts[i]:,} ({counts[i] / len(summary):.0%})",
                f"{_percent(share)} of its {summary.n_records[i]:,}"
                + (f"; worth {round(worth[summary.names[i]], 2) + 0.0:.0%}" if counts[i] else ""),
            )
        )
    rest = counts[order[named:]]
    if len(rest):
        total = int(rest.sum())
        rows.append(
            _bar(
                f"{_count(len(rest), 'other owner')}",
                _share(total, max(counts.max(), total)),
                f"{total:,} ({total / len(summary):.0%})",
                "together",
            )
        )
    return "\n".join(rows)


def _bar(name: str, share: float, said: str, small: str, kind: str = "") -> str:
    more = f"<small>{_safe(small)}</small>" if small else ""
    return (
        f'<div class="who">{_safe(name)}</div>'
        f'<div class="what {kind}" role="listitem"><div class="track">'
        f'<div class="bar" style="width:{100 * share:.2f}%"></div></div>'
        f'<div class="said">{_safe(said)}{more}</div></div>'
    )


def _overlay_caption(summary: Summary) -> str:
    _, axes, share = figures.directions(summary.target)
    marks = "Blue dots: target; orange diamonds: summary; grey: all points the curator read."
    most = figures.MOST_SHOWN
    if max(len(summary.target), len(summary), len(summary.pool)) > most:
        marks += f" At most {most:,} of each are drawn."
    if len(axes) == 1:
        return (
            f"Share of points up to a value of {_safe(summary.schema.cells[0])}: target blue, "
            "summary orange, all points read grey."
        )
    if len(summary.schema.cells) == 2:
        across, up = (_safe(name) for name in summary.schema.cells)
        return f"{marks} Across: {across}; up: {up}."
    return (
        f"{marks} Seen from the two directions in which the target varies most (principal "
        f"components; {share[0]:.0%} and {share[1]:.0%} of its variance), in the kernel's units."
    )


def _coordinates(summary: Summary) -> tuple[str, ...]:
    """Return names of the kernel's coordinates; with an `Embedding` they mean nothing."""
    width = summary.scaled.shape[1]
    cells = summary.schema.cells
    return cells if len(cells) == width else tuple(f"coordinate {j}" for j in range(width))


def _columns_caption(summary: Summary, shown: list[int]) -> str:
    names = _coordinates(summary)
    listed = ", ".join(f"{number} {_safe(names[j])}" for number, j in enumerate(shown, 1))
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


def _closest(summary: Summary) -> str:
    """Say so when fewer points would have been clearly closer: the owners had no more that fit."""
    best = int(np.argmin(summary.curve))
    if summary.curve[best] > 0.9 * summary.curve[-1]:
        return ""
    return (
        f" The first {_count(best + 1, 'point')} are closer ({summary.curve[best]:.3g}) than all "
        f"{len(summary):,}: what came after fits less well."
    )


def _details(summary: Summary) -> str:
    columns = ", ".join(summary.columns[:MOST_COLUMNS])
    hidden = len(summary.columns) - MOST_COLUMNS
    rows = [
        ("Protocol", summary.protocol),
        ("Kernel", f"Gaussian, exp(−γ‖x − y‖²) with γ = {summary.gamma:.6g}"),  # noqa: RUF001
        ("Columns", columns if hidden <= 0 else f"{columns} and {hidden:,} more"),
        ("Labels", "travelled along, not used" if summary.labels is not None else "none"),
        ("Time", f"{summary.seconds:.3g} s"),
    ]
    return "\n".join(
        f'<tr><th scope="row">{name}</th><td>{_safe(text)}</td></tr>' for name, text in rows
    )


def _footer() -> str:
    from dpsumm import __version__

    now = datetime.now(timezone.utc)
    return f"dpsumm {_safe(__version__)}, {now:%d %B %Y, %H:%M} UTC"


def _share(value: float, largest: float) -> float:
    return min(float(value) / float(largest), 1.0) if largest > 0 else 0.0


def _percent(share: float) -> str:
    return f"{share:.1%}" if 0 < share < 0.1 else f"{share:.0%}"


def _small(figure: float) -> str:
    return f"{figure:g}".replace("e-0", "e-")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _safe(text: str) -> str:
    return html.escape(text, quote=True)


def _put(path: Path, page: str) -> None:
    path.write_text(page, "utf-8")
