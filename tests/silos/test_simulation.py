"""A hundred owners in Flower's simulation, from the ready project."""

import numpy as np
import polars as pl
import pytest
from deployment import BOUNDS, SCHEMA, make_data
from simulation import simulate

import dpsumm


@pytest.mark.timeout(1200)
def test_a_hundred_owners(tmp_path):
    names = [f"owner-{i:03d}" for i in range(100)]
    owners, target = make_data(tmp_path / "data", names, rows=20)
    simulate(tmp_path, names, size=50, seed=3)
    frame = pl.read_parquet(tmp_path / "curator" / "summary.parquet")
    here = dpsumm.summarize(
        {name: pl.DataFrame(owners[name], list(BOUNDS)) for name in names},
        pl.DataFrame(target, list(BOUNDS)),
        size=50,
        schema=SCHEMA,
        seed=3,
    )
    np.testing.assert_array_equal(frame.select(list(BOUNDS)).to_numpy(), here.points)
    assert frame["owner"].to_list() == [names[i] for i in here.owner]
