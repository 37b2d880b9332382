"""Notes to read before relying on a result, the worst first."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from html import escape
from typing import Any, Self

from dpsumm.basics.checks import counted
from dpsumm.basics.visible import visible
from dpsumm.privacy.events import Protected
from dpsumm.privacy.guarantees import PrivacyReport
from dpsumm.privacy.weak import (
    some_delta,
    thin_budget,
    thin_epsilon,
    weak_budget,
    weak_epsilon,
)
from dpsumm.report import parts
from dpsumm.report.parts import Html


class Severity(Enum):
    """How much a note matters. A lower value comes first."""

    #: The summary may mean nothing.
    ALARM = 0
    #: It may be worth less than it looks.
    WARNING = 1
    #: Good to know.
    INFO = 2


#: What a page, a notebook and a terminal say before a note, so that it does not hang on a colour.
CALLS = {
    Severity.ALARM: "Look at this first",
    Severity.WARNING: "Check this",
    Severity.INFO: "Good to know",
}
# Notes that a page shows unfolded, alarms among them. It shows all alarms.
MOST_SHOWN = 3
# Bars beside notes in a notebook, whose text has a colour of its own: seen on white and on black.
_BARS = {
    Severity.ALARM: "6px solid #d2413d",
    Severity.WARNING: "6px double #c27a00",
    Severity.INFO: "6px solid transparent",
}


class Note(str):
    """A sentence for the consumer, with its `severity`.

    Examples
    --------
    >>> Note("All points read have the same label.", Severity.WARNING).severity.name
    'WARNING'
    """

    severity: Severity

    def __new__(cls, text: str, severity: Severity = Severity.WARNING) -> Self:
        """Return the note."""
        note = super().__new__(cls, visible(text))
        note.severity = severity
        return note

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep the severity in a copy."""
        return type(self), (str(self), self.severity)


def sorted_notes(notes: Iterable[str]) -> tuple[Note, ...]:
    """Return notes with the worst first, else in their order. A plain text is a warning."""
    all_notes = [note if isinstance(note, Note) else Note(note) for note in notes]
    return tuple(sorted(all_notes, key=lambda note: note.severity.value))


def budget_notes(epsilon: float, delta: float, m: int) -> list[Note]:
    """Warn of a budget that promises little or nothing to each of m records.

    And of a delta that is some part of 1/m, as of something good to know.
    """
    return [
        *(_alarm(text) for text in weak_budget(epsilon, delta, m)),
        *(_sentence(text, Severity.WARNING) for text in thin_budget(epsilon, delta, m)),
        *(_sentence(text, Severity.INFO) for text in some_delta(delta, m)),
    ]


def owners_notes(privacy: PrivacyReport) -> list[Note]:
    """Warn of a run that promises little to the owners' records, by its cost."""
    if privacy.seeded:
        return []
    epsilon = privacy.epsilon(protected=Protected.OWNERS)
    among = ", of the owners' records towards everyone," if privacy.shown else " between owners"
    return [
        *(_alarm(text) for text in weak_epsilon(epsilon, among=among)),
        *(_sentence(text, Severity.WARNING) for text in thin_epsilon(epsilon, among)),
    ]


def _alarm(text: str) -> Note:
    return _sentence(text, Severity.ALARM)


def _sentence(text: str, severity: Severity) -> Note:
    return Note(f"{text[0].upper()}{text[1:]}.", severity)


def alarming(notes: Iterable[str]) -> bool:
    """Return whether one of the notes is an alarm."""
    return any(isinstance(one, Note) and one.severity is Severity.ALARM for one in notes)


def to_check(notes: Iterable[Note]) -> str:
    """Return the number of warnings as the end of a title, or an empty text."""
    many = sum(note.severity is Severity.WARNING for note in notes)
    return f", with {counted(many, 'warning', 'warnings')} to check" if many else ""


def shown_notes(
    warnings: Iterable[str], *, seeded: bool
) -> tuple[list[Html], list[Html], list[Html]]:
    """Return all alarms, the first warnings, and the rest, folded away."""
    alarms = []
    if seeded:
        call = "Seeded run: nothing is guaranteed."
        text = (
            "Anyone who has the seed can compute the noise again. For tests and experiments only."
        )
        alarms.append(parts.alarm(call, text))
    by_severity: dict[Severity, list[Note]] = {severity: [] for severity in Severity}
    for note in sorted_notes(warnings):
        by_severity[note.severity].append(note)
    alarms += map(called, by_severity[Severity.ALARM])
    loud = [called(note) for note in by_severity[Severity.WARNING]]
    room = max(MOST_SHOWN - len(by_severity[Severity.ALARM]), 0)
    known, later = by_severity[Severity.INFO], loud[room:]
    if not (later or known):
        return alarms, loud, []
    more = "more " if alarms or loud[:room] else ""
    title = counted(len(later) + len(known), f"{more}note", f"{more}notes")
    rest = parts.folded(title, *later, *[parts.listed(known)] * bool(known))
    return alarms, loud[:room], [rest]


def called(note: Note) -> Html:
    """Return an alarm or a warning of a page, with its call."""
    call = f"{CALLS[note.severity]}."
    return (parts.alarm if note.severity is Severity.ALARM else parts.warning)(call, note)


def notebook_notes(warnings: Iterable[str]) -> str:
    """Return HTML of notes for a notebook, worst first, in its own colours. Escaped here."""
    return "".join(
        f'<p style="border-left:{_BARS[note.severity]};padding-left:.6em">'
        f"<strong>{CALLS[note.severity]}.</strong> {escape(note)}</p>"
        for note in sorted_notes(warnings)
    )
