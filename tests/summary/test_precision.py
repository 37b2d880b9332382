"""The precision of one party's numbers changes nothing that another party receives.

A party's precision is its own affair: it computes in it and sends in it; the target's release is
float64. Whoever computes points from values again finds the same bits.
"""

import hashlib
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpsumm
from dpsumm.data.column import Column
from dpsumm.data.file import File, FileFormat
from dpsumm.data.inputs import read_owners, read_table
from dpsumm.data.schema import Schema
from dpsumm.exchange.driver import run_in_process
from dpsumm.kernels import RandomFeatures
from dpsumm.papers.auction.curator import AuctionCurator
from dpsumm.privacy.ledger import Ledger
from dpsumm.summary.protocols.features import Scores
from dpsumm.summary.protocols.messages import FeatureMap
from dpsumm.summary.protocols.owner import Owner
from dpsumm.summary.protocols.wire import encode
from helpers.settings import setting_of

NAMES = ["x0", "x1", "x2"]
BOUNDS = {name: (-6.0, 6.0) for name in NAMES}
SINGLE, DOUBLE = np.float32, np.float64
PROTOCOLS = [dpsumm.Offers(), dpsumm.papers.Auction(), dpsumm.Pool(), dpsumm.summary.Greedy()]


def numbers(n, shift, seed):
    """Return (n, 3) numbers that float32 holds exactly."""
    return np.random.default_rng(seed).normal(shift, 1, (n, 3)).astype(SINGLE)


def messages_to_a(protocol, dtype_b, dtype_target, monkeypatch):
    """Return digests of what owner a receives, and the summary."""
    received = []
    answer = Owner.answer

    def watched(self, request):
        if self.table.name == "a":
            received.append(hashlib.sha256(encode(request)).hexdigest())
        return answer(self, request)

    with monkeypatch.context() as patch:
        patch.setattr(Owner, "answer", watched)
        summary = dpsumm.summarize(
            {"a": numbers(90, 0, 1), "b": numbers(80, 2, 2).astype(dtype_b)},
            numbers(300, 1, 3).astype(dtype_target),
            size=20,
            kernel=dpsumm.RBF(0.1),
            protocol=protocol,
            seed=7,
        )
    return received, summary


@pytest.mark.parametrize("protocol", [dpsumm.Offers(), dpsumm.Offers(exact_selection=False)])
def test_offers_are_asked_for_with_the_same_bytes_whatever_precision_others_have(
    protocol, monkeypatch
):
    wanted, _ = messages_to_a(protocol, SINGLE, SINGLE, monkeypatch)
    assert wanted
    for dtype_b, dtype_target in ((DOUBLE, SINGLE), (SINGLE, DOUBLE), (DOUBLE, DOUBLE)):
        found, _ = messages_to_a(protocol, dtype_b, dtype_target, monkeypatch)
        assert found == wanted


def test_the_auctions_target_is_the_same_whatever_precision_others_have(monkeypatch):
    first = [
        messages_to_a(dpsumm.papers.Auction(), dtype_b, dtype_target, monkeypatch)[0][0]
        for dtype_b in (SINGLE, DOUBLE)
        for dtype_target in (SINGLE, DOUBLE)
    ]
    assert len(set(first)) == 1


@pytest.mark.parametrize("bounds", [None, BOUNDS])
@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
@pytest.mark.parametrize("kinds", [(SINGLE, DOUBLE), (DOUBLE, SINGLE), (SINGLE, SINGLE)])
def test_owners_of_different_precision_end_their_run(protocol, bounds, kinds):
    data = [numbers(90, 0, 1) / SINGLE(3), numbers(80, 1, 2) / SINGLE(7)]
    parts = zip("ab", data, kinds, strict=True)
    owners = {name: values.astype(kind) for name, values, kind in parts}
    target = pl.DataFrame(dict(zip(NAMES, numbers(300, 0.5, 3).T, strict=True)))
    kernel = None if bounds else dpsumm.RBF(0.1)
    summary = dpsumm.summarize(
        owners, target, size=20, schema=bounds, kernel=kernel, protocol=protocol
    )
    assert len(summary) == 20
    assert summary.scaled.dtype == summary.pool.scaled.dtype == summary.target.dtype == DOUBLE
    for row, owner, point in zip(summary.index, summary.owner, summary.points, strict=True):
        np.testing.assert_array_equal(point, data[owner][row])


