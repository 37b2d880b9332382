"""Notes to read before relying on synthetic rows, by the noisy tables alone."""

from __future__ import annotations

from collections.abc import Sequence

from dpsumm.report.notes import Note, Severity, budget_notes, sorted_notes
from dpsumm.report.verdict import Verdict
from dpsumm.vertical.crowded import crowded
from dpsumm.vertical.dependence import SEEN, hidden_pairs
from dpsumm.vertical.grid import Drawn
from dpsumm.vertical.label_score import LabelScore
from dpsumm.vertical.layout import Layout, Released
from dpsumm.vertical.noise import NoisePlan
from dpsumm.vertical.pooled import Pooled
from dpsumm.vertical.privacy import SynthesisPrivacy
from dpsumm.vertical.tables import Tables

# Fewer pairs of two owners' columns than such a share stand out of the noise: on parts of Adult the
# rows are then as far from real ones across owners as columns drawn apart. Of many columns most may
# be independent: then a few pairs count, and as many as stand out by chance.
FEW_SEEN, _FEW, _BY_CHANCE = 0.1, 3, 0.02
# If noise hides such a share of the records, columns may depend on each other unseen.
SMALL = 0.01
# Pairs, or columns, that a note names.
_NAMED = 3
_NO_LINK = "hardly anything links the owners' columns"


def notes_of(
    released: Released,
    model: Pooled,
    layout: Layout,
    levels: Sequence[Drawn],
    protocol: Tables,
    privacy: SynthesisPrivacy,
    score: LabelScore | None = None,
    *,
    resumed: str | None = None,
) -> tuple[Note, ...]:
    """Return what the released numbers tell about themselves, worst first. Post-processing.

    `resumed` is the run's name if its releases were there before.
    """
    notes = []
    if resumed is not None:
        notes.append(
            Note(
                f"Run {resumed!r} was resumed, so the tables that it had released were used again."
            )
        )
    poor = bool(_apart(released))
    if not privacy.identified and not layout.same_columns:
        # Pairs of two owners' columns that are seen to depend on each other show that it is right.
        notes.append(
            Note(
                "Records of different owners were joined by their position in the files, which "
                "was not checked. Name a column of identifiers that all owners have (`ids`) to "
                "check it.",
                Severity.WARNING if poor else Severity.INFO,
            )
        )
    mixture = model.mixture
    if mixture.chi2 > protocol.stop:
        notes.append(
            Note(
                "The mixture did not reach the tables within their noise (chi-square "
                f"{mixture.chi2:.2f} for each cell after {mixture.steps} steps). Give it more "
                "components with `protocol=Tables(components=...)`, or, in Python, "
                "more max_steps there."
            )
        )
    notes += _crowded(released, levels)
    alarm = Severity.ALARM if worthless(released, score) else Severity.WARNING
    notes += _hidden(released, layout, alarm if poor else Severity.INFO)
    if not privacy.seeded:
        notes += budget_notes(privacy.epsilon(), privacy.delta, released.n_records)
    return sorted_notes(notes)


def _crowded(released: Released, levels: Sequence[Drawn]) -> list[Note]:
    """Ask for bounds, units and spelling where nearly all records share a bin or 'other'."""
    found = crowded(released, levels)
    if not found:
        return []
    bins = [str(one) for one in found if one.range]
    others = [str(one) for one in found if not one.range]
    where, ask = [], []
    if bins:
        where.append(f"in one bin of {_first(bins)}")
        ask.append(
            "Check bounds and units, because values outside the bounds are in the bins at the "
            "ends. If both are right, give edges that part such a bin with "
            "`protocol=Tables(bins=...)`"
        )
    if others:
        where.append(f"in no listed category of {_first(others)}")
        ask.append(
            "Check whether the owner spells its categories as the schema does. If so, list the "
            "frequent ones there"
        )
    return [
        Note(
            f"Nearly all values are {', and '.join(where)}, so the rows say little about "
            f"{'it' if len(found) == 1 else 'these columns'}. {'. '.join(ask)}.",
            Severity.WARNING,
        )
    ]


