"""Whole runs over columns of every kind: in memory, streamed, across machines, embedded."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from dpsumm import RBF, Offers, Pool, Schema, summarize
from dpsumm.data import Stream
from dpsumm.data.inputs import read_table
from dpsumm.errors import InvalidParameterError
from dpsumm.papers import Auction
from dpsumm.summary import Embedding, Greedy, Summary
from dpsumm.summary.protocols.messages import Points
from dpsumm.summary.protocols.owner import points_of
from dpsumm.summary.protocols.wire import decode, encode
from helpers.mixed import SCHEMA


def made_up(rng: np.random.Generator, n: int, young: float) -> pl.DataFrame:
    """A hospital's table; `young` is the share of the young, who come late and smoke."""
    is_young = rng.random(n) < young
    missing = rng.random((n, 3)) < 0.1
    age = np.where(is_young, rng.normal(35, 5, n), rng.normal(75, 5, n)).round(1)
    days = np.where(is_young, 6000, 1000) + rng.integers(0, 500, n)
    return pl.DataFrame(
        {
            "age": [
                None if gone else a for a, gone in zip(age.tolist(), missing[:, 0], strict=True)
            ],
            "sex": [["f", "m", "?", "u"][i] for i in rng.integers(0, 4, n)],
            "pain": [["no", "some", "bad"][i] for i in rng.integers(0, 3, n)],
            "visit": [
                None if gone else dt.date(2001, 1, 1) + dt.timedelta(days=int(day))
                for day, gone in zip(days, missing[:, 1], strict=True)
            ],
            "grade": rng.integers(1, 4, n),
            "smoker": is_young,
            "note": [f"patient {i} of many" for i in range(n)],
            "born": [dt.date(1950, 1, 1)] * n,
            "beds": rng.integers(1, 9, n),
            "outcome": [["yes", "no"][i] for i in rng.integers(0, 2, n)],
        }
    )


@pytest.fixture
def hospitals(rng: np.random.Generator) -> tuple[dict[str, pl.DataFrame], pl.DataFrame]:
    owners = {f"h{i}": made_up(rng, 400, share) for i, share in enumerate((0.0, 0.2, 0.9))}
    return owners, made_up(rng, 600, 1.0).select(SCHEMA.names)


def same_rows(summary: Summary, owners: dict[str, pl.DataFrame]) -> None:
    """Every row of the summary is a row of its owner, columns that the kernel ignores included."""
    for row in pl.DataFrame(summary.to_frame("polars")).iter_rows(named=True):
        theirs = owners[row.pop("owner")].row(row.pop("index"), named=True)
        if theirs["sex"] not in ("f", "m"):
            theirs["sex"] = {"?": None, "u": "other"}[theirs["sex"]]
        assert row == theirs


@pytest.mark.same_draws
@pytest.mark.parametrize(
    "protocol", [Offers(), Pool(), Greedy(), Auction(n_features=64)], ids=lambda p: p.name
)
def test_a_run_with_mixed_columns(protocol: Any, hospitals: Any) -> None:
    owners, target = hospitals
    summary = summarize(owners, target, size=40, schema=SCHEMA, protocol=protocol)
    same_rows(summary, owners)
    assert summary.scaled.shape == (40, len(SCHEMA.cells))
    assert summary.points.shape == (40, 6)
    young = pl.DataFrame(summary.to_frame("polars"))["smoker"].mean()
    if not isinstance(protocol, Auction):
        assert young > 0.8  # 0.37 of all records are
    said = " ".join(summary.notes)
    assert "target: " in said
    assert re.search(r"in no category and count as its 'other' at 3 of 3 owners: [0-9]+ to ", said)
    assert re.search(r"target: [0-9]+ values of sex were in no category", said)
    # Records of so few values may be equal by chance, which has notes of its own.
    counts = [note for note in summary.notes if "equal" not in note]
    assert len(counts) <= 8  # a line for the owners, one for the target, by kind


def test_seed_points_of_an_auction_are_records_of_the_schema(hospitals: Any) -> None:
    owners, target = hospitals

    def run(seeds: Any) -> Summary:
        auction = Auction(n_features=16, seed_points=np.array(seeds, float))
        return summarize(owners, target, size=5, schema=SCHEMA, protocol=auction)

    fitting = [[50, 2, np.nan, np.nan, 3, 0], [20, 0, 1, 9000, 0, 1]]
    assert len(run(fitting)) == 5
    for wrong in ([[50, 3, 0, 9000, 0, 0]], [[50, 0, 0, 9000, np.nan, 0]], [[50, 0]]):
        with pytest.raises(InvalidParameterError, match=r"seed_points .*Schema\.encode"):
            run(wrong)


def test_streams_have_the_schema_too(hospitals: Any, tmp_path: Path) -> None:
    owners, target = hospitals
    streams = {}
    for name, frame in owners.items():
        frame.write_parquet(tmp_path / f"{name}.parquet")
        streams[name] = Stream(tmp_path / f"{name}.parquet", block_rows=64)
    schema = Schema(
        replace(column, when_missing="refuse") if column.kind == "label" else column
        for column in SCHEMA.columns
    )
    summary = summarize(streams, target, size=40, schema=schema, seed=1)
    same_rows(summary, owners)
    whole = summarize(owners, target, size=40, schema=schema, seed=1)
    np.testing.assert_array_equal(summary.index, whole.index)
    assert [w for w in whole.notes if "h1" in w] == [w for w in summary.notes if "h1" in w]
    with pytest.raises(InvalidParameterError, match="Leave out when_missing='drop'"):
        summarize(streams, target, size=40, schema=SCHEMA)


def test_a_message_of_mixed_points_crosses_machines(hospitals: Any) -> None:
    owners, _ = hospitals
    table = read_table(owners["h0"], name="north", schema=SCHEMA)
    points = points_of(table, np.array([3, 5, 8]))
    again = decode(encode(points))
    assert isinstance(again, Points)
    assert [column.tolist() for column in again.carried] == [
        column.tolist() for column in points.carried
    ]
    np.testing.assert_array_equal(again.values, points.values)
    again.check(6, 3, True, SCHEMA)


def test_an_embedding_lets_no_original_through(hospitals: Any) -> None:
    owners, target = hospitals
    embedding = Embedding.draw(RBF.for_schema(SCHEMA), len(SCHEMA.cells), 64)
    summary = summarize(owners, target, size=10, schema=SCHEMA, kernel=embedding, protocol=Pool())
    assert summary.points.shape == (10, 64)
    assert summary.carried == ()
    names = pl.DataFrame(summary.to_frame("polars")).columns
    assert names == [*(f"h{j}" for j in range(64)), "outcome", "owner", "index"]