def test_scores_are_single_where_that_cannot_show(rng):
    """They rank one owner's records: each depends on its own record, the same in any block."""
    schema = Schema([Column(name, bounds=BOUNDS[name]) for name in NAMES])
    points = schema.encode(rng.uniform(-6, 6, (300, 3)))
    directions = rng.normal(size=(2, 256))

    def scored(gamma, schema=schema):
        made = Scores(
            FeatureMap(gamma=gamma, n_columns=3, n_features=256, seed=5), schema, directions
        )
        exact = RandomFeatures(3, 256, gamma=gamma, seed=5).scores(points, directions)
        return made(points), exact, made

    single, exact, made = scored(2.0)
    assert 0 < np.abs(single - exact).max() < 1e-4
    np.testing.assert_array_equal(np.vstack([made(points[i : i + 1]) for i in range(300)]), single)
    # Angles of a narrow kernel, or of numbers without bounds, may be of any size.
    for gamma, free in ((1e5, schema), (2.0, Schema([Column(name) for name in NAMES]))):
        found, exact, _ = scored(gamma, free)
        np.testing.assert_array_equal(found, exact)


def rest_of(frame, schema):
    """Return the bits of every row but the first, and of its features."""
    table = read_table(frame, name="a", schema=schema)
    features = RandomFeatures(table.width, 16, gamma=0.3, seed=1)
    return tuple(
        (point.tobytes(), features.sum_on_grid(point[None], 2**20).tobytes())
        for point in table.scaled[1:]
    )


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_no_record_sets_the_precision_of_the_others(library):
    """A mark of a missing value, or an empty text, makes a library hold a column as text."""
    columns = (Column(n, bounds=BOUNDS[n], missing=("?",), when_missing="encode") for n in NAMES)
    schema, values = Schema(columns), numbers(20, 0, 1)
    found = set()
    for odd in (None, "?", ""):
        frame = {"x0": values[:, 0], "x1": values[:, 1], "x2": values[:, 2]}
        if odd is not None:
            texts = [odd, *map(repr, values[1:, 2].astype(DOUBLE).tolist())]
            frame["x2"] = np.array(texts, dtype=object)
        make = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[library]
        found.add(rest_of(make(frame), schema))
    assert len(found) == 1


def test_values_are_cast_before_they_are_encoded(tmp_path):
    """As across silos, where all owners compute in float64 whatever their file has."""
    schema = Schema([Column(name, bounds=BOUNDS[name]) for name in NAMES])
    pl.DataFrame(dict(zip(NAMES, numbers(90, 0, 1).T, strict=True))).write_parquet(
        tmp_path / "a.parquet"
    )
    file = File(tmp_path / "a.parquet", FileFormat(single=True))
    (table,) = read_owners({"a": file}, schema=schema)
    assert table.dtype == SINGLE
    table = table.astype(np.dtype(DOUBLE))
    np.testing.assert_array_equal(table.scaled, schema.encode(table.values))
    goal = read_table(numbers(300, 1, 3), name="target", schema=schema).astype(np.dtype(DOUBLE))
    with Ledger(None, delta=1e-5) as book:
        given = {"columns": schema.names, "schema": schema, "kernel": dpsumm.RBF(1.0), "size": 20}
        setting = setting_of(goal.scaled, dict.fromkeys("ab", len(table)), book, **given)
        curator = dpsumm.papers.Auction().curator(setting)
        assert isinstance(curator, AuctionCurator)
        owners = {name: Owner(replace(table, name=name)) for name in "ab"}
        assert len(run_in_process(curator, owners).records) == 20
