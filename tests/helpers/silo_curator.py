"""A curator with owners in its own process, behind a channel; as a program, one to be killed."""

import hashlib
import time

# The two below are for forks to have them: they take seconds to import.
import numpy as np
import polars  # noqa: F401
import scipy.stats  # noqa: F401

from dpsumm import RBF, Offers, Schema
from dpsumm.data.inputs import read_table
from dpsumm.errors import DpsummError
from dpsumm.exchange.across import Channel, answer_all
from dpsumm.papers import Auction
from dpsumm.summary.protocols import Owner
from dpsumm.summary.silos import summarize_silos

NAMES = ("a", "b", "c", "d")
SCHEMA = Schema.numbers(("x0", "x1", "x2"))


def owners_of(shift=0.0):
    """Data of four owners, all but the first moved by `shift`; and a target."""
    rng = np.random.default_rng(5)
    data = {name: rng.normal(i - 1, 1, (30, 3)) for i, name in enumerate(NAMES)}
    moved = {name: values + (shift if name != "a" else 0) for name, values in data.items()}
    return moved, np.random.default_rng(6).normal(1, 1, (50, 3))


class Loopback(Channel):
    """Fresh owners for every exchange, as over a network, and a transcript."""

    def __init__(self, shift=0.0):
        self.steps = 0
        self.received = {name: [] for name in NAMES}
        self.tables = {
            n: read_table(v, name=n, schema=SCHEMA) for n, v in owners_of(shift)[0].items()
        }

    def ask(self, messages):
        self.steps += 1
        for name, given in messages.items():
            self.received[name].append(list(given))
            owner = Owner(self.tables[name])
            try:
                yield name, answer_all(owner, given, max_bytes=2**24, max_records=1000)
            except DpsummError as error:
                yield name, str(error)


class Slow(Loopback):
    """Writes down what it sends, and takes its time, so that it can be killed."""

    def __init__(self, path):
        super().__init__()
        self._path = path

    def ask(self, messages):
        for name, given in messages.items():
            digest = hashlib.sha256(b"".join(given)).hexdigest()
            with self._path.open("ab", buffering=0) as file:
                file.write(f"{name} {len(given)}-{given[-1][:40].hex()} {digest}\n".encode())
            time.sleep(0.005)
            yield from super().ask({name: given})


def run(channel, **more):
    _, target = owners_of()
    given = {"owners": NAMES, "schema": SCHEMA, "size": 9, "kernel": RBF(0.3), **more}
    return summarize_silos(channel, given.pop("owners"), target, **given)


def main(folder, kind):
    """Run as the curator, to the end; a summary in `folder`."""
    run(
        Slow(folder / "asked"),
        protocol=Offers() if kind == "Offers" else Auction(batch=3, n_features=16),
        ledger=folder / "books",
        run="r",
        out=folder / "s.csv",
    )
