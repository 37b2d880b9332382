"""What commitments cost an owner and the curator: python -m benches.commitments [rows]."""

from __future__ import annotations

import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dpsumm.data.inputs import read_owners
from dpsumm.data.large.stream import Stream
from dpsumm.data.leaves import Salts
from dpsumm.data.merkle import Forest
from dpsumm.summary.protocols.committed import openings

COLUMNS, OFFERS = 20, 400


def main(rows: int) -> None:
    """Print processor seconds of each step, and the memory that they take."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        written = np.lib.format.open_memmap(path, "w+", "<f8", (rows, COLUMNS))
        for start in range(0, rows, 100_000):
            count = min(100_000, rows - start)
            written[start : start + count] = rng.normal(size=(count, COLUMNS))
        del written
        salts = Salts(bytes(32), "0" * 32)
        chosen = sorted(rng.choice(rows, OFFERS, replace=False).tolist())
        (table,) = read_owners({"owner": Stream(path)})
        root, seconds = _timed(lambda: openings(table, [], salts)[0])
        print(f"{rows:,} rows of {COLUMNS} columns, streamed: root in {seconds:.1f} s,", end=" ")
        opened, seconds = _timed(lambda: openings(table, chosen, salts)[1])
        print(f"{OFFERS} openings in {seconds:.1f} s")
        tracemalloc.start()
        openings(table, chosen, salts)
        print(f"memory for that: {tracemalloc.get_traced_memory()[1] / 2**20:.0f} MiB at most")
        tracemalloc.stop()
        (table,) = read_owners({"owner": np.load(path)})
        again, seconds = _timed(lambda: openings(table, [], salts)[0])
        print(f"in memory: root in {seconds:.1f} s, {'the same' if again == root else 'ANOTHER'}")
        size = sum(len(salt) + len(way) + 8 for salt, way in opened) / len(opened)
        print(f"an opening: {size:.0f} bytes beside the row")
        leaves = [bytes(32)] * rows
        _, seconds = _timed(lambda: Forest().extend(0, leaves))
        print(f"of the root, the tree above the leaves: {seconds:.1f} s")


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    made = work()
    return made, time.process_time() - start


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
