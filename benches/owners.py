"""What a run costs the curator as owners grow to ten thousand: time, bytes, memory.

``python -m benches.owners`` prints the tables of docs/large-data.md. The owners are simulated in
this process: whoever is asked is made, decodes its messages, computes its answer, encodes it and is
gone. Encoding, checks, journal, ledger and result are those of a run across silos; nothing but the
network is left out. Each size runs in a process of its own, after a run of ten owners; memory is
what it takes beyond that one's peak.
"""

from __future__ import annotations

import argparse
import json
import logging
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.naive_bayes import GaussianNB

import dpsumm
from benches.shards import peak_bytes
from dpsumm import Column, Schema, kernels
from dpsumm.data.inputs import Table, read_table
from dpsumm.ensemble import Argmax
from dpsumm.ensemble.silos import learn_silos
from dpsumm.ensemble.trainer import Trainer
from dpsumm.exchange.across import Channel, answer_all
from dpsumm.exchange.roles import Party
from dpsumm.privacy import Ledger
from dpsumm.summary.protocols.owner import Owner
from dpsumm.summary.silos import summarize_silos

# Owners of the smallest run: they must have as many records as the summary has points.
LEAST = 10
COLUMNS, RECORDS, SIZE, POINTS, CLASSES = 8, 100, 500, 1000, 2
BOUNDED = [Column(f"x{j}", bounds=(-4, 4)) for j in range(COLUMNS)]
SCHEMAS = {"offers": Schema(BOUNDED), "votes": Schema([*BOUNDED, Column("y", "label")])}
TITLES = {
    "offers": f"Offers: summary of {SIZE} points, 2,048 random features",
    "votes": f"Votes: {POINTS:,} points, {CLASSES} classes, naive Bayes",
}


class Simulated(Channel):
    """Owners in this process, one at a time; counts what they are sent, send, and compute."""

    def __init__(self, party: Callable[[int], Party]) -> None:
        self._party = party
        self.messages = self.sent = self.received = 0
        self.seconds = 0.0

    def ask(self, messages: Mapping[str, Sequence[bytes]]) -> Iterator[tuple[str, bytes]]:
        """Answer for each; see `Channel.ask`."""
        for name, items in messages.items():
            started = time.process_time()
            party = self._party(int(name.partition("-")[2]))
            answer = answer_all(party, items, max_bytes=2**28, max_records=2**40)
            self.seconds += time.process_time() - started
            self.messages += 1
            self.sent += sum(map(len, items))
            self.received += len(answer)
            yield name, answer


def points(seed: int, count: int) -> Any:
    """Return made-up points; whose seeds differ by a multiple of 3 have them in one place."""
    return np.random.default_rng([seed, count]).normal(seed % 3 - 1, 1, (count, COLUMNS))


def table(number: int, what: str) -> Table:
    """Return the records of an owner."""
    values = points(number, RECORDS)
    source = values if what == "offers" else (values, (values[:, 0] > values[:, 1]).astype(int))
    return read_table(source, name=f"owner-{number}", schema=SCHEMAS[what])


def party(what: str) -> Callable[[int], Party]:
    """Return what makes an owner of its number."""
    if what == "offers":
        return lambda number: Owner(table(number, what))
    return lambda number: Trainer(table(number, what), "bayes", seed=number, checked=True)


def run(what: str, channel: Channel, n_owners: int, ledger: Path) -> object:
    """Make a summary, or learn from votes."""
    names = [f"owner-{number}" for number in range(n_owners)]
    given: dict[str, Any] = {"schema": SCHEMAS[what], "ledger": ledger}
    if what == "offers":
        protocol, target = dpsumm.Offers(features="random"), points(1, 1000)
        return summarize_silos(channel, names, target, size=SIZE, protocol=protocol, **given)
    given |= {"classes": range(CLASSES), "student": Argmax(GaussianNB())}
    return learn_silos(channel, names, points(1, POINTS), **given)


def made(ledger: Path) -> Path:
    """Make the file of new books, and return it."""
    with Ledger.create(ledger):
        return ledger


def one(what: str, n_owners: int) -> dict[str, float]:
    """Return what a run took."""
    kernels.set_threads(1)
    channel = Simulated(party(what))
    with tempfile.TemporaryDirectory() as folder:
        # Imports are not measured.
        run(what, Simulated(party(what)), LEAST, made(Path(folder) / "first"))
        ledger, before = made(Path(folder) / "ledger"), peak_bytes()
        started = time.process_time()
        run(what, channel, n_owners, ledger)
        seconds = time.process_time() - started
    return {
        "owners": n_owners,
        "messages": channel.messages,
        "sent": channel.sent,
        "received": channel.received,
        "curator": seconds - channel.seconds,
        "theirs": channel.seconds,
        "memory": peak_bytes() - before,
    }


def main() -> None:
    """Print a table for each subsystem."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--owners", type=int, nargs="+", default=[LEAST, 100, 1000, 10_000])
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        logging.disable()
        warnings.simplefilter("ignore")
        print(json.dumps(one(asked.one[0], int(asked.one[1]))))
        return
    for what, title in TITLES.items():
        print(f"\n{title}; {RECORDS} records of {COLUMNS} columns at each owner\n")
        print(
            "| owners | messages | bytes to an owner | bytes of an owner | curator, CPU s | "
            "curator, CPU ms a message | an owner, CPU ms | memory, MB |"
        )
        print("|" + "---|" * 8)
        found = []
        for n_owners in asked.owners:
            command = [sys.executable, "-m", "benches.owners", "--one", what, str(n_owners)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            found.append(json.loads(done.stdout.splitlines()[-1]))
            print(_row(found[-1]), flush=True)
        if len(found) > 1:
            _calculate(*found[-2:])


def _calculate(small: dict[str, float], large: dict[str, float]) -> None:
    """Print what more owners would take, from the growth between two sizes."""
    more = large["owners"] - small["owners"]
    each = {key: (large[key] - small[key]) / more for key in large}
    print("\n| owners | sent, GB | received, GB | curator, CPU minutes | memory, MB |")
    print("|" + "---|" * 5)
    for n_owners in (100_000, 1_000_000):
        took = {key: large[key] + (n_owners - large["owners"]) * each[key] for key in each}
        print(
            f"| {n_owners:,} | {took['sent'] / 1e9:.1f} | {took['received'] / 1e9:.2f} "
            f"| {took['curator'] / 60:.1f} | {took['memory'] / 1e6:,.0f} |"
        )


def _row(of: dict[str, float]) -> str:
    owners, curator = of["owners"], of["curator"]
    cells = (
        f"{owners:,}",
        f"{of['messages']:,}",
        f"{of['sent'] / owners:,.0f}",
        f"{of['received'] / owners:,.0f}",
        f"{curator:.2f}",
        f"{1e3 * curator / of['messages']:.2f}",
        f"{1e3 * of['theirs'] / owners:.1f}",
        f"{of['memory'] / 1e6:,.0f}",
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
