"""Golden transcripts: a digest of every message of seeded runs, the same on every processor.

``python -m tests.golden`` writes `tests/golden.json` anew. Do that only after a change that shall
change messages, and say in the changelog why runs give other results now.
"""

import hashlib
import json
import sys
from pathlib import Path

import numpy as np

from dpsumm import Column, Ledger, Offers, Pool, Schema
from dpsumm.data.inputs import read_inputs
from dpsumm.papers import Auction, Mwem, Requests
from dpsumm.privacy.accounting import gaussian_noise_multiplier
from dpsumm.summary.kernel import RBF
from dpsumm.summary.protocols import Owner, Setting
from helpers.transcripts import encoded

FILE = Path(__file__).with_name("golden.json")


def numbers(n, columns, start, dtype=np.float64):
    """Return (n, columns) numbers in [-4, 4) made by integer arithmetic: the same bits anywhere."""
    place = np.arange(start, start + n * columns, dtype=np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # SplitMix64
        place = (place ^ (place >> np.uint64(shift))) * np.uint64(factor)
    whole = (place >> np.uint64(44)).astype(np.float64) / 2**17
    return (whole - 4).reshape(n, columns).astype(dtype)


def parties(n_owners=4, n_records=60, dtype=np.float64):
    """Return owners with one far record each, and a target."""
    owners = {}
    for i in range(n_owners):
        points = numbers(n_records, 3, 10_000 * (i + 1), dtype)
        points[0] *= 2**40
        owners[f"owner {i}"] = points
    return owners, numbers(300, 3, 1, dtype) / 2


def digest(data):
    """Return the first 16 digits of a digest."""
    return hashlib.sha256(data).hexdigest()[:16]


def transcript(protocol, kernel, owners, target, *, schema=None, size=12, epsilon=1.0, **more):
    """Return a digest for each exchange of a seeded run: what was asked and what was answered."""
    tables, goal = read_inputs(owners, target, schema=schema)
    lines = []
    with Ledger(run="golden", delta=1e-5) as book:
        setting = Setting(
            target=goal.scaled,
            columns=tables[0].columns,
            schema=tables[0].schema,
            n_records={table.name: len(table) for table in tables},
            size=size,
            epsilon=epsilon,
            delta=1e-5,
            kernel=kernel,
            labelled=False,
            ledger=book,
            seed=5,
            **more,
        )
        curator = protocol.curator(setting)
        roles = {table.name: Owner(table, 6 + i) for i, table in enumerate(tables)}
        while requests := curator.send():
            exchange = hashlib.sha256()
            for name, request in requests.items():
                answer = roles[name].answer(request)
                exchange.update(encoded(request) + encoded(answer))
                curator.receive(name, answer)
            lines.append(exchange.hexdigest()[:16])
        result = curator.result()
    found = (result.owner, result.records.rows, result.curve)
    return [*lines, digest(b"".join(map(encoded, found)))]


def multipliers():
    """Return noise multipliers as they are."""
    return [
        repr(gaussian_noise_multiplier(epsilon, delta))
        for epsilon in (0.01, 0.1, 0.3, 0.5, 1.0, 2.0, 3.0, 8.0)
        for delta in (1e-9, 1e-6, 1e-5, 1e-2)
    ]


def private_auction(size):
    """Return an Auction among many owners whose request rule has probabilities between 0 and 1."""
    protocol = Auction(
        requests=Requests.PRIVATE, request_share=0.8, epsilon_owners=8.0, n_features=32
    )
    return transcript(protocol, RBF(0.3), *parties(120, 2), size=size)


NAMES = ("x0", "x1", "x2")
BOUNDED = Schema([Column(name, bounds=(-3.5, 3.0), missing=()) for name in NAMES])
RUNS = {
    "multipliers": multipliers,
    "Offers": lambda: transcript(Offers(n_features=128), RBF(0.3), *parties(), epsilon=0.3),
    "Offers, float32": lambda: transcript(
        Offers(n_features=128), RBF(0.3), *parties(dtype=np.float32)
    ),
    "Offers, bounds": lambda: transcript(
        Offers(n_features=128), RBF(2.0), *parties(), schema=BOUNDED
    ),
    "Offers, median of a public sample": lambda: transcript(
        Offers(n_features=128), RBF.from_public(numbers(500, 3, 77)), *parties()
    ),
    "Offers, Mwem": lambda: transcript(
        Offers(n_features=64, release=Mwem(200, 0.02, 0.02)), RBF(0.3), *parties()
    ),
    "Pool": lambda: transcript(Pool(), None, *parties()),
    "Auction": lambda: transcript(Auction(n_features=64), RBF(0.3), *parties(), epsilon=0.3),
    "Auction, published": lambda: transcript(Auction.published(12), RBF(0.1), *parties()),
    "Auction, requests by a threshold": lambda: private_auction(8),
    "Auction, requests by a profile": lambda: private_auction(1),
}


def transcripts():
    """Return all of them by name."""
    return {name: run() for name, run in RUNS.items()}


if __name__ == "__main__":
    text = json.dumps(transcripts(), indent=1) + "\n"
    if sys.argv[1:] == ["--print"]:
        sys.stdout.write(text)
    else:
        FILE.write_text(text)
