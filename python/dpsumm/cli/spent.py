"""What an interrupted command has spent, and how to go on with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from dpsumm.errors import DpsummError
from dpsumm.privacy.events import Protected
from dpsumm.privacy.ledger import Ledger
from dpsumm.report.numbers import round_up


@contextmanager
def told_when_stopped(
    protected: Protected, books: Mapping[str, Path], run: str | None, without: Sequence[str] = ()
) -> Iterator[None]:
    """Say what was spent if the run is interrupted (Ctrl-C), and how to go on.

    Parameters
    ----------
    protected
        Whose records the run's releases are charged on.
    books
        The run's ledgers: as ``--ledger`` takes them, to their files.
    run
        Name of the run in them.
    without
        Owners that release too, and have no ledger beside those of the others.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_told(protected, books, run, without)) from None


def _told(
    protected: Protected, books: Mapping[str, Path], run: str | None, without: Sequence[str]
) -> str:
    if not books:
        return "what it released, if it did, is spent: no --ledger kept it"
    said = []
    for given, path in books.items():
        where = f" in {given}" if len(books) > 1 or without else ""
        try:
            with Ledger(path) as book:
                epsilon = book.spent(protected, run=run)[0]
        except DpsummError as error:
            said.append(f"what was spent{where} cannot be told ({error})")
        else:
            if epsilon:
                said.append(f"epsilon {round_up(epsilon)} of the {protected.value} is spent{where}")
    if without:
        names = ", ".join(map(repr, without))
        said.append(
            f"what {names} released, if anything, is spent: no --ledger kept it, and an equal run "
            "costs it again"
        )
    elif not said:
        return "nothing was spent"
    else:
        again = " ".join(f"--ledger {given}" for given in books)
        said.append(f"run again with {again} --run {run}: nothing is charged twice")
    return "; ".join(said)
