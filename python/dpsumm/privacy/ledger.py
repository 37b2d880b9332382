"""The ledger, by whose construction every release is charged before it leaves.

A release exists only as the return value of :meth:`Ledger.release`, which commits the charge and
the released bytes in one transaction before it returns them. So a release that may have left is
never uncharged, whenever the process dies. Asking again for the same release returns the same
bytes instead of drawing new noise.

The file is a `dpsumm.privacy.book.Book`. This module charges to it, and adds charges up.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from dpsumm.basics.checks import plain
from dpsumm.basics.documents import parse_json
from dpsumm.basics.names import check_name
from dpsumm.basics.visible import logger
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy import accounting, book_format
from dpsumm.privacy.book import Book
from dpsumm.privacy.book_format import CHARGE, charge_from_row, number, party, text
from dpsumm.privacy.caps import CapChange, Limits, limit_of, limits_of, refuse_beyond
from dpsumm.privacy.events import Charge, Protected, same_charges
from dpsumm.privacy.facts import facts

_log = logger(__name__)

# Under which name a run's public settings stand among its releases; they cost nothing.
SETTINGS = "public settings"
_RELEASE = "INSERT INTO releases VALUES (?, ?, ?, ?)"


class OtherReleaseError(InvalidParameterError):
    """A release of that name was made in this run, with other parameters."""


@dataclass(frozen=True)
class Line:
    """A charge in the books.

    Attributes
    ----------
    at
        When it was charged, UTC.
    run, delta
        The run, and the delta at which that is accounted for.
    charge
        Event, count, and the parties and messages that it is for.
    """

    at: str
    run: str
    delta: float
    charge: Charge

    @property
    def epsilon(self) -> float:
        """Epsilon of this charge alone. A run's charges compose to less than their sum."""
        return accounting.compose([(self.charge.event, self.charge.count)], self.delta)


