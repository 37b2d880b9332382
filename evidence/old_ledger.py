"""Write a ledger of format 0 or 1 anew, in today's format.

    python -m evidence.old_ledger OLD NEW

Both formats were written before entries were chained. The old file is not changed. What today's
events do not know is charged as more: continuous Laplace noise as its epsilon, and a charge for
records that are added or removed as no guarantee.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
from contextlib import closing
from pathlib import Path

from dpsumm.privacy import Ledger, Seeded

_KINDS = {
    "Gaussian": "gaussian",
    "BoundedRange": "bounded range",
    "Pure": "pure",
    "Approximate": "approximate",
    "NonPrivate": "no guarantee",
}
_UNIT = "replace one record"
# In the order in which entries refer to each other; every column that both formats have.
_COLUMNS = {
    "runs": "run, delta",
    "charges": "at, run, key, protected, message, event, count, observer, unit",
    "releases": "run, key, binding, released",
    "caps": "at, protected, epsilon, delta",
}


def convert(old: Path, new: Path) -> None:
    """Write what `old` holds to a new ledger."""
    with (
        closing(sqlite3.connect(f"{old.resolve().as_uri()}?mode=ro", uri=True)) as db,
        Ledger.create(new) as ledger,
    ):
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version not in (0, 1):
            raise SystemExit(f"{old} has format {version}, which is not an old one")
        book = ledger._book
        with book.transaction():
            book.begin_change()
            for table, names in _COLUMNS.items():
                dated = version or table != "caps"
                shown = names if dated else names.replace("at, ", "NULL, ")
                for row in db.execute(f"SELECT {shown} FROM {table} ORDER BY rowid").fetchall():
                    values = _charge(row) if table == "charges" else row
                    marks = ", ".join("?" * len(values))
                    book.db.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", values)


def _charge(row: tuple[object, ...]) -> tuple[object, ...]:
    *before, event, count, observer, unit = row
    values = json.loads(str(event))
    kind = values["kind"] = _KINDS.get(values["kind"], values["kind"])
    if kind.lower() == "laplace":
        values = {"kind": "pure", "epsilon": 1 / values["noise_multiplier"]}
    if unit == "add or remove one record":
        values, unit = {"kind": "no guarantee", "reason": f"charged for {unit}"}, _UNIT
    if values == {"kind": "no guarantee", "reason": Seeded.reason}:
        values = {"kind": "seeded"}
    return *before, json.dumps(values, sort_keys=True), count, observer, unit


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser("evidence.old_ledger", description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    given = parser.parse_args()
    convert(given.old, given.new)


if __name__ == "__main__":
    main()
