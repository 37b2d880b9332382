"""The ledger: every release is charged before it leaves, by construction.

A release exists only as the return value of :meth:`Ledger.release`, which commits the charge and
the released bytes in one transaction before it returns them. So a release that may have left is
never uncharged, whenever the process dies; and asking again for the same release returns the same
bytes instead of drawing new noise.

To open books and to begin them are two acts: a path that was mistyped must not become a book
without a cap. What the file looks like: `dpsumm.privacy.book_format`.
"""

from __future__ import annotations

import logging
import math
import os
import sqlite3
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from dpsumm.errors import BudgetExceededError, InvalidDataError, InvalidParameterError
from dpsumm.privacy import accounting, book_format
from dpsumm.privacy.events import Charge, Protected, same_charges
from dpsumm.privacy.seen import Seen, add_mark

_log = logging.getLogger(__name__)

# The second: a message of SQLite that quotes a damaged schema need not be text.
_UNREADABLE = (sqlite3.Error, UnicodeDecodeError)
# Of a file that is not a ledger or is damaged; other errors of SQLite are of the disk.
_DAMAGED = ("not a database", "malformed", "no such", "has no column", "constraint", "datatype")

Limits = Mapping[str, tuple[float, float]]


@dataclass(frozen=True)
class Line:
    """A charge as it stands in the books.

    Attributes
    ----------
    at
        When it was charged, UTC.
    run, delta
        The run, and the delta at which that is accounted for.
    charge
        What was charged.
    """

    at: str
    run: str
    delta: float
    charge: Charge

    @property
    def epsilon(self) -> float:
        """Epsilon of this charge alone. A run's charges compose to less than their sum."""
        return accounting.compose([(self.charge.event, self.charge.count)], self.delta)


@dataclass(frozen=True)
class CapChange:
    """A cap that was set: when (None: before dates were kept), for whom, and to what."""

    at: str | None
    protected: Protected
    epsilon: float
    delta: float


