"""The ledger: every release is charged before it leaves, by construction.

A release exists only as the return value of :meth:`Ledger.release`, which commits the charge and
the released bytes in one transaction before it returns them. So a release that may have left is
never uncharged, whenever the process dies; and asking again for the same release returns the same
bytes instead of drawing new noise.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import math
import os
import sqlite3
import threading
import uuid
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, get_args

from dpsumm.errors import BudgetExceededError, InvalidDataError, InvalidParameterError
from dpsumm.privacy import accounting
from dpsumm.privacy.events import Charge, Event, Observer, Protected, Unit, same_charges

_log = logging.getLogger(__name__)

_SCHEMA = """
CREATE TABLE charges (
    id INTEGER PRIMARY KEY,
    at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    run TEXT NOT NULL,
    key TEXT NOT NULL,
    protected TEXT NOT NULL,
    message TEXT NOT NULL,
    event TEXT NOT NULL,
    count INTEGER NOT NULL CHECK (count >= 1),
    observer TEXT NOT NULL,
    unit TEXT NOT NULL
);
CREATE TABLE releases (
    run TEXT NOT NULL,
    key TEXT NOT NULL,
    binding TEXT NOT NULL,
    released BLOB NOT NULL,
    PRIMARY KEY (run, key)
);
CREATE TABLE runs (
    run TEXT PRIMARY KEY,
    delta REAL NOT NULL
);
CREATE TABLE caps (
    protected TEXT PRIMARY KEY,
    epsilon REAL NOT NULL,
    delta REAL NOT NULL
);
"""

# The second: a message of SQLite that quotes a damaged schema need not be text.
_UNREADABLE = (sqlite3.Error, UnicodeDecodeError)
_TABLES = {"charges", "releases", "runs", "caps"}
_FIELDS = "protected, message, event, count, observer, unit"
_EVENTS: dict[str, type[Event]] = {kind.__name__: kind for kind in get_args(Event)}


class Ledger(AbstractContextManager["Ledger"]):
    """The books of one data holder.

    Parameters
    ----------
    path
        SQLite file, made if absent; ``None`` keeps the books in memory for one run. The file holds
        public facts and released (noisy) values only.
    run
        Name of the run whose releases are looked up and made; a fresh one by default. To resume a
        run that died, give its name: its releases are returned again, unchanged and uncharged.
    delta
        The delta at which this run is accounted for, fixed before its first release.

    Raises
    ------
    InvalidDataError
        The file is not a ledger.
    InvalidParameterError
        `delta` is not in (0, 1), or the run is known under another delta.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        run: str | None = None,
        delta: float = 1e-5,
    ) -> None:
        accounting.check_delta(delta)
        if run is not None and not (isinstance(run, str) and run):
            raise InvalidParameterError(f"run must be a name (text, not empty), got {run!r}")
        self.run = run or uuid.uuid4().hex
        self.delta = delta
        self._lock = threading.RLock()
        self._path = None if path is None else Path(path)
        try:
            # Transactions are explicit; writers wait for each other, up to a minute.
            self._db = sqlite3.connect(
                ":memory:" if self._path is None else self._path,
                timeout=60,
                isolation_level=None,
                check_same_thread=False,
            )
        except _UNREADABLE as error:
            raise self._unusable(error) from None
        try:
            self._db.execute("PRAGMA synchronous=FULL")
            self._make_tables()
            self._check_run()
            # Whether this run has an earlier life, whose releases are returned again.
            self.resumed = (
                self._db.execute("SELECT 1 FROM runs WHERE run = ?", (self.run,)).fetchone()
                is not None
            )
        except _UNREADABLE as error:
            self._db.close()
            raise self._unusable(error) from None
        except BaseException:
            self._db.close()
            raise

    def _unusable(self, reason: object) -> InvalidDataError:
        if isinstance(reason, sqlite3.OperationalError) and "locked" in str(reason):
            return InvalidDataError(
                f"ledger: {self._path} is in use by another run; nothing was released, try again"
            )
        return InvalidDataError(
            f"ledger: {self._path or 'the ledger'} cannot be used as a ledger ({reason}); give a "
            "path that does not exist yet or one that dpsumm made"
        )

    def _make_tables(self) -> None:
        """Make the tables of a new file; refuse a database of another program, and leave it be."""
        self._db.execute("BEGIN IMMEDIATE")
        rows = self._db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        tables = {row[0] for row in rows}
        if not tables:
            for statement in _SCHEMA.split(";"):
                self._db.execute(statement)
        elif not tables >= _TABLES:
            self._db.execute("ROLLBACK")
            raise self._unusable("it is a database of another program")
        self._db.execute("COMMIT")

    def _rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Return what a query finds; a file that cannot be read is refused."""
        try:
            return self._db.execute(statement, values).fetchall()
        except _UNREADABLE as error:
            raise self._unusable(error) from None

    def _number(self, value: object, below: float = math.inf) -> float:
        """Return an epsilon or delta of the file; SQLite itself lets it be anything."""
        if not isinstance(value, int | float) or not 0 < value < below:
            raise self._unusable("an epsilon or a delta is not a number in its range")
        return float(value)

    def _check_run(self) -> None:
        for (value,) in self._rows("SELECT delta FROM runs WHERE run = ?", self.run):
            delta = self._number(value, 1)
            if delta != self.delta:
                raise InvalidParameterError(
                    f"delta: run {self.run!r} was begun with delta {delta:g}, not {self.delta:g}; "
                    "resume it with that delta or give a new run another name"
                )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def set_cap(self, protected: Protected | str, epsilon: float, delta: float) -> None:
        """Refuse from now on what would bring the total spent on `protected` above a cap.

        The releases of one run compose tightly at the run's own delta. Runs compose by adding up
        their epsilons and deltas, which stays valid when each run is chosen after seeing the last.
        A cap may be lowered or raised; what was spent stays spent. `protected` is whose records:
        ``"target"`` or ``"owners"``.
        """
        party = _party(protected)
        accounting.check_epsilon(epsilon)
        accounting.check_delta(delta)
        self._rows("INSERT OR REPLACE INTO caps VALUES (?, ?, ?)", party.value, epsilon, delta)

    def cap(self, protected: Protected | str) -> tuple[float, float] | None:
        """Return the cap (epsilon, delta) set for `protected`, if any."""
        party = _party(protected)
        caps = [
            (self._number(epsilon), self._number(delta, 1))
            for name, epsilon, delta in self._rows("SELECT protected, epsilon, delta FROM caps")
            if self._protected(name) is party
        ]
        return min(caps, default=None)

    def _protected(self, name: object) -> Protected:
        try:
            return Protected(name)
        except ValueError:
            raise self._unusable("a cap is for nobody known") from None

    def release(
        self,
        key: str,
        charges: Sequence[Charge],
        draw: Callable[[], bytes],
        *,
        binding: str = "",
    ) -> bytes:
        """Charge, draw, record and only then return a release.

        Parameters
        ----------
        key
            Name of the release within the run. A second call with the same key returns the bytes of
            the first, without charge and without calling `draw`; with other charges or another
            `binding` it is refused.
        charges
            What it costs; none if it depends on nobody's data.
        draw
            Makes the release with fresh noise. Called at most once per key, inside the transaction.
        binding
            Digest of the public parameters that the release was made with.

        Raises
        ------
        BudgetExceededError
            The cap would be exceeded. `draw` was not called.
        """
        # One connection is one transaction: threads that share a ledger take turns.
        with self._lock:
            try:
                self._db.execute("BEGIN IMMEDIATE")
                released = self._released(key, charges, binding)
                again = released is not None
                if released is None:
                    released = self._draw(key, charges, draw, binding)
                self._db.execute("COMMIT")
            except BaseException as error:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                if isinstance(error, _UNREADABLE):
                    raise self._unusable(error) from None
                raise
        self._tell(charges, again)
        return released

    def _tell(self, charges: Sequence[Charge], again: bool) -> None:
        # Not the message's own words, which may hold a size that is private under some units.
        if again:
            _log.info("run %s: released before, sent again without a charge", self.run)
            return
        for charge in charges:
            _log.info(
                "run %s: charged to %s, seen by %s: %r, times %d, unit: %s",
                self.run,
                charge.protected.value,
                charge.observer.value,
                charge.event,
                charge.count,
                charge.unit.value,
            )

    def _released(self, key: str, charges: Sequence[Charge], binding: str) -> bytes | None:
        row = self._db.execute(
            "SELECT released, binding FROM releases WHERE run = ? AND key = ?", (self.run, key)
        ).fetchone()
        if row is None:
            return None
        known = self._select("WHERE run = ? AND key = ?", self.run, key)
        if not same_charges(known, charges) or row[1] != binding:
            raise InvalidParameterError(
                f"ledger: release {key!r} of run {self.run!r} was made with other parameters; "
                "resume the run with those, or give the new run another name"
            )
        if type(row[0]) is not bytes:
            raise self._unusable("a release is not bytes")
        return row[0]

    def _draw(
        self, key: str, charges: Sequence[Charge], draw: Callable[[], bytes], binding: str
    ) -> bytes:
        # Only now: a ledger that is opened to be read stays as it was.
        self._db.execute("INSERT OR IGNORE INTO runs VALUES (?, ?)", (self.run, self.delta))
        self._check_run()
        self._refuse_overspend(charges)
        released = draw()
        self._db.executemany(
            f"INSERT INTO charges (run, key, {_FIELDS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [(self.run, key, *_charge_to_row(charge)) for charge in charges],
        )
        self._db.execute(
            "INSERT INTO releases VALUES (?, ?, ?, ?)", (self.run, key, binding, released)
        )
        return released

    def has(self, key: str) -> bool:
        """Return whether this run has made a release of that name."""
        return bool(self._rows("SELECT 1 FROM releases WHERE run = ? AND key = ?", self.run, key))

    def charges(self, *, run: str | None = None) -> tuple[Charge, ...]:
        """Return the charges of one run, or of all runs, oldest first."""
        return self._select("") if run is None else self._select("WHERE run = ?", run)

    def _select(self, where: str, *values: str) -> tuple[Charge, ...]:
        # All rows first: a query that an error leaves half read keeps its lock on the file.
        rows = self._rows(f"SELECT {_FIELDS} FROM charges {where} ORDER BY id", *values)
        try:
            return tuple(_charge_from_row(row) for row in rows)
        except Exception as error:
            # Whatever is wrong: a charge that cannot be read must not count as nothing.
            raise self._unusable(f"{type(error).__name__} in a charge") from None

    def runs(self) -> tuple[str, ...]:
        """Return the names of all runs with a charge, oldest first."""
        names = tuple(
            row[0] for row in self._rows("SELECT run FROM charges GROUP BY run ORDER BY min(id)")
        )
        if not all(isinstance(name, str) for name in names):
            raise self._unusable("the name of a run is not text")
        return names

    def delta_of(self, run: str) -> float:
        """Return the delta at which a run is accounted for."""
        rows = self._rows("SELECT delta FROM runs WHERE run = ?", run)
        if not rows:
            raise InvalidParameterError(f"run: the ledger knows no run {run!r}")
        return self._number(rows[0][0], 1)

    def spent(
        self, protected: Protected | str, *, run: str | None = None, new: Sequence[Charge] = ()
    ) -> tuple[float, float]:
        """Return (epsilon, delta) spent on `protected`, by one run or by all runs together.

        Parameters
        ----------
        protected
            Whose records: ``"target"`` or ``"owners"``.
        run
            Name of the run; all of them by default.
        new
            Charges that would be added to this ledger's own run.
        """
        party = _party(protected)
        epsilon, total_delta = 0.0, 0.0
        deltas = {name: self._number(x, 1) for name, x in self._rows("SELECT run, delta FROM runs")}
        if not deltas.keys() >= set(self.runs()):
            raise self._unusable("a charge is of a run that was never begun")
        for name, delta in deltas.items():
            if run not in (None, name):
                continue
            charges = [*self.charges(run=name), *(new if name == self.run else ())]
            events = [(c.event, c.count) for c in charges if c.protected is party]
            if events:
                epsilon += accounting.compose(events, delta)
                total_delta += delta
        return epsilon, total_delta

    def _refuse_overspend(self, new: Sequence[Charge]) -> None:
        for charge in new:
            cap = self.cap(charge.protected)
            if cap is None:
                continue
            epsilon, delta = self.spent(charge.protected, new=new)
            # Deltas are written by people; their sum may differ from the cap in the last bit.
            if epsilon > cap[0] or delta > cap[1] * (1 + 1e-12):
                raise BudgetExceededError(
                    f"{charge.message} would bring what is spent on the {charge.protected.value} "
                    f"to epsilon {epsilon:.4g} and delta {delta:.4g}, above the cap of "
                    f"({cap[0]:g}, {cap[1]:g}); nothing was sent. Ask for a smaller epsilon or "
                    "delta, or raise the cap"
                )


def _party(protected: Protected | str) -> Protected:
    try:
        return Protected(protected)
    except ValueError:
        raise InvalidParameterError(
            f"protected must be 'target' or 'owners', got {protected!r}"
        ) from None


def _charge_to_row(charge: Charge) -> tuple[str, str, str, int, str, str]:
    return (
        charge.protected.value,
        charge.message,
        json.dumps(
            {"kind": type(charge.event).__name__, **dataclasses.asdict(charge.event)},
            sort_keys=True,
        ),
        charge.count,
        charge.observer.value,
        charge.unit.value,
    )


def _charge_from_row(row: tuple[str, str, str, int, str, str]) -> Charge:
    protected, message, event, count, observer, unit = row
    fields = json.loads(event)
    kind = _EVENTS[fields.pop("kind")]
    if type(count) is not int or count < 1 or type(message) is not str:
        raise ValueError("count or message")
    return Charge(
        Protected(protected), message, kind(**fields), count, Observer(observer), Unit(unit)
    )
