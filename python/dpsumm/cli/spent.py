"""The cost of a command's run, and how to go on if it was interrupted or the disk is full."""

from __future__ import annotations

import shlex
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from dpsumm.cli.stopped import Charging
from dpsumm.errors import DpsummError, InvalidDataError
from dpsumm.privacy.events import Protected
from dpsumm.privacy.ledger import Ledger
from dpsumm.report.notes import Note, Severity
from dpsumm.report.numbers import round_up


class Kept:
    """A run's name, and the ledgers that keep its charges.

    Parameters
    ----------
    protected
        Whose records the run's releases are charged on.
    books
        The run's ledgers: as ``--ledger`` takes them, to their files.
    run
        Its name, if one was given; else one is made here, if there is a ledger, so that whoever
        stops the run can be told by which name it goes on.
    without
        Owners that release too, and have no ledger next to those of the others.
    """

    def __init__(
        self,
        protected: Protected,
        books: Mapping[str, Path],
        run: str | None,
        without: Sequence[str] = (),
    ) -> None:
        self.run = run or (uuid.uuid4().hex if books else None)
        self._protected, self._books, self._without = protected, books, without
        self._options = " ".join(f"--ledger {shlex.quote(given)}" for given in books)
        self._named = shlex.quote(self.run or "")  # in commands that people copy
        self._written: list[str] = []

    @contextmanager
    def told_when_stopped(self) -> Iterator[None]:
        """Report files and cost if the run is interrupted (Ctrl-C), and how to go on."""
        Charging.begun = True
        try:
            yield
        except KeyboardInterrupt:
            complete = [f"complete: {', '.join(self._written)}"] if self._written else []
            raise KeyboardInterrupt("; ".join([*complete, self._told()])) from None

    def uncounted(self, option: str = "--ledger FILE") -> Note | None:
        """Return a note that no ledger counts the cost, or None if one does.

        Parameters
        ----------
        option
            What would have one count it.
        """
        if self._books and not self._without:
            return None
        whose = f" of {', '.join(map(repr, self._without))}" if self._without else ""
        text = f"No ledger{whose}: nothing adds this epsilon to that of other runs; {option} does."
        return Note(text, Severity.INFO)

    def _told(self) -> str:
        if not self._books:
            return "what it released, if it did, is spent: no --ledger kept it"
        said = []
        for given, path in self._books.items():
            where = f" in {given}" if len(self._books) > 1 or self._without else ""
            try:
                with Ledger(path) as book:
                    epsilon = book.spent(self._protected, run=self.run)[0]
            except DpsummError as error:
                said.append(f"what was spent{where} cannot be told ({error})")
            else:
                if epsilon:
                    whose = self._protected.value
                    said.append(f"epsilon {round_up(epsilon)} of the {whose} is spent{where}")
        if self._without:
            names = ", ".join(map(repr, self._without))
            said.append(
                f"what {names} released, if anything, is spent: no --ledger kept it, and an equal "
                "run costs it again"
            )
        elif not said:
            return "nothing was spent"
        else:
            again = f"run again with {self._options} --run {self._named}"
            said.append(f"{again}: nothing is charged twice")
        return "; ".join(said)

    def write_all(self, spent: str, *files: tuple[Path | None, Callable[[Path], object]]) -> None:
        """Write the files; if the disk is full, say what was written and spent and how to resume.

        Parameters
        ----------
        spent
            What the run cost, as a sentence without its end.
        files
            Each that was asked for, with what writes it.

        Raises
        ------
        InvalidDataError
            A file cannot be written.
        """
        for path, write in files:
            if path is None:
                continue
            try:
                write(path)
            except OSError as error:
                kept = (
                    f"{', '.join(written)} was written"
                    if (written := self._written)
                    else "nothing was written"
                )
                again = "An equal run costs it again: what it released was kept in no --ledger"
                if self._books:
                    again = (
                        f"Make room and run again with {self._options} and --run {self._named}: "
                        "nothing is charged twice"
                    )
                raise InvalidDataError(
                    f"{path} cannot be written ({error.strerror}); {kept}. {spent}. {again}"
                ) from None
            self._written.append(str(path))
