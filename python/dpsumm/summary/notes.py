"""What a consumer should know before relying on a summary, worst first.

For curator and consumer alone: most of it depends on private data. No value of a record is in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.checks import counted, listed
from dpsumm.data.labels import labels_of, places_of
from dpsumm.data.large.stream_table import StreamTable
from dpsumm.data.openings import Commitments
from dpsumm.data.schema import Schema
from dpsumm.data.table import Table
from dpsumm.privacy import events
from dpsumm.privacy.events import Protected
from dpsumm.privacy.guarantees import PrivacyReport
from dpsumm.privacy.ledger import Ledger
from dpsumm.report.notes import Note, Severity, owners_notes
from dpsumm.report.notes import budget_notes as notes_of_budget
from dpsumm.summary.plan import BAD, noise_to_sampling
from dpsumm.summary.protocols import Selection, Setting
from dpsumm.summary.space import remoteness

# Part of mean k(V, V) that MMD^2 may be before it is said that little fits.
LITTLE_OVERLAP = 0.2
# Such a share of values outside a column's bounds or in no category, or of records that are there
# twice, may make a run mean nothing.
MUCH = 0.1
# A column tells nothing if so large a share of its values does not.
RUINED = 0.9
# A column's gap between summary and target, in gaps that chance makes, that takes a title back.
NOT_FOLLOWED = 2.5
# Points read of an owner, below which nothing is said of its columns.
FEWEST = 5
# An owner's remoteness (`dpsumm.summary.space`) above which its points are worth a look.
REMOTE = 1.0
# Points read for each one kept, below which nothing is chosen.
NO_CHOICE = 1.1
# Columns that a note names.
MOST_NAMED = 12
# Labels are compared as classes if there are so many at most.
MOST_CLASSES = 50
# A class that shrinks or grows by so much of all points is worth a word.
SHIFT = 0.1


def resumed_notes(book: Ledger, of_this_target: bool | None) -> list[Note]:
    """Tell of a run that was resumed; see `Curator.of_this_target`."""
    if not book.resumed:
        return []
    said = f"Run {book.run!r} was resumed: what it had released was used again, not released anew."
    if of_this_target is None:
        text = "If target or data are not those of its first part, the summary is not for them."
        return [Note(f"{said} {text}")]
    if of_this_target:
        text = (
            "Its noise cannot tell the target given from the one it was released of: was it the "
            "same file? If not, the summary is not for it; give it a run of its own (run, --run), "
            "which is charged."
        )
        return [Note(f"{said} {text}")]
    text = (
        "It was released of another target: the one given is further from it than its noise "
        "explains. Owners chose their points for the first target. Give the new one a run of its "
        "own (run, --run), which is charged."
    )
    return [Note(f"{said} {text}", Severity.ALARM)]


def run_notes(got: int, size: int, held: int, parsimony: float | None) -> list[Note]:
    """Tell of a summary with nothing to choose from.

    Parameters
    ----------
    got, size
        Points of the summary, and those asked for.
    held
        Records of all owners, which are public.
    parsimony
        Points read for each one of the summary, where the protocol asks for that.
    """
    notes = []
    if parsimony is not None and parsimony < NO_CHOICE and held > size:
        notes.append(
            f"With parsimony {parsimony:g} hardly more points are read than kept, so the curator "
            f"had none to choose from: the summary is what was read. Give 4 or more (--parsimony), "
            f"unless a private model is to be trained on it."
        )
    if held <= size:
        notes.append(
            f"The size of {size:,} leaves nothing to choose: the owners who take part have "
            f"{counted(held, 'record', 'records')} in all, and whatever was read is the summary. "
            f"Ask for fewer points with size (--size)."
        )
    if got < size:
        notes.append(
            f"There were only {got} points to take, fewer than the {size} asked for: all of them "
            "are the summary. Owners have no more, or did not answer. Ask for fewer points with "
            "size (--size)."
        )
    return [Note(text) for text in notes]


def commitment_notes(commitments: Commitments | None, names: Sequence[str]) -> list[Note]:
    """Tell whose points were rows of tables that had been committed to."""
    if commitments is None:
        return []
    opened = sum(len(found) for _, found in commitments.owners.values())
    owners = counted(len(names), "owner", "owners")
    return [
        Note(
            f"{len(commitments.roots)} of {owners} committed to their data before anything was "
            f"released, and {counted(opened, 'point', 'points')} read were checked against that. "
            f"Rows that were invented before are not found so.",
            Severity.INFO,
        )
    ]


def quality_notes(selection: Selection, m: int, privacy: PrivacyReport) -> list[Note]:
    """Tell when the noise is above the signal, and when the owners have little that fits."""
    notes = []
    noise = max(
        (
            charge.event.noise_multiplier
            for charge in privacy.charges
            if charge.protected is Protected.TARGET and isinstance(charge.event, events.Gaussian)
        ),
        default=0.0,
    )
    relative = noise_to_sampling(noise, m)
    if relative > BAD:
        notes.append(
            f"The noise of the release is {relative:.1f} times the target's sampling error: the "
            f"offers follow it more than the target. Use a larger target or epsilon, or Pool() "
            f"(--protocol pool); `dpsumm plan` tells from where on it pays."
        )
    left = selection.curve[-1] / selection.target_self
    if left > LITTLE_OVERLAP:
        notes.append(
            f"Little overlap: the distance to the target is {left:.0%} of what no point at all "
            f"would have. The owners have few points like the target, or the bandwidth is too "
            f"small."
        )
    return [Note(text, Severity.ALARM) for text in notes]


def budget_notes(privacy: PrivacyReport, m: int) -> list[Note]:
    """Tell of budgets that promise little, or next to nothing, by what was really spent.

    The target's, of m records, and that of each owner's records.
    """
    if privacy.seeded:
        return []
    spent = privacy.epsilon()
    of_target = notes_of_budget(spent, privacy.delta, m) if spent else []
    return [*of_target, *owners_notes(privacy)]


def data_notes(tables: Sequence[Table | StreamTable]) -> list[Note]:
    """Tell of indexes and rows left out, and of values clipped, missing or unknown."""
    owners = [table for table in tables if table.name != "target"]
    notes = _indexed(tables)
    for group in (owners, [table for table in tables if table.name == "target"]):
        notes += _dropped(group)
        for attribute, said, usual in (
            ("n_clipped", "clipped to the public bounds", False),
            ("n_missing", "missing, which is a value of its own to the kernel", True),
            ("n_unknown", "in no category and count as its 'other'", False),
        ):
            counts = {
                table.name: np.array(getattr(table, attribute), np.int64)
                for table in group
                if sum(getattr(table, attribute))
            }
            if counts:
                severity = _absent(group) if usual else _severity(group, counts)
                text = _values(group, counts, said)
                notes.append(Note(text, severity))
    return notes


def _indexed(tables: Sequence[Table | StreamTable]) -> list[Note]:
    """Tell whose pandas index was left behind, by name: no value of it."""
    names = [table.name for table in tables if table.head.indexed]
    if not names:
        return []
    text = (
        f"The pandas index of {listed(names)} is not kept: a summary's index counts an owner's "
        f"rows from 0. Take rows by frame.iloc, or make the index a column by reset_index()."
    )
    return [Note(text, Severity.INFO)]


def _dropped(group: Sequence[Table | StreamTable]) -> list[Note]:
    dropped = {table.name: table.n_dropped for table in group if table.n_dropped}
    if not dropped:
        return []
    least, most = min(dropped.values()), max(dropped.values())
    if len(dropped) == 1:
        name = next(iter(dropped))
        were = "was" if most == 1 else "were"
        text = f"{name}: {counted(most, 'row', 'rows')} with missing values {were} left out."
    else:
        text = (
            f"Rows with missing values were left out at {len(dropped)} of {len(group)} owners: "
            f"{_range(least, most)} each."
        )
    owners = group[0].name != "target"
    many = any(table.n_dropped >= len(table) for table in group)  # half or more of its rows
    return [Note(text, Severity.WARNING if owners and many else Severity.INFO)]


def _absent(group: Sequence[Table | StreamTable]) -> Severity:
    """Return how bad missing values are: a target without a column asks for records without it."""
    if group[0].name != "target":
        return Severity.INFO  # see `pool_notes`
    share = max(group[0].n_missing) / len(group[0])
    if share >= RUINED:
        return Severity.ALARM
    return Severity.WARNING if share >= 0.5 else Severity.INFO


def _severity(
    group: Sequence[Table | StreamTable], counts: dict[str, NDArray[np.int64]]
) -> Severity:
    """Return how bad values outside the bounds or categories are.

    The target's are what a summary is compared with; an owner may well have records of another
    kind, but not most of what all owners have.
    """
    if _worst(group, counts) < MUCH:
        return Severity.INFO
    present = np.sum([_present(table) for table in group], axis=0)
    together = (np.sum(list(counts.values()), axis=0) / present).max()
    bad = MUCH if group[0].name == "target" else 0.5
    return Severity.ALARM if together >= bad else Severity.WARNING


def _worst(group: Sequence[Table | StreamTable], counts: dict[str, NDArray[np.int64]]) -> float:
    """Return the largest share that such values have of a column's values at one owner."""
    present = {table.name: _present(table) for table in group}
    return max(float((found / present[name]).max()) for name, found in counts.items())


