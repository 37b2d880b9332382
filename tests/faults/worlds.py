"""The subsystems across silos as worlds: small data, all parties in one process."""

import json
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dpsumm import RBF, Column, Offers, Schema, Tables
from dpsumm.basics.atomic import write_text
from dpsumm.data.inputs import read_owners, read_table
from dpsumm.ensemble import Spectral
from dpsumm.ensemble.holder import CODEC, Holder
from dpsumm.ensemble.once import Once
from dpsumm.ensemble.protocols import Voting
from dpsumm.ensemble.silos import learn_silos
from dpsumm.ensemble.updates.messages import UpdateTask
from dpsumm.errors import RefusedError
from dpsumm.exchange.across import Channel, answer_all
from dpsumm.exchange.saving import saving
from dpsumm.papers import Auction
from dpsumm.privacy.policy import Consumer, Policy
from dpsumm.privacy.receipt import ANSWERED, Asked
from dpsumm.privacy.receipts import Receipts
from dpsumm.summary.protocols import Owner, Protocol
from dpsumm.summary.silos import summarize_silos
from dpsumm.vertical.helper import Helper
from dpsumm.vertical.silos import SiloOwner, synthesize_silos
from helpers.crashes import RUN, World, charges, live, rows_of
from helpers.disk import Disk, Fault, once

SIZE = 4
SENDS = {"max_bytes": 2**24, "max_records": 1000}


class Points(World):
    """A run of `summarize_silos` that needs all of its owners."""

    names: tuple[str, ...] = ("a", "b", "c", "d")
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

    def run(self, folder: Path, channel: Channel, **more: Any) -> bytes:
        summary = summarize_silos(
            channel,
            self.names,
            self._target,
            schema=self.schema,
            size=SIZE,
            kernel=RBF(0.3),
            protocol=self._protocol,
            ledger=folder / "books.db",
            run=RUN,
            minimum=len(self.names),
            out=folder / "out.csv",
            **more,
        )
        return summary.points.tobytes() + summary.owner.tobytes() + summary.index.tobytes()


class Seal:
    """An owner's key, as far as a log needs one."""

    def sign(self, data: bytes) -> bytes:
        return data


class Ruled(Points):
    """Two owners with rules and a log: each lets go of the records of one run, and no more."""

    names = ("a", "b")
    logs = ("a.receipts", "b.receipts")
    parties_pay = True  # with receipts, beside the curator's charges

    def __init__(self) -> None:
        protocol = Offers(n_features=8)
        super().__init__("Policies", protocol)
        most = protocol.reads_per_record * SIZE // len(self.names)
        self._policy = Policy(
            version="",
            package="",
            protocols=frozenset(),
            records=most,
            per_day=None,
            consumers=(Consumer("consumer", "", frozenset(["tests"]), most),),
            receipts=Path(),
            key=Path(),
        )

    def prepare(self, folder: Path) -> None:
        super().prepare(folder)
        for name in self.logs:
            Receipts.create(folder / name, Seal(), bytes.__eq__).close()

    def answer(self, folder: Path, name: str, given: list[bytes]) -> bytes:
        asked = Asked("consumer", RUN, "tests")

        def send(answer: bytes, records: int) -> None:
            rules = partial(self._policy.too_many, asked.consumer)
            if log.send(asked, answer, records, lambda sent: rules(sent, sent.run)):
                raise RefusedError("refused by the owner's policy")

        with Receipts(folder / f"{name}.receipts", Seal(), bytes.__eq__) as log:
            log.check()
            limits = {**SENDS, "max_records": None}
            return answer_all(Owner(self._tables[name]), given, before=send, **limits)

    def charged(self, folder: Path, party: str) -> tuple[str, ...]:
        lines = rows_of(folder / f"{party}.receipts", "SELECT body FROM receipts")
        kept = [json.loads(body) for (body,) in lines]
        receipts = (f"{line['outcome']} {line['counted']}" for line in kept)
        return (*charges(folder / "books.db"), *receipts)

    def wrong(self, folder: Path, answers: Sequence[tuple[str, int, bytes]]) -> Iterable[str]:
        sent = Counter(name for name, _, _ in answers)
        for name in self.names:
            with Receipts(folder / f"{name}.receipts", Seal(), bytes.__eq__) as log:
                if fault := log.fault():
                    yield f"the log of {name} does not hold together: {fault}"
                left = [line for line, _ in log.lines() if line.left]
            if [line.outcome for line in left].count(ANSWERED) != 2:
                yield f"an answer of {name} has no receipt, or more than one: {left}"
            if sum(line.counted for line in left) != self._policy.records:
                yield f"records of {name} are counted twice, or not at all: {left}"
            if len(left) < sent[name]:
                yield f"{name} sent {sent[name]} times, and its log has {len(left)} of them"


class Learning(World):
    """A run of `learn_silos`: a party that fails is one of its results, and stops nothing."""

    asked: dict[str, Any]
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
        holder = Holder(self._tables[name], "bayes", seed=1)
        return answer_all(Once(holder, name, folder / f"{name}.answers"), given, **SENDS)

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
                protocol=self.asked,
                ledger=folder / "books.db",
                run=RUN,
            )
        with saving(folder / "out.csv", RUN):  # as the task does
            # Not `save_predictions`, which also computes how good they are.
            write_text(folder / "out.csv", "\n".join(model.predict(self._points)))
        return self.released(model).tobytes()

    def released(self, model: Any) -> Any:
        return model.votes.counts


class Votes(Learning):
    name = "Votes"
    asked = Voting(student=Spectral(("linear",)))


class Updates(Learning):
    name = "Updates"
    asked = "updates"

    def released(self, model: Any) -> Any:
        return model.votes.sums

    def number(self, given: list[bytes]) -> int:
        """A round says everything, and is sent alone."""
        asked = CODEC.decode(given[-1])
        return 1 + asked.step.number if isinstance(asked, UpdateTask) else 0


class Rows(World):
    """A run of `synthesize_silos`: two owners with ledgers of their own, and the helper."""

    name = "Rows"
    books = ("bank.db", "clinic.db")
    parties_pay = result_is_drawn = True
    caps = {"records": (99.0, 1e-3)}  # noqa: RUF012

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
    "Policies": Ruled,
    "Votes": Votes,
    "Updates": Updates,
    "Rows": Rows,
}


def die(name: str, folder: Path, number: int, fault: Fault) -> None:
    """Run as the curator until an act at which the system kills this process."""
    with Disk() as disk:
        disk.for_real = True
        live(WORLDS[name](), disk, folder, once(number, fault))
