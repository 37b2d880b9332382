"""Keep results of earlier code, once it is seen that today's code gives the same to the last bit.

Any change of the files in `evidence.sources` makes all results old. Most changes change no result:
then the first split of every scenario, measured again, is equal in every column but the seconds.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import polars as pl

from evidence.methods import METHODS
from evidence.runner import SCHEMA, THREADS, Scenario, made_with, measured_split, write
from evidence.sources import digest

UNCOMPARED = ("key", "seconds")


def adopt(
    wanted: Sequence[Scenario], folder: Path | None, results: Path, jobs: int
) -> list[tuple[str, str]]:
    """Measure first splits again; if all are equal, call all results of the old code today's.

    Returns
    -------
    Scenario and method of what differs; then, and if there is nothing to adopt, nothing is written.
    """
    table, old = pl.read_parquet(results), made_with(results)["code"].split()[0]
    earlier = {
        (scenario.name, name): (scenario.key(name, old), scenario.key(name))
        for scenario in wanted
        for name in METHODS
    }
    known = table.filter(pl.col("key").is_in([before for before, _ in earlier.values()]))
    if old == digest() or known.is_empty():
        return []
    firsts = []
    for scenario in wanted:
        mine = known.filter(pl.col("scenario") == scenario.name)
        if len(mine):
            seed = mine["seed"].min()
            firsts.append((scenario, seed, mine.filter(pl.col("seed") == seed)["method"].to_list()))
    os.environ |= THREADS
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        made = [pool.submit(measured_split, *first, folder) for first in firsts]
        again = pl.DataFrame([row for future in made for row in future.result()], schema=SCHEMA)
    columns = [name for name in SCHEMA if name not in UNCOMPARED]
    differing = again.select(columns).join(
        known.select(columns), on=columns, how="anti", nulls_equal=True
    )
    if len(differing):
        return list(differing.select("scenario", "method").iter_rows())
    renamed = dict(earlier.values())
    table = table.with_columns(pl.col("key").replace(renamed))
    # The code that all splits were measured with may be older than the one that was adopted last.
    origin = made_with(results)["code"].rstrip(")").split()[-1]
    note = f"{digest()} (the first split of each scenario; the others {origin})"
    write(table, results, {"code": note})
    return []
