"""Rows as `synthesize` across silos makes them: owners have books of their own.

Of one table whose columns lie with two owners, and of the records of two owners with the same
columns.
"""

from dataclasses import replace
from functools import cached_property

import numpy as np
import polars as pl

from dpsumm import Column, Schema, Tables
from dpsumm.privacy import Ledger
from dpsumm.vertical.helper import Helper
from dpsumm.vertical.messages import ColumnCounts, TwoWay
from dpsumm.vertical.silos import SiloOwner, synthesize_silos
from dpsumm.vertical.wire import CODEC
from simulator.oracles import Violation
from simulator.systems.system import System

OWNERS = ("bank", "clinic")
SCHEMAS = {
    "bank": Schema([Column("person", "ignore"), Column("owns", categories=(0, 1))]),
    "clinic": Schema([Column("person", "ignore"), Column("smokes", categories=(0, 1))]),
}
KEYS = {"bank": b"b" * 32, "clinic": b"c" * 32}
ALIKE = Schema([Column("owns", categories=(0, 1)), Column("smokes", categories=(0, 1))])
N = 60
PROTOCOL = Tables(keep=0.0, rows=40, components=2, max_steps=2)


class Syntheses(System):
    name = "rows"
    names = (*OWNERS, "helper")
    schemas = SCHEMAS
    ids: str | None = "person"

    @cached_property
    def _data(self):
        rng = np.random.default_rng(0)
        persons = [f"marker-{i}" for i in range(N)]
        return {
            name: pl.DataFrame({"person": persons, column: rng.integers(0, 2, N)})
            for name, column in zip(OWNERS, ("owns", "smokes"), strict=True)
        }

    def books(self, folder):
        return {name: folder / f"{name}.db" for name in OWNERS}

    def journal(self, folder):
        return folder / "answers"

    def prepare(self, world):
        caps = {"records": (1.5 if world.plan.capped else 99.0, 1e-3)}
        for path in self.books(world.folder).values():
            Ledger.create(path, caps=caps).close()

    def curate(self, world, run):
        return synthesize_silos(
            world.line(),
            self.schemas,
            protocol=PROTOCOL,
            ids=self.ids,
            journal=self.journal(world.folder),
            run=self.run_name(run),
            out=self.result(world.folder, run),
            rows=5,
        )

    def party(self, world, name):
        if name == "helper":
            return Helper(KEYS)
        return SiloOwner(
            name,
            self._data[name],
            self.schemas[name],
            ledger=self.books(world.folder)[name],
            **self.keys(name),
        )

    def keys(self, name):
        return {"secret": KEYS[name], "alignment": b"a" * 32}

    def payloads(self, message):
        decoded = CODEC.decode(message)
        # Rarely the noise leaves a column one level: then no table is shared, and none is charged.
        if isinstance(decoded, ColumnCounts):  # a nonce is random, and in no books
            yield CODEC.encode(replace(decoded, nonce=""))
        elif isinstance(decoded, TwoWay) and (decoded.shares or decoded.within.size):
            yield message

    def check(self, world, run, result):
        """The table of both is the exact one with each owner's noise, once."""
        if (0, 1) not in result.tables.pairs:
            sent = [CODEC.decode(one.answer) for one in world.sent if one.run == run]
            if any(isinstance(one, TwoWay) and one.shares for one in sent):
                raise Violation("a table that was shared is not in the result")
            return
        codes = [self._data[name].to_series(1).to_numpy() for name in OWNERS]
        exact = np.zeros((2, 2), np.int64)
        np.add.at(exact, tuple(codes), 1)
        noise = [one.reshape(2, 2) for one in world.chance.noise if one.size == 4]
        rest = result.tables.pairs[0, 1] - exact
        if not any(np.array_equal(rest, left + right.T) for left in noise for right in noise):
            raise Violation("the table is not that of the owners' records with their noise")


class Sums(Syntheses):
    """Without a helper, identifiers or keys."""

    name = "rows of the same columns"
    names = OWNERS
    schemas = dict.fromkeys(OWNERS, ALIKE)
    ids = None

    @cached_property
    def _data(self):
        rng = np.random.default_rng(1)
        columns = [column.name for column in ALIKE.columns]
        return {
            name: pl.DataFrame({column: rng.integers(0, 2, N + k) for column in columns})
            for k, name in enumerate(OWNERS)
        }

    def keys(self, name):
        return {}

    def check(self, world, run, result):
        """Both owners' records are counted, each with the noise of its owner, once."""
        if (0, 1) not in result.tables.pairs:
            return
        exact = np.zeros((2, 2), np.int64)
        for data in self._data.values():
            np.add.at(exact, tuple(data.to_numpy().T), 1)
        noise = [one.reshape(2, 2) for one in world.chance.noise if one.size == 4]
        rest = result.tables.pairs[0, 1] - exact
        if not any(np.array_equal(rest, one + other) for one in noise for other in noise):
            raise Violation("the table is not that of the owners' records with their noise")


ROWS, SUMS = Syntheses(), Sums()
