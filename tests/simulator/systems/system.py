"""What a system brings so that its runs can be simulated."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dpsumm.exchange.roles import Party
from simulator.plan import CURATOR


class System(ABC):
    """Runs of one subsystem.

    Attributes
    ----------
    name
        What it is called here.
    names
        The parties.
    secret
        A text that is in every record, and so must be in no refusal.
    may_refuse
        What refusals say that are allowed after the faults.
    """

    name: str
    names: tuple[str, ...]
    secret = "marker-"
    may_refuse: tuple[str, ...] = ()

    def run_name(self, run: int) -> str:
        """Return the name of a run."""
        return f"run {run}"

    def books(self, folder: Path) -> Mapping[str, Path]:
        """Return the ledgers by process."""
        return {CURATOR: folder / "books.db"}

    def journal(self, folder: Path) -> Path:
        """Return the journal's file."""
        return folder / "books.db.answers"

    def result(self, folder: Path, run: int) -> Path:
        """Return where a run's result is saved."""
        return folder / f"{run}.csv"

    def before(  # noqa: B027
        self, world: Any, name: str, run: int, answer: bytes, records: int
    ) -> None:
        """Do what a party does with an answer before it leaves; an error keeps it."""

    @abstractmethod
    def prepare(self, world: Any) -> None:
        """Make the ledgers."""

    @abstractmethod
    def curate(self, world: Any, run: int) -> Any:
        """Run to the end as the curator; save the result in the world's folder and return it."""

    @abstractmethod
    def party(self, world: Any, name: str) -> Party:
        """Return a party, made anew from what it keeps."""

    @abstractmethod
    def payloads(self, message: bytes) -> Iterable[bytes]:
        """Return what a message holds that must have been charged, as the ledger keeps it."""

    @abstractmethod
    def check(self, world: Any, run: int, result: Any) -> None:
        """Check a result against what parties sent."""

    def check_asked(self, world: Any, run: str, letter: Any) -> None:  # noqa: B027
        """Check a letter that leaves the curator; the run by its name."""

    def check_sent(self, world: Any, sent: Any) -> None:  # noqa: B027
        """Check an answer that leaves its party."""

    def look_back(self, world: Any) -> None:  # noqa: B027
        """Check what shows only in the end."""
