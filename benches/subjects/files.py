"""Whole calls on owners' Parquet files of mixed columns, beside a bare read of the same files."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl

import dpsumm
from benches.subjects import Scale
from benches.timing import OURS, Case, Isolated

OWNERS, COLUMNS, TARGET = 4, 20, 500
CHECK, READ = f"{OURS}, check of the schema", "polars reads the files"
COLOURS = ["red", "green", "blue", "white", "black"]
YEAR = date(2020, 1, 1), date(2020, 12, 31)


def cases(scale: Scale) -> Iterator[Case]:
    n = scale.of(20_000, 4_000_000)
    with tempfile.TemporaryDirectory(prefix="dpsumm-bench-") as name:
        folder = Path(name)
        for i in range(OWNERS):
            people(n // OWNERS, i, 0.0).write_parquet(folder / f"owner-{i}.parquet")
        people(TARGET, OWNERS, 0.5).write_parquet(folder / "target.parquet")
        yield Case(
            {"n": n, "c": COLUMNS, "K": OWNERS, "m": TARGET, "p": 100},
            {
                OURS: Isolated(summarized, (folder,), ready),
                CHECK: Isolated(checked, (folder,), ready),
                READ: Isolated(read, (folder,), ready),
            },
        )


def people(n: int, seed: int, shift: float) -> pl.DataFrame:
    """Made-up records: eight numbers, four whole ones, six categories, two dates."""
    rng = np.random.default_rng(seed)
    columns = {f"x{j}": rng.normal(shift, 1, n).clip(-5, 5) for j in range(8)}
    columns |= {f"k{j}": rng.integers(0, 101, n) for j in range(4)}
    columns |= {f"c{j}": np.array(COLOURS)[rng.integers(0, 5, n)] for j in range(6)}
    days = {
        f"t{j}": pl.Series(rng.integers(0, 366, n) + (YEAR[0] - date(1970, 1, 1)).days).cast(
            pl.Date
        )
        for j in range(2)
    }
    return pl.DataFrame({**columns, **days})


def schema() -> dpsumm.Schema:
    """The public schema of these records."""
    columns = [dpsumm.Column(f"x{j}", bounds=(-5, 5)) for j in range(8)]
    columns += [dpsumm.Column(f"k{j}", bounds=(0, 100), whole=True) for j in range(4)]
    columns += [dpsumm.Column(f"c{j}", categories=COLOURS) for j in range(6)]
    columns += [dpsumm.Column(f"t{j}", bounds=YEAR) for j in range(2)]
    return dpsumm.Schema(columns)


def owners(folder: Path) -> dict[str, Path]:
    """Owners' files by their names."""
    return {path.stem: path for path in sorted(folder.glob("owner-*.parquet"))}


def ready() -> None:
    """Import what all contenders need, and run once at a small size."""
    warnings.simplefilter("ignore")  # the runs have no ledger
    small = {f"o{i}": people(500, i, 0.0) for i in range(2)}
    dpsumm.summarize(small, people(50, 2, 0.5), size=5, schema=schema(), allow_weak_privacy=True)


def summarized(folder: Path) -> float:
    """Return the distance of a private summary of the owners to the target."""
    made = dpsumm.summarize(owners(folder), folder / "target.parquet", size=100, schema=schema())
    return float(made.mmd2)


def checked(folder: Path) -> bool:
    """Return whether a run takes all owners' files."""
    return all(schema().check(path).accepted for path in owners(folder).values())


def read(folder: Path) -> int:
    """Return the number of records."""
    return sum(len(pl.read_parquet(path)) for path in owners(folder).values())
