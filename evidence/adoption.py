"""Take over results of earlier code that today's code gives, too.

Any change of the files in `evidence.sources` makes all results old. Most changes change few: where
today's first split of a scenario equals the earlier one of a method in every column that both have,
the earlier other splits are taken over. Equal to the last bit; what comes from weights, which are
found to a tolerance only, to two per cent.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from dpsumm.summary.result import WEIGHTS_TOLERANCE
from evidence.methods import METHODS
from evidence.runner import SCHEMA, Scenario, made_with, write
from evidence.sources import digest

UNCOMPARED = ("scenario", "seed", "method", "key", "seconds")
# Relatively. Twice the tolerance: either code's weights may be that far from the best.
NEAR = 2 * WEIGHTS_TOLERANCE


def adopt(wanted: Sequence[Scenario], earlier: Path, results: Path) -> int:
    """Add splits of earlier results to today's; return how many rows.

    Those of which a split was measured today stay as measured.
    """
    old, table = pl.read_parquet(earlier), pl.read_parquet(results)
    found = [table]
    for scenario in wanted:
        for method in METHODS:
            chosen = (pl.col("scenario") == scenario.name) & (pl.col("method") == method)
            new = table.filter(chosen & (pl.col("key") == scenario.key(method)))
            first = pl.col("seed") == scenario.seeds[0]
            mine = old.filter(chosen)
            columns = _equal(mine.filter(first), new.filter(first))
            if columns is not None:
                rest = mine.filter(
                    pl.col("seed").is_in(scenario.seeds) & ~pl.col("seed").is_in(new["seed"])
                )
                key = pl.lit(scenario.key(method)).alias("key")
                found.append(rest.select(*UNCOMPARED, *columns).with_columns(key))
    whole = pl.concat([pl.DataFrame(schema=SCHEMA), *found], how="diagonal")
    count = len(whole) - len(table)
    if count:
        origin = made_with(earlier)["code"].split()[0]
        write(whole, results, {"code": f"{digest()} ({count:,} of the runs {origin})"})
    return count


def _equal(old: pl.DataFrame, new: pl.DataFrame) -> list[str] | None:
    """Return the columns of a split that both have, if they are equal and none is lacking."""
    if len(old) != 1 or len(new) != 1:
        return None
    shown = [name for name in SCHEMA if name not in UNCOMPARED and new[name][0] is not None]
    # Means of coordinates were not measured from the start, and only weights are judged by them.
    columns = [name for name in shown if name != "means" or name in old.columns]
    if any(name not in old.columns or old[name][0] is None for name in columns):
        return None
    exact = [name for name in columns if not name.endswith("_weighted")]
    pairs = ((old[name][0], new[name][0]) for name in columns if name.endswith("_weighted"))
    near = all(abs(a - b) <= NEAR * abs(b) for a, b in pairs)
    return columns if near and old.select(exact).equals(new.select(exact)) else None
