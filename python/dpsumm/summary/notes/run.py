"""A run as a whole: resumed, with nothing to choose from, mostly noise, or of a thin budget.

For curator and consumer alone, since it depends on private data. No value of a record is in it.
"""

from __future__ import annotations

from collections.abc import Sequence

from dpsumm.basics.checks import counted
from dpsumm.privacy import events
from dpsumm.privacy.events import Protected
from dpsumm.privacy.guarantees import PrivacyReport
from dpsumm.privacy.ledger import Ledger
from dpsumm.privacy.weak import MUCH_EPSILON
from dpsumm.report.notes import Note, Severity, owners_notes
from dpsumm.report.notes import budget_notes as notes_of_budget
from dpsumm.report.numbers import round_up
from dpsumm.summary.plan import BAD, noise_to_sampling
from dpsumm.summary.protocols import Selection

# Part of mean k(V, V) that MMD^2 may be before it is said that little fits.
LITTLE_OVERLAP = 0.2
# Mean k(V, V) below which the kernel takes records for unlike whatever they are.
UNLIKE = 0.1
# Points read for each one kept, below which nothing is chosen.
NO_CHOICE = 1.1
# Share of the owners' records that were read, from which on that is said.
NEARLY_ALL = 0.9
# Gaps between columns that chance makes, above which so few points tell next to nothing.
MOST_CHANCE = 0.5
# Owners of fewer records are read as a whole as a rule.
FEW_RECORDS = 50


def resumed_notes(book: Ledger, of_this_target: bool | None) -> list[Note]:
    """Warn of a run that was resumed. See `Curator.of_this_target`."""
    if not book.resumed:
        return []
    said = f"Run {book.run!r} was resumed: what it had released was used again, not released anew."
    if of_this_target is None:
        text = "If target or data are not those of its first part, the summary is not for them."
        return [Note(f"{said} {text}")]
    if of_this_target:
        text = (
            "Its noise cannot tell the target given from the one it was released of: was it the "
            "same file? If not, the summary is not for it; give it a run of its own (`run`), "
            "which is charged."
        )
        return [Note(f"{said} {text}")]
    text = (
        "It was released of another target: the one given is further from it than its noise "
        "explains. Owners chose their points for the first target. Give the new one a run of its "
        "own (`run`), which is charged."
    )
    return [Note(f"{said} {text}", Severity.ALARM)]


def run_notes(
    got: int, size: int, owners: Sequence[tuple[int, int]], reads_per_record: float | None
) -> list[Note]:
    """Warn of a summary with nothing to choose from, and of one for which nearly all was read.

    Parameters
    ----------
    owners
        Read points of each owner, and its records. Both are public.
    """
    notes = []
    read, held = (sum(part) for part in zip(*owners, strict=True))
    if reads_per_record is not None and reads_per_record < NO_CHOICE and held > size:
        notes.append(
            f"With {reads_per_record:g} reads per record hardly more points are read than kept, so "
            f"the curator had none to choose from: the summary is what was read. Give a "
            f"reads_per_record of 4 or `more`, "
            f"unless a private model is to be trained on it."
        )
    all_read = held > size and read >= NEARLY_ALL * held
    if reads_per_record is not None and all_read:
        notes.append(
            f"{read:,} of the owners' {counted(held, 'record', 'records')} were read with "
            f"{reads_per_record:g} reads per record, so the curator sees nearly all of their data. "
            f"Give a smaller `reads_per_record` or `size`, unless the "
            f"owners agreed to that."
        )
    if held <= size:
        notes.append(
            f"The size of {size:,} leaves nothing to choose: the owners who take part have "
            f"{counted(held, 'record', 'records')} in all, and whatever was read is the summary. "
            f"Ask for fewer points with `size`."
        )
    if got < size:
        notes.append(
            f"There were only {got} points to take, fewer than the {size} asked for: all of them "
            "are the summary. Owners have no more, or did not answer. Ask for fewer points with "
            "`size`."
        )
    said = [Note(text) for text in notes]
    whole = [n for taken, n in owners if n >= FEW_RECORDS and taken >= NEARLY_ALL * n]
    if reads_per_record is not None and whole and held > size and not all_read:
        text = (
            f"Nearly all records of {len(whole)} of {counted(len(owners), 'owner', 'owners')}, "
            f"{sum(whole):,} in all, were read with {reads_per_record:g} reads per record. Give a "
            f"smaller `reads_per_record` or `size`, unless they agreed "
            f"that the curator sees them."
        )
        # One of fewer records than the summary is to have is easily read as a whole.
        said.append(Note(text, Severity.WARNING if max(whole) >= size else Severity.INFO))
    return said


