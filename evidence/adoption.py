"""Take over results of earlier code that today's code gives, too.

Any change of the files in `evidence.sources` makes all results old. Most changes change few: where
today's first split of a scenario equals the earlier one of a method in every column that both have,
to the last bit, the earlier other splits are taken over. Columns that come from weights, which are
found to a tolerance only, are taken over if all of them are within two per cent. A column that was
not measured earlier, or is not taken over, stays empty there: its means are of fewer splits.
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
    # What is taken over replaces what other code gave.
    whole = whole.unique(["scenario", "seed", "method"], keep="last", maintain_order=True)
    if count:
        origin = made_with(earlier)["code"].split()[0]
        write(whole, results, {"code": f"{digest()} ({count:,} of the runs {origin})"})
    return count


def _equal(old: pl.DataFrame, new: pl.DataFrame) -> list[str] | None:
    """Return the columns of a split that both have and that are equal; None if one is not."""
    if len(old) != 1 or len(new) != 1:
        return None
    known = [name for name in SCHEMA if name not in UNCOMPARED and name in old.columns]
    both = [name for name in known if not (old[name][0] is None or new[name][0] is None)]
    exact = [name for name in both if not name.endswith("_weighted")]
    if not exact or not old.select(exact).equals(new.select(exact)):
        return None
    weighted = [name for name in both if name.endswith("_weighted")]
    near = all(abs(old[name][0] - new[name][0]) <= NEAR * abs(new[name][0]) for name in weighted)
    return both if near else exact