def _present(table: Table | StreamTable) -> NDArray[np.int64]:
    """Return how many values each column has; at least 1, of which a share can be taken."""
    return np.maximum(len(table) - np.array(table.n_missing, np.int64), 1)


def _values(
    group: Sequence[Table | StreamTable], counts: dict[str, NDArray[np.int64]], said: str
) -> str:
    names = group[0].columns
    total = np.sum(list(counts.values()), axis=0)
    order = sorted(np.flatnonzero(total).tolist(), key=lambda j: -int(total[j]))
    shown, more = sorted(order[:MOST_NAMED]), len(order) - MOST_NAMED
    rest = f" and of {counted(more, 'more column', 'more columns')}" if more > 0 else ""
    if len(counts) == 1:
        name, found = next(iter(counts.items()))
        parts = [f"{found[j]:,} of {names[j]}" for j in shown]
        parts[0] = f"{counted(int(found[shown[0]]), 'value', 'values')} of {names[shown[0]]}"
        were = "was" if len(order) == 1 and found[order[0]] == 1 else "were"
        text = f"{name}: {', '.join(parts)}{rest} {were} {said}."
    else:
        parts = []
        for j in shown:
            present = [int(found[j]) for found in counts.values() if found[j]]
            parts.append(f"{_range(min(present), max(present))} of {names[j]}")
        text = (
            f"Values were {said} at {len(counts)} of {len(group)} owners: {', '.join(parts)}{rest}."
        )
    worst = _worst(group, counts)
    if worst >= MUCH and "missing" not in said:
        text += (
            f" That is up to {worst:.0%} of a column: check that the public bounds and categories "
            f"are in its own units, and that marks of no value, such as 999, are listed in the "
            f"column's missing."
        )
    return text


