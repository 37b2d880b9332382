"""The subsystems across silos as worlds: small data, all parties in one process."""

import warnings
from pathlib import Path

import numpy as np
import polars as pl

from dpsumm import RBF, Auction, Column, Offers, Schema, Tables
from dpsumm.atomic import write_text
from dpsumm.data.inputs import read_owners, read_table
from dpsumm.ensemble import Spectral
from dpsumm.ensemble.silos import learn_silos
from dpsumm.ensemble.trainer import Trainer
from dpsumm.exchange.across import Channel, answer_all
from dpsumm.exchange.saving import saving
from dpsumm.summary.protocols import Owner, Protocol
from dpsumm.summary.silos import summarize_silos
from dpsumm.vertical.helper import Helper
from dpsumm.vertical.silos import SiloOwner, synthesize_silos
from helpers.crashes import RUN, World, live
from helpers.disk import Disk, Fault, once

SENDS = {"max_bytes": 2**24, "max_records": 1000}


class Points(World):
    """A run of `summarize_silos` that needs all of its four owners."""

    names = ("a", "b", "c", "d")
    schema = Schema.numbers(("x0", "x1"))

    def __init__(self, name: str, protocol: Protocol) -> None:
        self.name, self._protocol = name, protocol
        rng = np.random.default_rng(5)
        self._target = rng.normal(1, 1, (20, 2))
        self._tables = {
            name: read_table(rng.normal(i - 1, 1, (8, 2)), name=name, schema=self.schema)
            for i, name in enumerate(self.names)
        }

    def answer(self, folder: Path, name: str, given: list[bytes]) -> bytes:
        return answer_all(Owner(self._tables[name]), given, **SENDS)

    def run(self, folder: Path, channel: Channel) -> bytes:
        summary = summarize_silos(
            channel,
            self.names,
            self._target,
            schema=self.schema,
            size=4,
            kernel=RBF(0.3),
            protocol=self._protocol,
            ledger=folder / "books.db",
            run=RUN,
            minimum=len(self.names),
            out=folder / "out.csv",
        )
        return summary.points.tobytes() + summary.owner.tobytes() + summary.index.tobytes()


class Votes(World):
    """A run of `learn_silos`: a party that fails is one of its results, and stops nothing."""

    name = "Votes"
    names = tuple(f"clinic-{i}" for i in range(3))
    schema = Schema([Column("a", bounds=(-4, 4)), Column("sick", "label")])

    def __init__(self) -> None:
        rng = np.random.default_rng(3)
        values = {name: rng.normal(size=12).clip(-4, 4) for name in self.names}
        frames = {
            name: pl.DataFrame({"a": a, "sick": np.array(["no", "yes"])[(a > 0).astype(int)]})
            for name, a in values.items()
        }
        self._tables = {one.name: one for one in read_owners(frames, schema=self.schema)}
        self._points = pl.DataFrame({"a": np.linspace(-3, 3, 30)})

    def answer(self, folder: Path, name: str, given: list[bytes]) -> bytes:
        return answer_all(Trainer(self._tables[name], "bayes", seed=1), given, **SENDS)

    def run(self, folder: Path, channel: Channel) -> bytes:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # three parties are few
            model = learn_silos(
                channel,
                self.names,
                self._points,
                schema=self.schema,
                classes=["no", "yes"],
                epsilon=4,
                student=Spectral(("linear",)),
                ledger=folder / "books.db",
                run=RUN,
            )
        with saving(folder / "out.csv", RUN):  # as the task does
            # Not `save_predictions`, which also computes how good they are.
            write_text(folder / "out.csv", "\n".join(model.predict(self._points)))
        return model.votes.counts.tobytes()


class Rows(World):
    """A run of `synthesize_silos`: two owners with ledgers of their own, and the helper."""

    name = "Rows"
    books = ("bank.db", "clinic.db")
    parties_pay = result_is_drawn = True

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self._keys = {"bank": b"b" * 32, "clinic": b"c" * 32}
        self._schemas = {
            "bank": Schema([Column("person", "ignore"), Column("income", bounds=(0, 100))]),
            "clinic": Schema([Column("person", "ignore"), Column("smokes", categories=(0, 1))]),
        }
        people, smokes = np.arange(60), rng.integers(0, 2, 60)
        income = rng.integers(0, 60, 60) + 40 * smokes
        self._frames = {
            "bank": pl.DataFrame({"person": people, "income": income}),
            "clinic": pl.DataFrame({"person": people, "smokes": smokes}),
        }

    def answer(self, folder: Path, name: str, given: list[bytes]) -> bytes:
        if name == "helper":
            return answer_all(Helper(self._keys), given, **SENDS)
        owner = SiloOwner(
            name,
            self._frames[name],
            self._schemas[name],
            ledger=folder / f"{name}.db",
            secret=self._keys[name],
            alignment=b"a" * 32,
        )
        return answer_all(owner, given, **SENDS)

    def run(self, folder: Path, channel: Channel) -> bytes:
        made = synthesize_silos(
            channel,
            self._schemas,
            ids="person",
            protocol=Tables(bins=2, keep=0.0, rows=40, components=1, max_steps=2),
            epsilon=10.0,
            journal=folder / "books.db.answers",
            run=RUN,
            out=folder / "out.csv",
            rows=5,
        )
        pairs = made.tables.pairs.items()
        return b"".join(table.tobytes() for _, table in sorted(pairs, key=lambda one: one[0]))


WORLDS = {
    "Offers": lambda: Points("Offers", Offers(n_features=8)),
    "Auction": lambda: Points("Auction", Auction(batch=2, n_features=8)),
    "Votes": Votes,
    "Rows": Rows,
}


def die(name: str, folder: Path, number: int, fault: Fault) -> None:
    """Run as the curator until an act at which the system kills this process."""
    with Disk() as disk:
        disk.for_real = True
        live(WORLDS[name](), disk, folder, once(number, fault))
