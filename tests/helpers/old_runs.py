"""A run across silos on whole numbers, by owners in this process."""

import numpy as np

from dpsumm import RBF, Offers, Schema
from dpsumm.data.inputs import read_table
from dpsumm.errors import DpsummError
from dpsumm.exchange.across import Channel, answer_all
from dpsumm.papers import Auction
from dpsumm.summary.protocols import Owner
from dpsumm.summary.silos import summarize_silos

NAMES = ("a", "b", "c", "d")
SCHEMA = Schema.numbers(("x0", "x1", "x2"))
SILO_RUNS = {"offers": Offers(n_features=32), "auction": Auction(batch=3, n_features=16)}
SILO = {"size": 9, "kernel": RBF(0.3), "schema": SCHEMA, "minimum": 4}


def whole_numbers(rows, start):
    """Records from integers alone: the same under every version and on every processor."""
    i = np.arange(rows * 3, dtype=np.int64).reshape(rows, 3) + 1000 * start
    return ((i * i * 31 + i * 17) % 257 - 128) / 64.0


OWNERS = {name: whole_numbers(30, 1 + i) + (i - 1) for i, name in enumerate(NAMES)}
TARGET = whole_numbers(50, 9) + 1


class Loopback(Channel):
    """Owners in this process; in exchange `fails`, owner b does not answer."""

    def __init__(self, fails=None):
        self.asked, self.step, self.fails = [], -1, fails
        self.tables = {n: read_table(v, name=n, schema=SCHEMA) for n, v in OWNERS.items()}

    def ask(self, messages):
        self.step += 1
        for name, given in messages.items():
            self.asked.append((self.step, name))
            if self.step == self.fails and name == "b":
                continue
            try:
                answer = answer_all(
                    Owner(self.tables[name]), given, max_bytes=2**24, max_records=1000
                )
            except DpsummError as error:
                answer = str(error)
            yield name, answer


def resume(path, run):
    """Return what a run of silos picks, after it was resumed."""
    channel = Loopback()
    summary = summarize_silos(
        channel, NAMES, TARGET, protocol=SILO_RUNS[run], ledger=path, run=run, **SILO
    )
    return summary, channel.asked