def _range(least: int, most: int) -> str:
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def column_notes(selection: Selection, setting: Setting) -> list[Note]:
    """Tell of columns in which the summary is far from the target, however small its distance.

    Bounds far wider than a column's values, or a small weight, take it out of the distance.
    """
    from dpsumm.summary.by_column import chance, of_schema  # not by a mere import of dpsumm

    schema = setting.schema
    if schema is None or len(schema.cells) != selection.scaled.shape[1]:
        return []
    usual = chance(len(selection.scaled), len(setting.target))
    sets = (selection.pool.scaled, setting.target, selection.scaled)
    gaps = {one.name: one.gap(2) for one in of_schema(schema, *sets)}
    far = sorted((gap, name) for name, gap in gaps.items() if gap >= NOT_FOLLOWED * usual)[::-1]
    if not far:
        return []
    said = ", ".join(f"{name} ({gap:.0%})" for gap, name in far[:MOST_NAMED])
    return [
        Note(
            f"The summary does not follow the target in {said}: so far apart are their values, "
            f"where up to {usual:.0%} is chance. Owners that have none like the target's do that; "
            f"so do bounds far wider than the values, or a small weight, which take a column out "
            f"of the distance.",
            Severity.ALARM,
        )
    ]


def pool_notes(selection: Selection, setting: Setting) -> list[Note]:
    """Tell of columns that are ruined at some owners, by name, and of points all the same.

    By the points read alone, which the consumer sees, and after everything was sent: a refusal
    before would tell owners of each other's data.
    """
    pool, notes = selection.pool, []
    if len(pool.scaled) > 1 and (pool.scaled == pool.scaled[0]).all():
        text = (
            "All points read are one point for the kernel, so nothing was chosen among them. Check "
            "columns, bounds and categories."
        )
        notes.append(Note(text, Severity.ALARM))
    if setting.schema is None:
        return notes
    ruined: dict[tuple[str, str], list[int]] = {}
    for i in range(len(setting.names)):
        own = pool.records.values[pool.owner == i]
        for found in _ruined(own, setting.schema) if len(own) >= FEWEST else ():
            ruined.setdefault(found, []).append(i)
    for (title, how), places in ruined.items():
        everybody = len(places) == len(setting.names)
        who = "all owners" if everybody else listed([setting.names[i] for i in places])
        many = 2 * len(places) >= len(setting.names) or (
            np.isin(selection.owner, places).sum() >= MUCH * len(selection.owner)
        )
        # An owner may lack a column; the others still say something.
        bad = many and how != _NO_VALUE
        severity = Severity.ALARM if bad else Severity.WARNING
        notes.append(Note(how.format(who=who, title=title), severity))
    return notes


_NO_VALUE = "No point read of {who} has a value of {title}: is the column empty there?"
_OUTSIDE = (
    "In the points read of {who}, at least nine in ten values of {title} lie outside its bounds "
    "and count as the bound: is the column in other units there, or is that a mark of no value?"
)
_UNKNOWN = (
    "In the points read of {who}, at least nine in ten values of {title} are in no category and "
    "count as its 'other': are the categories spelled otherwise there?"
)