class Ledger(AbstractContextManager["Ledger"]):
    """The charges of all runs on one data holder's records, and a cap on their total.

    Parameters
    ----------
    path
        SQLite file that `create` made. With ``None`` the charges of one run are kept in memory. The
        file has only public facts and released (noisy) values. ``<path>.seen``, next to it, shows
        if an old copy was put back, so move both together.
    run
        Name of the run (by default a fresh one). Give the name of a run that was interrupted to
        resume it. Its releases are returned again, unchanged and uncharged.
    delta
        The delta at which this run is accounted for, fixed before its first release.

    Raises
    ------
    InvalidDataError
        The file is not a ledger, or of a version of dpsumm that is not known here.
    InvalidParameterError
        There is no file, `delta` is not in (0, 1), or the run is known under another delta.

    See Also
    --------
    dpsumm.privacy.PrivacyReport : Cost of one run.
    dpsumm.privacy.Charge : One entry.

    Examples
    --------
    >>> import dpsumm
    >>> from dpsumm.privacy import Charge, Gaussian, Protected
    >>> with dpsumm.Ledger(run="example", delta=1e-5) as book:
    ...     mean = Charge(Protected.TARGET, "a noisy mean", Gaussian(noise_multiplier=4.0))
    ...     released = book.release("mean", [mean], lambda: b"drawn with noise")
    ...     epsilon, delta = book.spent("target")
    >>> 0.8 < epsilon < 1.2, delta
    (True, 1e-05)
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        run: str | None = None,
        delta: float = 1e-5,
    ) -> None:
        delta = plain(delta)
        accounting.check_delta(delta)
        if run is not None:
            check_name(run, "run")
        if path is not None and not isinstance(path, (str, os.PathLike)):
            raise InvalidParameterError(
                f"ledger must be the path of a ledger, got {type(path).__name__}. Give the path of "
                "its file"
            )
        self.run = run or uuid.uuid4().hex
        self.delta = delta
        #: The file; None for books in memory.
        self.path = None if path is None else Path(path)
        self._book = Book(self.path, self.run)
        try:
            begun = self._deltas()
            self._check_delta(begun)
        except BaseException:
            self.close()
            raise
        # Whether this run has an earlier life, whose releases are returned again.
        self.resumed = self.run in begun
        # What this run is held to, until its first release is in the books together with it.
        self._settings: dict[str, str] = {}

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
        limits = limits_of(caps or {})
        Book.create(Path(path), limits)
        return cls(path, run=run, delta=delta)

    def accept(self) -> bool:
        """Go on with a file that was put back or moved alone, although entries may be missing.

        Their cost stays spent and is not counted any longer, so lower the caps by it. The file
        records with its date that it was accepted. Return whether it had to be, since a ledger
        that lacks nothing is left as it is.
        """
        with self._book.transaction():
            needed = self._book.loss() is not None
            if needed:
                self._book.begin_change(accepted=True)
        return needed

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._book.db.close()

    def set_cap(self, protected: Protected | str, epsilon: float, delta: float) -> None:
        """Refuse from now on all charges that would bring the total on `protected` above a cap.

        The releases of one run compose tightly at the run's own delta. Runs compose by adding up
        their epsilons and deltas, which stays valid when each run is chosen after seeing the last.
        A cap may be lowered or raised, which is recorded. Earlier charges stay. `protected`
        is whose records: ``"target"``, ``"owners"`` or ``"records"``.
        """
        limit = limit_of(protected, epsilon, delta)
        with self._book.transaction():
            self._book.begin_change()
            self._book.db.execute(book_format.SET_CAP, limit)

    def cap(self, protected: Protected | str) -> tuple[float, float] | None:
        """Return the cap (epsilon, delta) set for `protected`, if any."""
        whose = Protected(protected)
        caps = [change for change in self.cap_changes() if change.protected is whose]
        return (caps[-1].epsilon, caps[-1].delta) if caps else None

    def cap_changes(self) -> tuple[CapChange, ...]:
        """Return every cap that was set, oldest first."""

        def change(at: object, name: object, epsilon: object, delta: object) -> CapChange:
            when = None if at is None else text(at)
            return CapChange(when, party(name), number(epsilon), number(delta, 1))

        query = "SELECT at, protected, epsilon, delta FROM caps ORDER BY rowid"
        return tuple(self._book.read(change, query))

    def accepted(self) -> tuple[str, ...]:
        """Return when a file that was put back or moved alone was accepted, oldest first."""
        return tuple(self._book.read(text, "SELECT at FROM marks WHERE accepted ORDER BY id"))

    @property
    def head(self) -> str:
        """Digest of the last entry, 64 hexadecimal digits, or empty for a file without a chain yet.

        Note it to see later whether entries before it were changed or removed.
        """
        return self._book.chain.head.digest

    def hold_to(self, product: str, settings: Mapping[str, str] | None = None) -> None:
        """Hold this run to public settings, so that others are refused once it has released.

        They are recorded together with the run's first release, so a run that has released nothing
        is held to nothing. One that an earlier version began, without them, is from now on.

        Parameters
        ----------
        product
            Of the run. All releases of a run add up as one plan that was fixed before. Those of
            another product would be chosen in view of the first.
        settings
            Name to value, as text. **Public**: both are kept in the file as they are.

        Raises
        ------
        InvalidParameterError
            The run has released with others, in an earlier life or in another process. Here, or
            in the next call of `release`.
        """
        self._settings = {"product": product, **(settings or {})}
        if self.resumed:
            with self._book.transaction():
                if not self._holds_settings():
                    self._book.begin_change()
                    self._book.db.execute(_RELEASE, self._settings_row())
            self._settings = {}

    def _settings_row(self) -> tuple[str, str, str, bytes]:
        return self.run, SETTINGS, "", json.dumps(self._settings, sort_keys=True).encode()

    def _holds_settings(self) -> bool:
        """Return whether the books have this run's settings. Refuse other ones."""
        recorded = self._released(SETTINGS, (), "")
        if recorded is None:
            return False
        try:
            known = dict(parse_json(recorded))
        except (ValueError, TypeError):
            raise self._book.unusable("a run's public settings") from None
        # A version that knows more settings finds the others only.
        other = [name for name, value in known.items() if self._settings.get(name) != value]
        if other:
            raise OtherReleaseError(
                f"run: {self.run!r} has released with other parameters ({', '.join(other)}). "
                "Nothing more was charged or sent. Resume it with the same ones, or give this run "
                "another name (`run`), under which it is charged anew"
            )
        return True

    def release(
        self, key: str, charges: Sequence[Charge], draw: Callable[[], bytes], *, binding: str = ""
    ) -> bytes:
        """Charge, draw, record and only then return a release.

        Parameters
        ----------
        key
            Name of the release within the run. A second call with the same key returns the bytes of
            the first, without charge and without calling `draw`. With other charges or another
            `binding` it is refused.
        charges
            Its cost. Empty if it depends on no private data.
        draw
            Makes the release with fresh noise. Called at most once per key, inside the transaction.
        binding
            Digest of the public parameters that the release was made with.

        Raises
        ------
        BudgetExceededError
            The cap would be exceeded. `draw` was not called.
        InvalidParameterError
            The key was released with other parameters. Or there is a cap, and the ledger would hold
            charges on one party for two units, whose sum holds for neither. `draw` was not called.
        """
        with self._book.transaction():
            released = self._released(key, charges, binding)
            again = released is not None
            if again and self._settings:  # another process began the run meanwhile
                self._holds_settings()
            if released is None:
                self._book.begin_change()
                released = self._draw(key, charges, draw, binding)
        self._settings = {}
        self._tell(charges, again)
        return released

    def record(self, key: str, draw: Callable[[], bytes], *, binding: str = "") -> bytes:
        """Keep bytes without a charge, such as public facts or functions of an earlier release.

        Asked again, the same bytes. `key`, `draw`, `binding` and errors are those of `release`.
        """
        return self.release(key, (), draw, binding=binding)

    def check_room(self, charges: Sequence[Charge]) -> None:
        """Refuse new charges of the run that `release` would refuse, and charge nothing.

        For charges that come later in parts. A run with several data holders finds out in this way
        that one lacks room, before any of them spends.

        Raises
        ------
        BudgetExceededError, InvalidParameterError
            As `release`.
        """
        for charge in charges:
            if (cap := self.cap(charge.protected)) is not None:
                spent = self.spent(charge.protected, new=charges)
                begun = bool(self.charges(run=self.run))
                refuse_beyond(cap, charge, (*self.charges(), *charges), spent, begun=begun)

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
        query = "SELECT released, binding FROM releases WHERE run = ? AND key = ?"
        for released, bound in self._book.read(lambda *row: row, query, self.run, key):
            known = self._select("WHERE run = ? AND key = ?", self.run, key)
            if not same_charges(known, charges) or bound != binding:
                raise OtherReleaseError(
                    f"ledger: release {key!r} of run {self.run!r} was made with other parameters. "
                    "They include its epsilon and delta and how many columns and records there "
                    "are. Resume the run with the same ones, or give the new run another name"
                )
            if type(released) is not bytes:
                raise self._book.unusable("a release is not bytes")
            return released
        return None

    def _draw(
        self, key: str, charges: Sequence[Charge], draw: Callable[[], bytes], binding: str
    ) -> bytes:
        db = self._book.db
        # Only now: a ledger that is opened to be read stays as it was.
        begun = db.execute("INSERT OR IGNORE INTO runs VALUES (?, ?)", (self.run, self.delta))
        self._check_delta(self._deltas())
        self.check_room(charges)
        released = draw()
        db.executemany(
            f"INSERT INTO charges (run, key, {CHARGE}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [(self.run, key, *book_format.charge_to_row(charge)) for charge in charges],
        )
        rows = [(self.run, key, binding, released)]
        if self._settings and (begun.rowcount or not self._holds_settings()):
            rows.insert(0, self._settings_row())
        db.executemany(_RELEASE, rows)
        return released

    def has(self, key: str) -> bool:
        """Return whether this run has made a release of that name."""
        query = "SELECT 1 FROM releases WHERE run = ? AND key = ?"
        return bool(self._book.read(bool, query, self.run, key))

    def begun(self) -> bool:
        """Return whether this run has made any release by now, in this life or an earlier one."""
        return self.run in self._deltas()

    def charges(self, *, run: str | None = None, before: str | None = None) -> tuple[Charge, ...]:
        """Return the charges of one run, or of all runs, oldest first.

        With `before`, those of this ledger's own run that were made before the release of that key,
        or all of them without such a release.
        """
        if before is not None:
            first = "SELECT min(id) FROM charges WHERE run = ?1 AND key = ?2"
            return self._select(
                f"WHERE run = ?1 AND id < ifnull(({first}), 9223372036854775807)", self.run, before
            )
        return self._select("") if run is None else self._select("WHERE run = ?", run)

    def _select(self, where: str, *values: str) -> tuple[Charge, ...]:
        query = f"SELECT {CHARGE} FROM charges {where} ORDER BY id"
        return tuple(self._book.read(charge_from_row, query, *values))

    def lines(self) -> tuple[Line, ...]:
        """Return the charges of all runs with their dates, oldest first."""
        deltas = self._deltas()
        rows = self._book.read(
            lambda at, run, *row: (text(at), text(run), charge_from_row(*row)),
            f"SELECT at, run, {CHARGE} FROM charges ORDER BY id",
        )
        # Without a run that was begun since.
        return tuple(Line(at, run, deltas[run], what) for at, run, what in rows if run in deltas)

    def runs(self) -> tuple[str, ...]:
        """Return the names of all runs with a charge, oldest first."""
        return tuple(self._book.read(text, "SELECT run FROM charges GROUP BY run ORDER BY min(id)"))

    def delta_of(self, run: str) -> float:
        """Return the delta at which a run is accounted for."""
        deltas = self._deltas()
        if run not in deltas:
            raise InvalidParameterError(f"run: the ledger knows no run {run!r}")
        return deltas[run]

    def _deltas(self) -> dict[str, float]:
        """Return the delta of every run that was begun."""
        rows = self._book.read(
            lambda run, delta: (text(run), number(delta, 1)), "SELECT run, delta FROM runs"
        )
        return dict(rows)

    def _check_delta(self, begun: Mapping[str, float]) -> None:
        delta = begun.get(self.run, self.delta)
        if delta != self.delta:
            raise InvalidParameterError(
                f"delta: run {self.run!r} was begun with delta {delta:g}, not {self.delta:g}. "
                "Resume it with that delta or give a new run another name"
            )

    def spent(
        self, protected: Protected | str, *, run: str | None = None, new: Sequence[Charge] = ()
    ) -> tuple[float, float]:
        """Return (epsilon, delta) spent on `protected`, by one run or by all runs together.

        Parameters
        ----------
        protected
            Whose records: ``"target"``, ``"owners"`` or ``"records"``.
        run
            Name of the run, all of them by default.
        new
            Charges that would be added to this ledger's own run.
        """
        whose = Protected(protected)
        epsilon, total_delta = 0.0, 0.0
        deltas = self._deltas()
        if not deltas.keys() >= set(self.runs()):
            raise self._book.unusable("a charge is of a run that was never begun")
        deltas.setdefault(self.run, self.delta)  # of `new`, before the run's first release
        for name, delta in deltas.items():
            if run not in (None, name):
                continue
            charges = [*self.charges(run=name), *(new if name == self.run else ())]
            events = [(c.event, c.count) for c in charges if c.protected is whose]
            if events:
                epsilon += accounting.compose(events, delta)
                total_delta += delta
        return epsilon, total_delta

    def _repr_html_(self) -> str:
        rows = [("file", "in memory" if self.path is None else str(self.path))]
        rows.append(("runs", f"{len(self.runs()):,}"))
        known = [*(c.protected for c in self.charges()), *(c.protected for c in self.cap_changes())]
        for protected in dict.fromkeys(known):
            (epsilon, delta), cap = self.spent(protected), self.cap(protected)
            limit = "no cap" if cap is None else f"cap {cap[0]:g} at delta {cap[1]:g}"
            text = f"epsilon {epsilon:.4g} at delta {delta:g} spent, {limit}"
            rows.append((f"records of: {protected.value}", text))
        return facts("Privacy ledger", rows)
