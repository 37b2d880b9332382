"""A disk of the tests' own: what dpsumm does to SQLite and files, each act a point that can fail.

Every statement, every file that is opened, synced, renamed or removed, and whatever else a test
passes through `Disk.act` is numbered. A plan says what befalls which.
"""

import errno
import os
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, NoReturn
from unittest import mock

from dpsumm.basics import atomic
from dpsumm.exchange import journal
from dpsumm.privacy import book, receipts

_CONNECT, _UNLINK = sqlite3.connect, Path.unlink
# Of `os`, what changes a disk. Descriptors may always be closed, as by the end of a process.
_ACTS = ("open", "fsync", "chmod", "replace")


class Killed(BaseException):
    """The process ended here. No code of a dead process runs: nothing but a test catches it."""


class Fault(Enum):
    """What befalls an act."""

    ERROR = "error"  # not done, and it says so
    FULL = "full"  # not done for want of room, and it says so
    LATE_ERROR = "late error"  # done, and it says that it was not
    KILL_BEFORE = "kill before"
    KILL_AFTER = "kill after"


@dataclass(frozen=True)
class Act:
    """One act: its number from 0, whose it is, "sql", "file" or a test's own kind, and what."""

    number: int
    process: str
    kind: str
    what: str
    path: str = ""


Plan = Callable[[Act], Fault | None]


def once(number: int, fault: Fault) -> Plan:
    """Return the plan by which act `number` fails and no other."""
    return lambda act: fault if act.number == number else None


def from_then_on(number: int, fault: Fault, *kinds: str) -> Plan:
    """Return the plan by which every act of these kinds from `number` on fails."""
    return lambda act: fault if act.number >= number and act.kind in kinds else None


@dataclass
class _Process:
    name: str
    dead: bool = False
    connections: list[sqlite3.Connection] = field(default_factory=list)


class Disk(AbstractContextManager["Disk"]):
    """Stands between dpsumm and the disk while it is entered; one thread only.

    Attributes
    ----------
    plan
        What befalls which act; None: nothing. To be set before each trial.
    log
        What was done or tried.
    for_real
        Whether a kill is one: the system's, of this very process.
    """

    def __init__(self) -> None:
        self.plan: Plan | None = None
        self.log: list[Act] = []
        self.for_real = False
        self._processes = [_Process("")]
        self._undo = ExitStack()

    def __enter__(self) -> "Disk":
        with ExitStack() as stack:
            stack.enter_context(mock.patch.object(sqlite3, "connect", self._connect))
            stack.enter_context(mock.patch.object(Path, "unlink", self._unlink()))
            for module in (atomic, book, journal, receipts):
                stack.enter_context(mock.patch.object(module, "os", _Os(self)))
            self._undo = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    def begin(self, plan: Plan | None = None) -> None:
        """Begin another trial: an empty log, acts from number 0, and a plan."""
        self.log, self.plan = [], plan

    @contextmanager
    def process(self, name: str) -> Iterator[None]:
        """Run what is inside as a process: killed, it does nothing more, and its locks are free.

        `Killed` comes out of it. A process inside another is a party's on a machine of its own:
        its death is not the other's.
        """
        self._processes.append(_Process(name))
        try:
            yield
        finally:
            # An unfinished transaction is rolled back, as by who opens the file next.
            for connection in self._processes.pop().connections:
                connection.close()

    def act(
        self,
        kind: str,
        what: str,
        do: Callable[[], Any],
        path: str = "",
        error: Callable[[Fault], Exception] = lambda fault: ConnectionError(fault.value),
    ) -> Any:
        """Do something at a point of its own, or fail as planned."""
        process = self._processes[-1]
        if process.dead:
            raise Killed
        act = Act(len(self.log), process.name, kind, " ".join(what.split()), path)
        self.log.append(act)
        fault = None if self.plan is None else self.plan(act)
        if fault is Fault.KILL_BEFORE:
            self._kill(process)
        if fault in (Fault.ERROR, Fault.FULL):
            raise error(fault)
        done = do()
        if fault in (Fault.KILL_AFTER, Fault.LATE_ERROR):
            done = None  # a cursor that is kept would keep its lock
        if fault is Fault.KILL_AFTER:
            self._kill(process)
        if fault is Fault.LATE_ERROR:
            raise error(fault)
        return done

    def _kill(self, process: _Process) -> NoReturn:
        if self.for_real:
            os.kill(os.getpid(), signal.SIGKILL)
        process.dead = True
        raise Killed

    def _connect(self, where: Any, **given: Any) -> sqlite3.Connection:
        disk, path = self, str(where)

        class Connection(sqlite3.Connection):
            def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
                # A process that dies loses nothing that it wrote: only a machine would.
                quick = statement.replace("synchronous=FULL", "synchronous=OFF")
                do = super().execute
                return disk.act("sql", statement, lambda: do(quick, *values), path, _sql_error)

            def executemany(self, statement: str, values: Any) -> sqlite3.Cursor:
                do = super().executemany
                return disk.act("sql", statement, lambda: do(statement, values), path, _sql_error)

        def connect() -> sqlite3.Connection:
            made = _CONNECT(where, **given, factory=Connection)
            self._processes[-1].connections.append(made)
            return made

        return self.act("sql", "connect", connect, path, _sql_error)

    def _unlink(self) -> Callable[..., None]:
        disk = self

        def unlink(path: Path, missing_ok: bool = False) -> None:
            do = lambda: _UNLINK(path, missing_ok=missing_ok)  # noqa: E731
            disk.act("file", f"unlink {path.name}", do, str(path), _file_error)

        return unlink


class _Os:
    """The module `os`, with points."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        if name not in _ACTS:
            return real

        def act(first: Any, *more: Any) -> Any:
            # Whether it is synced shows only when a machine loses its power.
            do = (lambda: None) if name == "fsync" else (lambda: real(first, *more))
            what = name if isinstance(first, int) else f"{name} {Path(first).name}"
            path = "" if isinstance(first, int) else str(first)
            return self._disk.act("file", what, do, path, _file_error)

        return act


def _sql_error(fault: Fault) -> sqlite3.Error:
    full = fault is Fault.FULL
    return sqlite3.OperationalError("database or disk is full" if full else "disk I/O error")


def _file_error(fault: Fault) -> OSError:
    number = errno.ENOSPC if fault is Fault.FULL else errno.EIO
    return OSError(number, os.strerror(number))


def full_for(patch: Any, name: str) -> None:
    """Have the disk be full for the file of this name, by pytest's `monkeypatch`."""
    replace = os.replace

    def full(source: Any, target: Any) -> None:
        if Path(target).name == name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replace(source, target)

    patch.setattr(os, "replace", full)