def _ruined(own: NDArray[Any], schema: Schema) -> Iterator[tuple[str, str]]:
    """Yield the columns of one owner's points that tell nothing, with what to say of each."""
    present = np.count_nonzero(~np.isnan(own), axis=0)
    for j, (column, clipped) in enumerate(zip(schema.kernel, schema.encode(own)[1], strict=True)):
        others = 0
        if column.other is not None:
            others = int(np.count_nonzero(own[:, j] == len(column.categories)))
        if not present[j]:
            yield column.name, _NO_VALUE
        elif clipped >= RUINED * present[j]:
            yield column.name, _OUTSIDE
        elif others >= RUINED * present[j]:
            yield column.name, _UNKNOWN


def space_notes(selection: Selection, setting: Setting) -> list[Note]:
    """Tell of owners most of whose points are where no other owner and no target record is."""
    pool = selection.pool
    if len(pool.owner) == sum(setting.n_records.values()):
        return []  # all records, not what an owner chose to offer
    found = remoteness(pool.scaled, pool.owner, setting.target, len(setting.names))
    names = [name for name, value in zip(setting.names, found, strict=True) if value > REMOTE]
    if not names:
        return []
    return [
        Note(
            f"Most points of {listed(names)} lie where no other owner has any and no target record "
            f"is, and far from one another. Data of another unit or kind look so, and rows that "
            f"were invented: ask where they come from.",
            Severity.WARNING,
        )
    ]


def label_notes(selection: Selection, schema: Schema | None = None) -> list[Note]:
    """Tell of a summary of one class, and of classes that it has more or less of than the pool."""
    some, every = selection.records.labels, selection.pool.records.labels
    if some is None or every is None:
        return []
    names = list(dict.fromkeys(labels_of(every.tolist()).tolist()))
    chosen, read = places_of(some, names), places_of(every, names)
    classes = np.unique(read)
    if len(classes) == 1:
        # What classes there are elsewhere is known from a schema that lists them.
        label = None if schema is None else schema.label
        known = len(label.categories or ()) if label is not None else 0
        bad = Severity.ALARM if known > 1 else Severity.WARNING
        text = "All points read have the same label: a classifier cannot be trained on them."
        return [Note(text, bad)] if len(read) > 1 else []
    if len(np.unique(chosen)) == 1 and len(chosen) > 1:
        return [
            Note(
                f"All points of the summary have the same label, one of {len(classes)} in the "
                f"points read. A classifier cannot be trained on it.",
                Severity.ALARM,
            )
        ]
    if len(classes) > MOST_CLASSES:
        return []
    before, after = (np.array([np.mean(part == one) for one in classes]) for part in (read, chosen))
    worst = int(np.argmax(np.abs(after - before)))
    if abs(after[worst] - before[worst]) < SHIFT:
        return []
    absent = int(np.count_nonzero((after == 0) & (before > 0)))
    gone = f" {absent} of {len(classes)} classes are not in it." if absent else ""
    return [
        Note(
            f"Labels are not used to choose points, and their shares differ: the class that "
            f"differs most is {before[worst]:.0%} of the points read and {after[worst]:.0%} of the "
            f"summary.{gone}",
            Severity.INFO,
        )
    ]


def spelling_notes(selection: Selection, names: Sequence[str]) -> list[Note]:
    """Tell of owners in whose points no label is one of any other owner's."""
    if selection.pool.records.labels is None:
        return []
    labels = np.array(labels_of(selection.pool.records.labels.tolist()).tolist(), object)
    owners = selection.pool.owner
    sets = {i: set(labels[owners == i]) for i in np.unique(owners).tolist()}
    held = {i: sets[i] for i in sets if np.count_nonzero(owners == i) >= FEWEST}
    if len(held) < 2 or len(set().union(*held.values())) > MOST_CLASSES:
        return []
    apart, alike = [], False
    for i, own in held.items():
        others = set().union(*(held[j] for j in held if j != i))
        if not own & others:
            apart.append(names[i])
            # Yes beside yes, or numbers beside text, is one question answered in two ways.
            alike |= bool(_plainly(own) & _plainly(others)) or _texts(own) != _texts(others)
    if not apart:
        return []
    return [
        Note(
            f"No label in the points read of {listed(apart)} is one of any other owner's: are "
            f"classes spelled otherwise there? A label whose categories the schema lists is "
            f"refused where it is not one of them.",
            Severity.ALARM if alike else Severity.WARNING,
        )
    ]


def _plainly(labels: set[Any]) -> set[str]:
    return {str(label).strip().casefold() for label in labels}


def _texts(labels: set[Any]) -> set[bool]:
    return {isinstance(label, str) for label in labels}
