"""A run as one self-contained HTML page, from released numbers alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.checks import counted
from dpsumm.report import figures, parts
from dpsumm.report.numbers import percent, round_up
from dpsumm.report.panels import panels
from dpsumm.report.parts import Html, safe, tag
from dpsumm.report.screen import Flow, big, first_screen, flow, odds
from dpsumm.vertical.fidelity import PairFidelity, drawn_rows, fidelity_of
from dpsumm.vertical.layout import ALL_OWNERS
from dpsumm.vertical.margins import Grade, Margin, margins_of
from dpsumm.vertical.noise import NoisePlan
from dpsumm.vertical.notes import pairs_of, seen_across
from dpsumm.vertical.pictures import SETS, panels_of
from dpsumm.vertical.way import Way

if TYPE_CHECKING:
    from dpsumm.vertical.result import Synthetic

_TRUSTED = "only people whom all owners trust can reach this process"
_KEPT = {
    Way.TOGETHER: _TRUSTED,
    Way.SUMS_TOGETHER: _TRUSTED,
    Way.PADS: "the helper keeps the owners' keys to itself",
    Way.MPYC: "the helper works with none of the owners",
    Way.SUMS: "no owner shows anyone its records",
}
MOST_COLUMNS, MOST_PANELS = 30, 24
MOST_PAIRS = 12


def render(synthetic: Synthetic) -> str:
    """Return the page, without outside references. Names of owners and columns are escaped."""
    verdict = synthetic.verdict
    drawn = drawn_rows(synthetic.model, synthetic.label_model)
    margins = margins_of(synthetic.tables, synthetic.levels, drawn)
    found = fidelity_of(synthetic.tables, drawn)
    return parts.page(
        "synthetic rows",
        "Synthetic rows. This page shows only released figures, with noise. You "
        "may share it with anyone who may see the rows.",
        f"{verdict.head[0].upper()}{verdict.head[1:]}",
        _lead(synthetic, verdict.why),
        *first_screen(
            "What do the rows keep?",
            _kept(synthetic, margins),
            _seen(synthetic),
            _steps(synthetic),
            synthetic.notes,
            seeded=synthetic.privacy.seeded,
        ),
        parts.section(
            "Column by column, the most noise first", *_columns(synthetic, margins, drawn)
        ),
        parts.section("Two columns at a time", *_pairs(synthetic, found)),
        parts.appendix(
            "What is protected, against whom, on what condition, and what is not",
            parts.listed(synthetic.privacy.statements()),
        ),
        parts.appendix("The run", parts.facts(_details(synthetic))),
    )


def _lead(synthetic: Synthetic, why: str) -> Html:
    owners = counted(len(synthetic.privacy.owners), "owner", "owners")
    columns = counted(len(synthetic.columns), "column", "columns")
    records = counted(synthetic.n_records, "record", "records")
    held = (
        f"Noisy tables of {columns} and of pairs of columns were released. They count {records} of "
        f"{owners}."
        if synthetic.privacy.way.sums
        else f"{owners} hold {columns} of the same {records}. They released noisy tables of their "
        "columns and of pairs of columns, also of two owners."
    )
    return safe(
        f"{why[:1].upper()}{why[1:]}." if why else "",
        f"{held} The rows are drawn from a model of these tables.",
        tag("strong", "No row is a record."),
    )


def _kept(synthetic: Synthetic, margins: Sequence[Margin]) -> Iterator[Html]:
    seen, cross = seen_across(synthetic.tables)
    score = synthetic.label_score
    pairs = f"{pairs_of(synthetic.tables.plan)} stand out of the noise"
    if score is None:
        yield big(f"{seen} of {cross}", pairs)
    else:
        number = str(score).removeprefix(f"{score.measure} ")
        yield big(number, f"{score.measure} of the label that models of the rows should reach")
    grades = Counter(one.grade for one in margins)
    said = (
        counted(grades[one], "column is", "columns are") + f" {one}" for one in Grade if grades[one]
    )
    yield tag("p", f"By the noise in their means and shares, {', '.join(said)}.")
    if score is not None:
        yield tag("p", f"{seen} of {cross} {pairs}.")


def _seen(synthetic: Synthetic) -> Iterator[Html]:
    privacy = synthetic.privacy
    owners = (
        counted(len(privacy.owners), "owner", "owners"),
        counted(synthetic.n_records, "record", "records"),
    )
    helper = ("Helper", "sees no data")
    together = owners, ("One process", "has all records"), "records"
    tables = f"noisy tables, ε\u00a0=\u00a0{round_up(privacy.epsilon())}"
    first, second, sent = {
        Way.TOGETHER: together,
        Way.SUMS_TOGETHER: together,
        Way.PADS: (helper, owners, "random masks"),
        Way.MPYC: (helper, owners, "secret shares"),
        Way.SUMS: (owners, ("Coordinator", "adds them up"), tables),
    }[privacy.way]
    apart = ", and that no two owners share their columns or their noise"
    yield flow(Flow((first, second, ("Everybody", "you included")), (sent, tables)))
    yield from odds("Anyone", "one record", privacy.epsilon(), privacy.delta)
    yield tag(
        "p",
        tag("strong", "On condition"),
        f"that {_KEPT[privacy.way]}{apart * (not privacy.way.sums)}.",
    )


def _steps(synthetic: Synthetic) -> Iterator[str]:
    yield "Draw as many rows as you like with `rows.sample(n)`. It costs nothing more."
    if synthetic.label_model is not None:
        yield "Predict the label with `rows.label_model`, or train a model of your own on the rows."
    yield "Save the rows with `rows.save(path)`, and run `dpsumm dossier` for a privacy officer."


def _columns(
    synthetic: Synthetic, margins: Sequence[Margin], drawn: NDArray[np.uint32]
) -> tuple[Html, Html]:
    text = (
        "Blue: the noisy table that was released. Orange: the rows. Noise moves a mean or a share "
        "by less than what is given, as a rule. The grade compares that with the column's standard "
        "deviation, and a share with all records."
    )
    order = list(Grade)
    worst = sorted(margins, key=lambda one: -order.index(one.grade))[:MOST_PANELS]
    if len(margins) > MOST_PANELS:
        text += f" {MOST_PANELS} of {len(margins)} columns are shown."
    shown = panels_of(synthetic.tables, synthetic.levels, drawn, worst)
    return parts.intro(text), panels(shown, SETS)


def _pairs(synthetic: Synthetic, found: Sequence[PairFidelity]) -> tuple[Html, ...]:
    if not found:
        return (parts.intro("The noise left no table of two columns."),)
    names = synthetic.columns
    shown = sorted({j for pair in found for j in pair.pair})[:MOST_COLUMNS]
    caption = (
        "How far each two columns are from independence (root of the sum of squared differences of "
        "shares). Above the diagonal: in the noisy tables, less their noise; grey where nothing "
        "but noise is seen. Below: in the rows. Where both halves look alike, the rows have the "
        "tables' dependences."
    )
    if synthetic.tables.plan.coarse:
        caption += " Both are grey for pairs that the second round did not count."
    if len(shown) < len({j for pair in found for j in pair.pair}):
        caption += f" The first {MOST_COLUMNS} are drawn."
    picture = parts.figure(
        figures.matrix(
            _matrix(found, shown), [names[j] for j in shown], "distance from independence"
        ),
        f"Matrix of {len(shown)} columns by {len(shown)}.",
        caption,
    )
    text = (
        "Pairs of columns by the distance (total variation) of the rows to the noisy table, beyond "
        "what noise alone makes of it, largest first."
    )
    worst = sorted(found, key=lambda one: one.noise - one.distance)[:MOST_PAIRS]
    if len(found) > MOST_PAIRS:
        text += f" {MOST_PAIRS} of {len(found)} pairs are shown."
    return (
        picture,
        parts.intro(text),
        parts.table(
            ("Columns", "Owners", "Distance", "Noise alone", "Dependence"),
            (_row(synthetic, one) for one in worst),
        ),
    )


def _row(synthetic: Synthetic, one: PairFidelity) -> tuple[str, ...]:
    plan, owners = synthetic.tables.plan, _holders(synthetic)
    held = [owners[p] for p in dict.fromkeys(plan.owner_of[j] for j in one.pair)]
    return (
        " and ".join(synthetic.columns[j] for j in one.pair),
        " and ".join(held),
        percent(one.distance),
        percent(one.noise),
        "seen" if one.seen else "hidden by noise",
    )


def _holders(synthetic: Synthetic) -> tuple[str, ...]:
    privacy = synthetic.privacy
    return (ALL_OWNERS,) if privacy.way.sums else privacy.owners


def _matrix(found: Sequence[PairFidelity], shown: list[int]) -> figures.Array:
    place = {j: k for k, j in enumerate(shown)}
    # Of two rounds, pairs that the second did not count.
    values = np.full((len(shown), len(shown)), np.nan)
    np.fill_diagonal(values, 0.0)
    for one in found:
        if one.pair[0] in place and one.pair[1] in place:
            i, j = (place[c] for c in one.pair)
            values[i, j] = one.released if one.seen else np.nan
            values[j, i] = one.rows
    return values


def _details(synthetic: Synthetic) -> list[tuple[str, str]]:
    plan, mixture = synthetic.tables.plan, synthetic.model.mixture
    stds = [math.sqrt(plan.variance(index)) for index in range(len(plan.pairs))]
    across = "none" if not stds else f"{min(stds):.1f} to {max(stds):.1f} records in each cell"
    levels, merged = sum(map(len, synthetic.tables.singles)), sum(plan.sizes)
    ended = "unknown" if synthetic.finished is None else f"{synthetic.finished:%d %B %Y, %H:%M} UTC"
    return [
        ("Run", f"{synthetic.run}, {ended}"),
        ("Columns", _listed_columns(synthetic)),
        ("Levels", f"{levels}; after rare ones shared a code: {merged}"),
        ("Noise, tables of one column", f"{plan.one_way_std:.1f} records in each cell"),
        ("Noise, tables of two columns", f"{across}, standard deviation"),
        *([("Rounds", _rounds(plan))] if plan.coarse else []),
        (
            "Model",
            f"a mixture, chi-square {mixture.chi2:.2f} for each cell (1 is the noise) after "
            f"{mixture.steps} steps, and a chain of regressions, by turns",
        ),
    ]


def _rounds(plan: NoisePlan) -> str:
    again = len(set(plan.pairs) & set(plan.coarse))
    return (
        f"two: coarse tables of {len(plan.coarse)} pairs, then finer ones of the {again} that "
        "stood out most or were named. The rows have other dependences only through these."
    )


def _listed_columns(synthetic: Synthetic) -> str:
    plan, owners = synthetic.tables.plan, _holders(synthetic)
    of = {name: [] for name in owners}  # type: dict[str, list[str]]
    for column, p in zip(synthetic.columns, plan.owner_of, strict=True):
        of[owners[p]].append(column)
    return "; ".join(f"{name}: {', '.join(columns)}" for name, columns in of.items())