def _hidden(released: Released, layout: Layout, severity: Severity) -> list[Note]:
    plan = released.plan
    if not plan.pairs:
        return [
            Note(
                "The noise hides the levels of all columns, or of all but one: there is no table "
                "of two columns. Use a larger epsilon or fewer bins.",
                Severity.ALARM,
            )
        ]
    hidden = hidden_pairs(released)
    if not hidden:
        return []
    if severity is Severity.INFO:
        named = _first([f"{layout.columns[i]} and {layout.columns[j]}" for i, j in hidden])
        counted = " that were counted by bins" * bool(plan.coarse)
        said = (
            f"In {len(hidden)} of {len(plan.pairs)} pairs of columns{counted} only noise is seen "
            f"({named}). Do not rely on how these depend on each other."
        )
    else:
        apart = _apart(released)
        some = [layout.holders[one] for one in apart] if len(apart) < len(layout.holders) else []
        seen, cross = seen_across(released)
        said = f"{seen} of {cross} {pairs_of(plan)} {_stand(seen)} out of the noise"
        said += f", hardly any with columns of {_first(some)}. " if some else ". "
        said += (
            "Use a larger epsilon or fewer bins."
            if layout.same_columns
            else "Check that the owners' files have the same records in the same order. If so, use "
            "a larger epsilon or fewer bins."
        )
    return [Note(said, severity)]


def _first(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _stand(pairs: int) -> str:
    return "stands" if pairs == 1 else "stand"


def one_holder(plan: NoisePlan) -> bool:
    """Return whether no two columns have different holders."""
    return len(set(plan.owner_of)) == 1


def pairs_of(plan: NoisePlan) -> str:
    """Return what `seen_across` counts, in words."""
    return "pairs of columns" if one_holder(plan) else "pairs of two owners' columns"


def seen_across(released: Released) -> tuple[int, int]:
    """Return how many pairs of two owners' columns are seen to depend, and how many there are.

    If all owners hold the same columns, all pairs count. Of two rounds, those that the second did
    not count are left out.
    """
    seen, cross = _across(released)
    return len(seen), len(cross)


def _across(released: Released) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    plan = released.plan
    # Of a column whose levels were all merged, nothing is seen.
    cross = {(i, j) for i in plan.counted for j in plan.counted if i < j}
    if not one_holder(plan):
        cross = {pair for pair in cross if plan.is_cross(pair)}
    cross -= set(plan.coarse) - set(plan.pairs)
    return cross & (set(plan.pairs) - set(hidden_pairs(released))), cross


def _apart(released: Released) -> tuple[int, ...]:
    """Return the holders whose columns are hardly seen to depend on those of others.

    All of them, if few pairs stand out. Else those with no more such pairs than by chance. A
    dependence of the label on another owner's column is enough.
    """
    plan = released.plan
    holders = tuple(sorted(set(plan.owner_of)))
    seen, cross = _across(released)
    if not cross:
        return holders

    def tells(pairs: set[tuple[int, int]], least: float) -> bool:
        return len(pairs) >= least or any(plan.label in pair for pair in pairs)

    def its(holder: int, pairs: set[tuple[int, int]]) -> set[tuple[int, int]]:
        return {(i, j) for i, j in pairs if holder in (plan.owner_of[i], plan.owner_of[j])}

    if not tells(seen, min(FEW_SEEN * len(cross), _FEW + _BY_CHANCE * len(cross))):
        return holders
    return tuple(
        one for one in holders if not tells(its(one, seen), 1 + _BY_CHANCE * len(its(one, cross)))
    )


def worthless(released: Released, score: LabelScore | None) -> bool:
    """Return whether noise may hide all dependences, and no two columns are seen to have one.

    Short of that, bad tables may be true. Perhaps nothing predicts a label, or nothing links the
    owners' columns.
    """
    nothing = len(hidden_pairs(released)) == len(released.plan.pairs)
    noisy = SEEN * released.plan.one_way_std > SMALL * released.n_records
    return nothing and noisy and (score is None or score.little)


def verdict_of(released: Released, score: LabelScore | None, fits: bool) -> Verdict:
    """Return in a few words what rows of these tables are worth, by the tables alone."""
    seen, cross = seen_across(released)
    alone = one_holder(released.plan)
    where = "pairs of columns" if alone else "pairs of columns across owners"
    across = f"{seen} of {cross} {where} {_stand(seen)} out of the noise"
    if worthless(released, score):
        head, why = "the rows mean nothing", "the noise hides how columns depend on each other"
        return Verdict(head, why, Severity.ALARM)
    if score is not None and score.little:
        return Verdict("hardly anything predicts the label", str(score), Severity.WARNING)
    if score is not None and score.hidden:
        return Verdict("the noise hides what predicts the label", str(score), Severity.WARNING)
    if apart := _apart(released):
        why = across if score is None else f"{across}; {score}"
        head = "hardly any two columns depend on each other" if alone else _NO_LINK
        if len(apart) < len(set(released.plan.owner_of)):
            head = "hardly anything links one owner's columns to the others'"
        return Verdict(head, why, Severity.WARNING)
    if not fits:
        return Verdict("the model does not fit the tables", severity=Severity.WARNING)
    if score is not None:
        return Verdict("models of the rows should predict the label", f"{score} on real records")
    return Verdict(across)