class Ledger(AbstractContextManager["Ledger"]):
    """The books of one data holder.

    Parameters
    ----------
    path
        SQLite file that `create` made; ``None`` keeps the books in memory for one run. The file
        holds public facts and released (noisy) values only. Beside it lies ``<path>.seen``, by
        which a copy that was put back is noticed; move both together.
    run
        Name of the run whose releases are looked up and made; a fresh one by default. To resume a
        run that died, give its name: its releases are returned again, unchanged and uncharged.
    delta
        The delta at which this run is accounted for, fixed before its first release.

    Raises
    ------
    InvalidDataError
        The file is not a ledger, or of a version of dpsumm that is not known here.
    InvalidParameterError
        There is no file, `delta` is not in (0, 1), or the run is known under another delta.
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
        if path is not None and not isinstance(path, (str, os.PathLike)):
            raise InvalidParameterError(
                f"ledger must be the path of a ledger, got {type(path).__name__}; give the path of "
                "its file"
            )
        self.run = run or uuid.uuid4().hex
        self.delta = delta
        self._lock = threading.RLock()
        self._changed = False
        self._path = None if path is None else Path(path)
        self._seen = None if self._path is None else Seen(self._path)
        if self._path is not None and not self._path.exists():
            raise InvalidParameterError(
                f"ledger: there is no ledger {self._path}; correct the path, or make the ledger "
                f"once, with Ledger.create (dpsumm ledger create {self._path})"
            )
        try:
            self._db = _connect(self._path)
        except _UNREADABLE as error:
            raise self._failed(error) from None
        try:
            if self._path is None:
                book_format.create(self._db)
            if fault := book_format.fault(self._db):
                raise self._unusable(fault)
            self._check_run()
            # Whether this run has an earlier life, whose releases are returned again.
            self.resumed = (
                self._db.execute("SELECT 1 FROM runs WHERE run = ?", (self.run,)).fetchone()
                is not None
            )
        except _UNREADABLE as error:
            self._db.close()
            raise self._failed(error) from None
        except BaseException:
            self._db.close()
            raise

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        caps: Limits | None = None,
        run: str | None = None,
        delta: float = 1e-5,
    ) -> Ledger:
        """Make the file of new books, readable by its user alone, and open it.

        Parameters
        ----------
        path
            Where nothing is yet.
        caps
            Whose records to (epsilon, delta), as for `set_cap`.
        run, delta
            As for `Ledger`.

        Raises
        ------
        InvalidParameterError
            Something is at `path`, or a cap or `delta` is out of range.
        InvalidDataError
            The file cannot be written.
        """
        accounting.check_delta(delta)
        try:
            limits = [_limit(party, *cap) for party, cap in (caps or {}).items()]
        except (AttributeError, TypeError):
            raise InvalidParameterError(
                "caps must be a dict of whose records to (epsilon, delta), such as "
                f"{{'target': (1, 1e-5)}}, got {caps!r}"
            ) from None
        path = Path(path)
        seen = Seen(path)
        if seen.path.exists() and not path.exists():
            raise InvalidParameterError(
                f"ledger: {seen.path} is left of a ledger that was at {path}: put that back, give "
                "another path, or remove this file if nothing of that ledger counts any longer"
            )
        try:
            # SQLite gives its journal the permissions of the file.
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except FileExistsError:
            raise InvalidParameterError(
                f"ledger: {path} exists already; open it with Ledger, or give another path"
            ) from None
        except OSError as error:
            raise InvalidDataError(
                f"ledger: {path} cannot be used as a ledger ({error.strerror}); give a path in a "
                "directory that exists and may be written to"
            ) from None
        try:
            db = _connect(path)
            try:
                db.execute("BEGIN IMMEDIATE")
                book_format.create(db)
                for limit in limits:
                    db.execute(_SET_CAP, limit)
                add_mark(db)
                db.execute("COMMIT")
                seen.catch_up(db)
            finally:
                db.close()
        except BaseException as error:
            path.unlink()
            if isinstance(error, (*_UNREADABLE, OSError)):
                raise InvalidDataError(
                    f"ledger: {path} cannot be written ({error}); it was not made"
                ) from None
            raise
        return cls(path, run=run, delta=delta)

    def _unusable(self, reason: object) -> InvalidDataError:
        return InvalidDataError(
            f"ledger: {self._path or 'the ledger'} cannot be used as a ledger ({reason}); give the "
            "path of one that dpsumm made, or make one with Ledger.create (dpsumm ledger create)"
        )

    def _failed(
        self, error: Exception, fate: str = "nothing more was charged or sent"
    ) -> InvalidDataError:
        """Return the error to raise when SQLite fails; `fate` is that of the present release."""
        if isinstance(error, UnicodeDecodeError) or any(text in str(error) for text in _DAMAGED):
            return self._unusable(error)
        if "closed database" in str(error):
            return InvalidDataError(
                f"ledger: {self._path or 'the ledger'} was closed; {fate}, open it again"
            )
        if "locked" in str(error):
            return InvalidDataError(
                f"ledger: {self._path} is in use by another run; {fate}, try again"
            )
        return InvalidDataError(
            f"ledger: {self._path} could not be read or written ({error}); {fate}. What it has "
            "recorded stays charged (dpsumm ledger show lists it). Put the cause right, such as a "
            f"full disk, and run again with run={self.run!r}: what was released is sent again and "
            "not charged twice"
        )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Write all or nothing, and keep the mark of what was written beside the file."""
        # One connection is one transaction: threads that share a ledger take turns.
        with self._lock:
            self._changed = False
            fate = "this was neither charged nor sent"
            try:
                self._db.execute("BEGIN IMMEDIATE")
                yield
                fate = "this may have been charged and was not sent"
                self._db.execute("COMMIT")
            except BaseException as error:
                with suppress(sqlite3.Error):
                    if self._db.in_transaction:
                        self._db.execute("ROLLBACK")
                if isinstance(error, _UNREADABLE):
                    raise self._failed(error, fate) from None
                raise
            if self._changed and self._seen is not None:
                try:
                    self._seen.catch_up(self._db)
                except (OSError, InvalidParameterError, *_UNREADABLE) as error:
                    raise self._failed(error, "this was charged and not sent") from None

    def _begin_change(self, *, accepted: bool = False) -> None:
        """Before what writes: refuse a copy that was put back, and bring an old file up to date."""
        fault = book_format.fault(self._db)
        if fault:  # since it was opened
            raise self._unusable(fault)
        if book_format.version_of(self._db) < book_format.VERSION:
            try:
                book_format.migrate(self._db)
            except _UNREADABLE:
                raise
            except Exception as error:
                raise self._unusable(f"{type(error).__name__} in a charge") from None
        if self._seen is not None and not accepted:
            try:
                fault = self._seen.missing_from(self._db)
            except OSError as error:
                fault = f"{self._seen.path.name} cannot be read ({error.strerror})"
            if fault:
                raise InvalidDataError(
                    f"ledger: {self._path} may have lost what was charged ({fault}). Nothing was "
                    "charged or sent. Put the latest file and its mark back; or, if they are lost, "
                    f"accept this one with Ledger.accept (dpsumm ledger accept {self._path}) and "
                    "lower its caps by what was spent without it"
                )
        add_mark(self._db, accepted=accepted)
        self._changed = True

    def accept(self) -> None:
        """Go on with a file that was put back or moved alone, although entries may be missing.

        What they cost stays spent and is not counted any longer: lower the caps by it. That the
        file was accepted is recorded with its date.
        """
        with self._transaction():
            self._begin_change(accepted=True)

    def _rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Return what a query finds; a file that cannot be read is refused."""
        try:
            return self._db.execute(statement, values).fetchall()
        except _UNREADABLE as error:
            raise self._failed(error) from None

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
        A cap may be lowered or raised, which is recorded; what was spent stays spent. `protected`
        is whose records: ``"target"`` or ``"owners"``.
        """
        limit = _limit(protected, epsilon, delta)
        with self._transaction():
            self._begin_change()
            self._db.execute(_SET_CAP, limit)

    def cap(self, protected: Protected | str) -> tuple[float, float] | None:
        """Return the cap (epsilon, delta) set for `protected`, if any."""
        party = Protected(protected)
        caps = [change for change in self.cap_changes() if change.protected is party]
        return (caps[-1].epsilon, caps[-1].delta) if caps else None

    def cap_changes(self) -> tuple[CapChange, ...]:
        """Return every cap that was set, oldest first."""
        # Version 0 has no dates.
        at = "at" if book_format.version_of(self._db) else "NULL"
        return tuple(
            CapChange(
                None if at is None else self._text(at),
                self._protected(name),
                self._number(epsilon),
                self._number(delta, 1),
            )
            for at, name, epsilon, delta in self._rows(
                f"SELECT {at}, protected, epsilon, delta FROM caps ORDER BY rowid"
            )
        )

    def accepted(self) -> tuple[str, ...]:
        """Return when a file that was put back or moved alone was accepted, oldest first."""
        if not book_format.version_of(self._db):
            return ()
        rows = self._rows("SELECT at FROM marks WHERE accepted ORDER BY id")
        return tuple(self._text(at) for (at,) in rows)

    def _text(self, value: object) -> str:
        if not isinstance(value, str):
            raise self._unusable("a date or a name is not text")
        return value

    def _protected(self, name: object) -> Protected:
        try:
            return Protected(self._text(name))
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
        InvalidParameterError
            The key was released with other parameters; or there is a cap, and the ledger would hold
            charges on one party for two units, whose sum holds for neither. `draw` was not called.
        """
        with self._transaction():
            released = self._released(key, charges, binding)
            again = released is not None
            if released is None:
                self._begin_change()
                released = self._draw(key, charges, draw, binding)
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
            f"INSERT INTO charges (run, key, {book_format.CHARGE}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [(self.run, key, *book_format.charge_to_row(charge)) for charge in charges],
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
        rows = self._rows(f"SELECT {book_format.CHARGE} FROM charges {where} ORDER BY id", *values)
        return tuple(self._charge(row) for row in rows)

    def _charge(self, row: Sequence[Any]) -> Charge:
        try:
            return book_format.charge_from_row(row)
        except Exception as error:
            # Whatever is wrong: a charge that cannot be read must not count as nothing.
            raise self._unusable(f"{type(error).__name__} in a charge") from None

    def lines(self) -> tuple[Line, ...]:
        """Return the charges of all runs with their dates, oldest first."""
        deltas = {run: self.delta_of(run) for run in self.runs()}
        return tuple(
            Line(self._text(at), run, deltas[run], self._charge(row))
            for at, run, *row in self._rows(
                f"SELECT at, run, {book_format.CHARGE} FROM charges ORDER BY id"
            )
            if run in deltas  # not one that was charged since
        )

    def runs(self) -> tuple[str, ...]:
        """Return the names of all runs with a charge, oldest first."""
        rows = self._rows("SELECT run FROM charges GROUP BY run ORDER BY min(id)")
        return tuple(self._text(name) for (name,) in rows)

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
        party = Protected(protected)
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
            all_ = (*self.charges(), *new)
            units = {c.unit.value for c in all_ if c.protected is charge.protected}
            if others := units - {charge.unit.value}:
                raise InvalidParameterError(
                    f"unit: {charge.message} is for the unit {charge.unit.value!r}, and the ledger "
                    f"has what is spent on the {charge.protected.value} for "
                    f"{' and '.join(map(repr, sorted(others)))}; their sum, which the cap would "
                    "bound, holds for neither. Nothing was sent. Keep one unit to a ledger: ask "
                    "for the same unit, or give the runs of this one a ledger of their own"
                )
            epsilon, delta = self.spent(charge.protected, new=new)
            # Deltas are written by people; their sum may differ from the cap in the last bit.
            if epsilon > cap[0] or delta > cap[1] * (1 + 1e-12):
                raise BudgetExceededError(
                    f"{charge.message} would bring what is spent on the {charge.protected.value} "
                    f"to epsilon {epsilon:.4g} and delta {delta:.4g}, above the cap of "
                    f"({cap[0]:g}, {cap[1]:g}); nothing was sent. Ask for a smaller epsilon or "
                    "delta, or raise the cap"
                )


def _limit(protected: Protected | str, epsilon: float, delta: float) -> tuple[str, float, float]:
    party = Protected(protected)
    accounting.check_epsilon(epsilon)
    accounting.check_delta(delta)
    return party.value, epsilon, delta


_SET_CAP = "INSERT INTO caps (protected, epsilon, delta) VALUES (?, ?, ?)"


def _connect(path: Path | None) -> sqlite3.Connection:
    """Open a file that exists, or memory. Writers wait for each other, up to a minute."""
    where = ":memory:" if path is None else f"{path.resolve().as_uri()}?mode=rw"
    db = sqlite3.connect(
        where, timeout=60, isolation_level=None, check_same_thread=False, uri=path is not None
    )
    try:
        db.execute("PRAGMA synchronous=FULL")
    except BaseException:
        db.close()
        raise
    return db
