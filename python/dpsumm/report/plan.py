"""A prediction of a run from public numbers, which prints alike for all products."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import fill

from dpsumm.privacy.facts import facts
from dpsumm.report.notes import CALLS, Note, budget_notes, notebook_notes
from dpsumm.report.verdict import Verdict


class Plan:
    """Base of plans. A plan has figures of its own, a verdict, and notes with the way out."""

    @property
    def title(self) -> str:
        """The run that is planned, in a line."""
        raise NotImplementedError

    @property
    def verdict(self) -> Verdict:
        """Whether such a run is useful, by the levels of a result's verdict."""
        raise NotImplementedError

    @property
    def advice(self) -> tuple[Note, ...]:
        """What to put right before anything is spent, apart from a weak budget."""
        return tuple(self._advice())

    @property
    def notes(self) -> tuple[Note, ...]:
        """What the budget fails to promise, then the advice."""
        return (*self.budget_notes, *self.advice)

    @property
    def budget_notes(self) -> tuple[Note, ...]:
        """What the budget fails to promise."""
        return tuple(budget_notes(*self._budget))

    @property
    def _budget(self) -> tuple[float, float, int]:
        """Epsilon, delta, and the number of protected units."""
        raise NotImplementedError

    def _advice(self) -> Iterable[Note]:
        raise NotImplementedError

    def _rows(self) -> list[tuple[str, str]]:
        raise NotImplementedError

    def __str__(self) -> str:
        width = 2 + max(len(name) for name, _ in self._rows())
        lines = [
            fill(f"  {name:<{width}}{value}", 80, subsequent_indent=" " * (width + 2))
            for name, value in self._rows()
        ]
        verdict = self.verdict.text
        said = [
            f"Verdict: {self.verdict.level}. {verdict[0].upper()}{verdict[1:]}.",
            *(f"{CALLS[note.severity]}: {note}" for note in self.notes),
        ]
        return "\n".join([self.title, *lines, *(fill(text, 80) for text in said)])

    def _repr_html_(self) -> str:
        rows = [*self._rows(), ("verdict", f"{self.verdict.level}: {self.verdict}")]
        return f"<div>{facts(self.title, rows)}{notebook_notes(self.notes)}</div>"
