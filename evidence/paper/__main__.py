"""Measure section 4 of the paper and models that may be shown; write evidence/results/section-4.md.

    python -m evidence.paper --data FOLDER    the splits that the results lack, then the page
    python -m evidence.paper                  only the page, from the results
    python -m evidence.paper --stored         the same, of whatever code
    python -m evidence.paper --data FOLDER --splits 0    base rates alone

Results of other code or of another design are measured anew. The page says what code
made them. FOLDER as for `evidence`.
"""

from __future__ import annotations

import argparse
import os
from hashlib import sha256
from pathlib import Path

import polars as pl

from evidence.paper import base, page
from evidence.paper.design import Design, designs
from evidence.paper.measure import measured
from evidence.runner import THREADS, made_with, write
from evidence.sources import PACKAGE, code, digest

RESULTS = Path(__file__).with_name("results.parquet")
SCHEMA = {
    "design": pl.String,
    "seed": pl.Int64,
    "method": pl.String,
    "scenario": pl.String,
    "part": pl.String,
    "size": pl.Int64,
    "epsilon": pl.Float64,
    "mmd2": pl.Float64,
    "mmd2_test": pl.Float64,
    "accuracy": pl.Float64,
    "seconds": pl.Float64,
}


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser("evidence.paper", description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of the data sets")
    parser.add_argument("--splits", type=int, default=10**9, help="of each design, at most")
    parser.add_argument("--stored", action="store_true", help="show results of other code, too")
    given = parser.parse_args()
    table = pl.read_parquet(RESULTS) if RESULTS.exists() else pl.DataFrame(schema=SCHEMA)
    known = designs()
    if given.data is not None:
        for name in THREADS:
            os.environ.setdefault(name, "1")
        base.count(known.values(), given.data)
        most = max(design.splits for design in known.values())
        for i in range(min(most, given.splits)):  # so that a run that is stopped has some of all
            for design in known.values():
                table = _run(design, design.seeds[i : i + 1], given.data, table)
    shown = table.filter(pl.col("scenario").is_in([key(design) for design in known.values()]))
    if given.stored:
        shown = table
        if shown.n_unique(["design", "scenario"]) > shown["design"].n_unique():
            parser.error("the results are of several codes: give --data")
    if shown.is_empty():
        parser.error("no results are of today's code and designs: give --data")
    page.write(shown, known, made_with(RESULTS), page.ROOT)


def key(design: Design) -> str:
    """Name what results depend on: the code and the design, but for the number of splits."""
    paths = [*Path(__file__).parent.glob("[dm]*.py"), *(PACKAGE / "summary/models").glob("*.py")]
    here = [code(path.read_text(), ".py") for path in sorted(paths, key=lambda path: path.name)]
    facts = (digest(), here, {k: v for k, v in vars(design).items() if k != "splits"})
    return f"{design.name}-{sha256(repr(facts).encode()).hexdigest()[:12]}"


def _run(design: Design, seeds: range, folder: Path, table: pl.DataFrame) -> pl.DataFrame:
    scenario = key(design)
    done = set(table.filter(pl.col("scenario") == scenario)["seed"])
    for seed in seeds:
        if seed in done:
            continue
        rows = [{"scenario": scenario, **row} for row in measured(design, folder, seed)]
        new = pl.DataFrame([dict.fromkeys(SCHEMA) | row for row in rows], schema=SCHEMA)
        # What was measured of this split by other code goes.
        old = table.filter((pl.col("design") != design.name) | (pl.col("seed") != seed))
        table = pl.concat([old, new])
        write(table, RESULTS)
        print(f"{design.name}, split {seed}: {len(rows)} rows")
    return table


if __name__ == "__main__":
    main()
