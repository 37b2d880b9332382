"""A verdict in words. The same rule makes those of titles, terminals, notebooks and files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from dpsumm.report.notes import Severity, alarming, sorted_notes, to_check

LEVELS = {Severity.INFO: "useful", Severity.WARNING: "check", Severity.ALARM: "do not use"}


@dataclass(frozen=True)
class Verdict:
    """A verdict in few words, its grounds, and its severity.

    Examples
    --------
    >>> Verdict("close to the target", "as fresh records would be").text
    'close to the target: as fresh records would be'
    >>> Verdict("the noise hides the votes", severity=Severity.ALARM).level
    'do not use'
    """

    head: str
    why: str = ""
    severity: Severity = Severity.INFO

    @property
    def text(self) -> str:
        """Both halves, as one sentence without capital and full stop."""
        return f"{self.head}: {self.why}" if self.why else self.head

    def __str__(self) -> str:
        return self.text

    @property
    def level(self) -> str:
        """One of ``"useful"``, ``"check"`` and ``"do not use"``."""
        return LEVELS[self.severity]

    @property
    def good(self) -> bool:
        """Whether it does not say that the result means nothing."""
        return self.severity is not Severity.ALARM

    def qualified(self, *, seeded: bool, notes: Iterable[str]) -> Verdict:
        """Return the verdict as it may be shown next to these notes.

        An alarm among them takes its place, unless it is the alarm itself. Warnings are counted
        behind it. That a seed was given stands first. Notes that are only good to know change
        nothing.

        Examples
        --------
        >>> from dpsumm.report.notes import Note
        >>> good, alarm = Verdict("close to the target"), Note("No overlap.", Severity.ALARM)
        >>> good.qualified(seeded=False, notes=[Note("Delta is large.")]).text
        'close to the target, with 1 warning to check'
        >>> good.qualified(seeded=True, notes=[alarm]).text
        'not private (a seed was given); read the warnings first'
        """
        notes = sorted_notes(notes)
        said = self
        if self.good and alarming(notes):
            said = replace(self, head="read the warnings first", why="")
        elif self.good:
            said = replace(self, head=f"{self.head}{to_check(notes)}")
        if seeded:
            said = replace(said, head=f"not private (a seed was given); {said.head}")
        return said