def quality_notes(selection: Selection, m: int, privacy: PrivacyReport) -> list[Note]:
    """Warn of noise above the signal, of little that fits, and of too few points to tell."""
    notes = _few_points(len(selection.records), m)
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
        text = (
            f"The noise of the release is {relative:.1f} times the target's sampling error: the "
            f"offers follow it more than the target. Use a larger target or epsilon, or "
            f"`protocol=Pool()`; `dpsumm plan` tells from where on it pays."
        )
        notes.append(Note(text, Severity.ALARM))
    left = selection.curve[-1] / selection.target_self
    # So far would as many fresh target records be: a summary of few points is far in any case. Of a
    # bandwidth too small that is so of any number, and no reason to be silent.
    fresh = (1 / selection.target_self - 1) / len(selection.records)
    if selection.target_self < UNLIKE:
        fresh = 0.0
    # Points that were chosen for noise are far from the target for that reason.
    if relative <= BAD and left > max(LITTLE_OVERLAP, fresh):
        far = f"{left:.0%} of" if left <= 1 else "more than"
        text = (
            f"Little overlap: the distance to the target is {far} what no point at all would "
            f"have. The owners have few points like the target, or the bandwidth is too small."
        )
        notes.append(Note(text, Severity.WARNING))
    return notes


def _few_points(p: int, m: int) -> list[Note]:
    from dpsumm.summary.by_column import chance  # not by a mere import of dpsumm

    usual = chance(p, m)
    if usual <= MOST_CHANCE:
        return []
    more = "Ask for more points with `size`" if p <= m else "Give more target records"
    return [
        Note(
            f"{counted(p, 'point', 'points')} and {counted(m, 'target record', 'target records')} "
            f"are so few that their columns may be {min(usual, 1.0):.0%} apart by chance: next to "
            f"nothing can be said of the summary. {more}.",
            Severity.WARNING,
        )
    ]


def ledger_notes(book: Ledger, privacy: PrivacyReport) -> list[Note]:
    """Tell what all runs of a ledger have spent together, from the second on."""
    runs = len(book.runs())
    if privacy.seeded or runs < 2:
        return []
    notes = []
    for whose in (Protected.TARGET, Protected.OWNERS):
        epsilon, delta = book.spent(whose)
        if epsilon > 0:
            text = (
                f"The ledger's {runs:,} runs have spent epsilon {round_up(epsilon)} of the "
                f"{whose.value}'s records at delta {delta:.2g} in all: what they promise together, "
                f"if their records are the same. A cap (dpsumm ledger cap) keeps it from growing."
            )
            notes.append(Note(text, Severity.WARNING if epsilon > MUCH_EPSILON else Severity.INFO))
    return notes


def budget_notes(privacy: PrivacyReport, m: int) -> list[Note]:
    """Warn of budgets that promise little, by the real cost.

    The target's, of m records, and that of each owner's records.
    """
    if privacy.seeded:
        return []
    spent = privacy.epsilon()
    of_target = notes_of_budget(spent, privacy.delta, m) if spent else []
    return [*of_target, *owners_notes(privacy)]
