"""Owners of columns and a helper as processes on loopback, with TLS and registered keys."""

import polars as pl
import pytest
from deployment import Deployment, make_columns

from dpsumm.privacy import Ledger

NAMES = ("east", "north")
pytestmark = pytest.mark.timeout(1200)


def test_rows_come_from_two_owners_and_a_helper(tmp_path):
    make_columns(tmp_path / "data", tmp_path / "schemas", NAMES)
    started = Deployment(
        tmp_path, NAMES, "synthesize", tmp_path / "schemas",
        ids="person", epsilon=2.5, bins="income=0,40,70,100",
    )  # fmt: skip
    with started as deployment:
        assert deployment.names == (*NAMES, "helper")
        run = deployment.begin()
        assert deployment.finish(run) == "finished:completed", deployment.logs(run)
    out = tmp_path / "curator"
    rows = pl.read_parquet(out / "synthetic.parquet")
    assert len(rows) == 400
    means = dict(rows.group_by("smokes").agg(pl.col("income").mean()).iter_rows())
    assert means[1] > means[0]
    assert (out / "report.html").exists()
    for name in NAMES:
        with Ledger(tmp_path / name / "books.db") as book:
            assert len(book.charges()) == 2
    # What went through the helper's node names no record: levels, sizes and names alone.
    received = (tmp_path / "helper.received").read_text()
    assert b"Deal".hex() in received
    for kind in (b"Joined", b"ColumnCounts", b"MaskedRows", b"TwoWay", b"income"):
        assert kind.hex() not in received
