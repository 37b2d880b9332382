"""How a ledger's file is laid out: tables, format version, and names that do not follow the code.

The version is SQLite's ``user_version``. Files of versions 0 and 1, which had no chain, are read by
``python -m evidence.old_ledger`` alone, which writes them anew.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dpsumm.basics.documents import parse_json
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy.events import (
    Approximate,
    BoundedRange,
    Charge,
    Event,
    Gaussian,
    NonPrivate,
    Observer,
    Protected,
    Pure,
    Seeded,
    Unit,
)

VERSION = 2

_NOW = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"
# `marks` has a row for every file that was accepted; for `chain` see `dpsumm.privacy.chain`.
_SCHEMA = f"""
CREATE TABLE charges (
    id INTEGER PRIMARY KEY,
    at TEXT NOT NULL DEFAULT ({_NOW}),
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
    id INTEGER PRIMARY KEY,
    at TEXT DEFAULT ({_NOW}),
    protected TEXT NOT NULL,
    epsilon REAL NOT NULL,
    delta REAL NOT NULL
);
CREATE TABLE marks (
    id INTEGER PRIMARY KEY,
    at TEXT NOT NULL DEFAULT ({_NOW}),
    mark TEXT NOT NULL UNIQUE,
    accepted INTEGER NOT NULL
);
CREATE TABLE chain (
    number INTEGER PRIMARY KEY,
    body TEXT NOT NULL,
    digest TEXT NOT NULL
);
PRAGMA user_version = {VERSION}
"""
_TABLES = {"charges", "releases", "runs", "caps", "marks", "chain"}

SET_CAP = "INSERT INTO caps (protected, epsilon, delta) VALUES (?, ?, ?)"
CHARGE = "protected, message, event, count, observer, unit"
# Names in the file, of events and of their numbers. They never change, whatever the code is called.
_EVENTS: dict[str, tuple[type[Event], tuple[str, ...]]] = {
    "gaussian": (Gaussian, ("noise_multiplier",)),
    "bounded range": (BoundedRange, ("epsilon",)),
    "pure": (Pure, ("epsilon",)),
    "approximate": (Approximate, ("epsilon", "delta")),
    "no guarantee": (NonPrivate, ("reason",)),
    "seeded": (Seeded, ()),
}
_NAMES = {kind: name for name, (kind, _) in _EVENTS.items()}


def create(db: sqlite3.Connection) -> None:
    """Make the tables, inside the caller's transaction."""
    # Not by `executescript`: it commits first.
    for statement in _SCHEMA.split(";"):
        db.execute(statement)


def fault(db: sqlite3.Connection) -> str | None:
    """Return why a database is not a ledger that this version understands, or None if it is."""
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables:
        return "it is empty, as one whose making was cut short: remove it"
    if not tables >= {"charges", "releases", "runs", "caps"}:
        return "it is a database of another program"
    if version != VERSION:
        return f"its format {version} is that of another version of dpsumm, which must be used"
    return None if tables >= _TABLES else "it lacks a table"


def charge_to_row(charge: Charge) -> tuple[str, str, str, int, str, str]:
    """Return what the columns `CHARGE` hold of a charge."""
    return (
        charge.protected.value,
        charge.message,
        _event_to_text(charge.event),
        charge.count,
        charge.observer.value,
        charge.unit.value,
    )


def charge_from_row(*row: Any) -> Charge:
    """Return the charge of a row."""
    with _reading_a_charge():
        protected, message, event, count, observer, unit = row
        if type(count) is not int or count < 1 or type(message) is not str:
            raise ValueError("count or message")
        said = (Protected(protected), message, _event_from_text(event), count)
        return Charge(*said, Observer(observer), Unit(unit))


@contextmanager
def _reading_a_charge() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        # Whatever is wrong; nothing of the damaged text is quoted.
        raise ValueError(f"{type(error).__name__} in a charge") from None


def number(value: object, below: float = math.inf) -> float:
    """Return an epsilon or delta. ValueError for another value, which SQLite itself would allow."""
    if not isinstance(value, int | float) or not 0 < value < below:
        raise ValueError("an epsilon or a delta is not a number in its range")
    return float(value)


def text(value: object) -> str:
    """Return a date or a name; ValueError if it is no text."""
    if not isinstance(value, str):
        raise ValueError("a date or a name is not text")
    return value


def party(name: object) -> Protected:
    """Return the party of a cap. ValueError for an unknown name."""
    try:
        return Protected(text(name))
    except InvalidParameterError:
        raise ValueError("a cap is for nobody known") from None


def _event_to_text(event: Event) -> str:
    name = _NAMES[type(event)]
    fields = {field: getattr(event, field) for field in _EVENTS[name][1]}
    return json.dumps({"kind": name, **fields}, sort_keys=True)


def _event_from_text(text: str) -> Event:
    values = parse_json(text)
    name = values.pop("kind")
    kind, fields = _EVENTS[name]
    if values.keys() != set(fields):
        raise ValueError("event")
    return kind(*(values[field] for field in fields))
