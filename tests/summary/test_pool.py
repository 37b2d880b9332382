"""The points that were read: with labels and owners, as arrays and as a frame."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import dpsumm
from dpsumm import Column, Schema
from dpsumm.data import Kind

SCHEMA = Schema(
    [
        Column("dose", bounds=(0, 1)),
        Column("ward", Kind.CATEGORY, categories=("A", "B")),
        Column("picked", Kind.LABEL),
        Column("room", Kind.IGNORE),
    ]
)


def rows(seed: int, n: int = 60) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "dose": rng.random(n),
            "ward": rng.choice(["A", "B"], n),
            "picked": rng.choice(["yes", "no"], n),
            "room": [f"{seed}-{i}" for i in range(n)],
        }
    )


@pytest.mark.parametrize("backend", ["polars", "pandas", "pyarrow"])
def test_the_frame_has_every_point_read_as_its_owner_has_it(backend) -> None:
    owners = {"east": rows(1), "west": rows(2)}
    summary = dpsumm.summarize(owners, rows(3), size=10, schema=SCHEMA)
    frame = summary.pool.to_frame(backend)
    frame = (
        pl.DataFrame(frame)
        if backend == "polars"
        else pl.from_dicts(frame.to_pylist() if backend == "pyarrow" else frame.to_dict("records"))
    )
    assert frame.columns[-3:] == ["owner", "index", "picked_"]
    assert len(frame) == summary.accesses > len(summary) == frame["picked_"].sum()
    for row in frame.to_dicts():
        assert {name: row[name] for name in owners["east"].columns} == owners[row["owner"]].row(
            row["index"], named=True
        )
    chosen = frame.filter("picked_").select("owner", "index").rows()
    assert sorted(chosen) == sorted(summary.to_frame("polars").select("owner", "index").rows())
    assert repr(summary.pool) == f"PointsRead({len(frame)} points of 2 owners, 10 of them picked)"


def test_copies_of_the_target_are_in_the_pool_and_not_among_the_picks() -> None:
    target = rows(3)
    summary = dpsumm.summarize(
        [target, rows(1)], target, size=10, schema=SCHEMA, drop_target_copies=True
    )
    assert (summary.pool.owner == 0).any()
    assert (summary.pool.owner[summary.pool.picks] == 1).all()


def test_without_labels_there_are_none() -> None:
    rng = np.random.default_rng(0)
    owners = [rng.normal(size=(40, 2))]
    summary = dpsumm.summarize(owners, owners[0], size=5, kernel=dpsumm.RBF(1))
    assert summary.pool.labels is None
