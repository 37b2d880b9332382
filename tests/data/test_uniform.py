"""Points drawn from a schema, and the region that no record of it leaves."""

from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsumm import Column, Schema
from dpsumm.data.kinds.kind import ABSENT
from dpsumm.data.schema import uniform_points
from dpsumm.data.table import read_table
from dpsumm.errors import InvalidParameterError

COLUMNS = {
    "number": Column("number", bounds=(-3, 5), weight=2.0),
    "gap": Column("gap", bounds=(0, 1), when_missing="encode"),
    "day": Column("day", bounds=(date(2020, 1, 1), date(2021, 1, 1))),
    "kind": Column("kind", categories=tuple("abc"), other="d", when_missing="encode", weight=0.3),
    "one": Column("one", categories=("a",)),
    "order": Column("order", categories=(1, 2), ordered=True, other=9, when_missing="encode"),
    "many": Column("many", categories=[*map(str, range(20))], other="x", when_missing="encode"),
    "rank": Column("rank", categories=tuple(range(5)), ordered=True, when_missing="encode"),
}


def codes_of(column, rng, n):
    """Values as `Schema.encode` takes them, beyond the bounds too."""
    if column.categories:
        known = len(column.categories) + (column.other is not None)
        codes = rng.integers(0, known, n).astype(float)
    else:
        codes = rng.choice([-1e300, -3, 0, 0.3, 1, 5, 18300, 1e9], n)
    if column.encodes_missing:
        codes[rng.random(n) < 0.3] = np.nan
    return codes


@given(
    names=st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, unique=True),
    seed=st.integers(0, 2**32),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_no_record_leaves_the_region(names, seed, dtype):
    schema = Schema([COLUMNS[name] for name in names])
    rng = np.random.default_rng(seed)
    codes = np.column_stack([codes_of(COLUMNS[name], rng, 200) for name in names])
    points = schema.encode(codes.clip(-3e38, 3e38).astype(dtype)).astype(float)
    assert sum(cells for cells, _ in schema.region) == len(schema.cells) == points.shape[1]
    first, square = 0, 0.0
    for cells, limit in schema.region:
        part = points[:, first : first + cells]
        assert part.min() >= 0
        # float32 may be beyond a limit by its own rounding.
        assert part.sum(axis=1).max() <= limit * (1 + 1e-7)
        first, square = first + cells, square + limit**2 * min(cells, 2)
    apart = ((points[:100, None] - points[None, 100:]) ** 2).sum(axis=2)
    assert apart.max() <= square * (1 + 1e-6)


def test_draws_are_uniform_over_what_the_schema_allows():
    n = 20_000
    points = uniform_points(Schema(COLUMNS.values()), n, 3)
    at = dict(zip(Schema(COLUMNS.values()).cells, points.T, strict=True))
    standard = 6 * np.sqrt(n)  # six standard errors are below
    known, rare = n * (1 - 2 * ABSENT), n * ABSENT
    for cell in ("kind=a", "kind=b", "kind=c"):
        assert abs((at[cell] > 0).sum() - known / 3) < standard / 2
    for cell in ("kind=d", "kind missing", "order=9", "order missing"):
        assert abs((at[cell] > 0).sum() - rare) < standard / 2
    # Of many categories, no more than each of them.
    for cell in ("many=x", "many missing", "many=0", "many=19"):
        assert abs((at[cell] > 0).sum() - n / 22) < standard / 2
    for low in np.arange(0, 2, 0.25):
        inside = (at["number"] >= low) & (at["number"] < low + 0.25)
        assert abs(inside.sum() - n / 8) < standard / 2
    absent = at["gap missing"] > 0
    assert abs(absent.sum() - n * ABSENT) < standard / 2
    assert (at["gap"][absent] == 0.5).all()
    assert abs((at["gap"][~absent] < 0.25).mean() - 0.25) < 0.03
    assert set(at["order"]) == {0.0, 0.5, 1.0}
    assert (at["one=a"] == at["one=a"][0]).all()


def test_a_seed_gives_these_points_on_every_machine():
    schema = Schema([COLUMNS["number"], COLUMNS["kind"]])
    points = uniform_points(schema, 50, 12)
    np.testing.assert_array_equal(points[:20], uniform_points(schema, 20, 12))
    assert (points != uniform_points(schema, 50, 13)).any()
    assert [x.hex() for x in points[:3, 0]] == GOLDEN


GOLDEN = ["0x1.e5f5db226e6d2p-1", "0x1.5533c0d662e23p+0", "0x1.63dffff22a240p-6"]


def test_a_region_needs_bounds_or_categories_everywhere():
    with pytest.raises(InvalidParameterError, match="bounds or categories"):
        _ = Schema([COLUMNS["number"], Column("free")]).region


@pytest.mark.parametrize("how", ["csv", "parquet", "frame", "array"])
def test_every_reader_clips_to_the_region(how, tmp_path):
    pandas = pytest.importorskip("pandas")
    schema = Schema([COLUMNS["number"], Column("x", bounds=(0, 1))])
    values = np.array([[-1e9, 0.5], [1e9, 7.0], [0.0, -7.0]])
    frame = pandas.DataFrame(values, columns=["number", "x"])
    source = {"frame": frame, "array": values}.get(how, tmp_path / f"t.{how}")
    if how == "csv":
        frame.to_csv(source, index=False)
    if how == "parquet":
        frame.to_parquet(source)
    read = read_table(source, name="t", schema=schema)
    np.testing.assert_array_equal(read.scaled, [[0, 0.5], [2, 1], [0.75, 0]])
