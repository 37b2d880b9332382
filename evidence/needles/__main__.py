"""Who finds rare records? Measures methods on four haystacks and fills docs/needles.md.

python -m evidence.needles --data FOLDER    what the results lack, then the page
python -m evidence.needles                  only the page, from the results
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path

import polars as pl

from evidence.needles import page
from evidence.needles.haystacks import HAYSTACKS
from evidence.needles.runs import CELLS, FIRST_SEED, measured
from evidence.runner import THREADS, made_with, write
from evidence.sources import digest

RESULTS = Path(__file__).with_name("results.parquet")


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser("evidence.needles", description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of the data sets")
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    table = pl.read_parquet(RESULTS) if RESULTS.exists() else pl.DataFrame()
    if given.data is not None:
        facts = list(asdict(CELLS[0]))
        todays = table if table.is_empty() else table.filter(pl.col("code") == digest())
        done = set() if table.is_empty() else set(todays.select("scenario", "seed", *facts).rows())
        left = [
            (name, cell, seed)
            for seed in range(FIRST_SEED, FIRST_SEED + given.seeds)
            for cell in CELLS
            for name in HAYSTACKS
            if (name, seed, *asdict(cell).values()) not in done
        ]
        os.environ |= THREADS
        with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
            futures = [pool.submit(measured, *job, given.data) for job in left]
            for future in as_completed(futures):
                if future.result():
                    todays = pl.concat([todays, pl.DataFrame(future.result())], how="diagonal")
                    write(todays, RESULTS)
        table = todays
    print(page.write(table, made_with(RESULTS), page.ROOT))


if __name__ == "__main__":
    main()
