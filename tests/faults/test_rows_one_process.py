"""`synthesize` in one process: each act on the disk fails once, as when the disk is full."""

import contextlib

import numpy as np
import polars as pl
import pytest

from dpsumm import Column, Schema, Tables, synthesize
from dpsumm.errors import DpsummError
from dpsumm.privacy import Ledger
from helpers.disk import Disk, Fault, Killed, once

PERSON = Column("person", "ignore")
SCHEMAS = {
    "bank": Schema([PERSON, Column("owns", categories=(0, 1))]),
    "clinic": Schema([PERSON, Column("smokes", categories=(0, 1))]),
}
FAST = Tables(keep=0.0, components=1, max_steps=2)


def run(folder):
    draws = np.random.default_rng(0)
    data = {
        name: pl.DataFrame({"person": np.arange(1000), column: draws.integers(0, 2, 1000)})
        for name, column in (("bank", "owns"), ("clinic", "smokes"))
    }
    books = {name: folder / name for name in SCHEMAS}
    made = synthesize(data, schema=SCHEMAS, ids="person", protocol=FAST, ledger=books, run="r")
    with contextlib.suppress(OSError):  # Python's own, from a call of its own
        made.save(folder / "rows.csv", 5)
    return [table.tolist() for table in made.tables.pairs.values()]


def books_in(folder):
    folder.mkdir()
    for name in SCHEMAS:
        Ledger.create(folder / name, caps={"records": (1.2, 1e-4)}).close()
    return folder


@pytest.mark.parametrize(
    "fault",
    [Fault.FULL, *(pytest.param(f, marks=pytest.mark.slow) for f in Fault if f is not Fault.FULL)],
)
def test_a_disk_that_fails_once_loses_nothing_and_charges_nothing_twice(tmp_path, fault):
    """The next run of that name ends under a cap with room for one, and says the same again."""
    with Disk() as disk:
        whole = books_in(tmp_path / "whole")
        disk.begin()
        run(whole)
        acts = list(disk.log)
        writes = [a.number for a in acts if not a.what.upper().startswith(("SELECT", "PRAGMA"))]
        assert len(writes) > 20
        for number in writes:
            folder = books_in(tmp_path / str(number))
            disk.begin(once(number, fault))
            first = None
            with contextlib.suppress(DpsummError, Killed), disk.process("first"):
                first = run(folder)
            if fault is Fault.FULL:
                assert not list(folder.glob(".*")), acts[number]  # no half file
            if (folder / "rows.csv").exists():
                assert len(pl.read_csv(folder / "rows.csv")) == 5
            disk.begin()
            again = run(folder)
            assert first in (None, again), acts[number]
            for name in SCHEMAS:
                with Ledger(folder / name) as book:
                    assert [c.message.split(" (")[0] for c in book.charges()] == [
                        "one-way tables",
                        "two-way tables",
                    ], acts[number]
            assert run(folder) == again
