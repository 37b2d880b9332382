"""Trees of counts: what one record moves, consistent counts, bins, values of cells."""

from datetime import date

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsumm import Column, Schema, synthesize
from dpsumm.vertical.bins import equal_mass
from dpsumm.vertical.consistency import consistent
from dpsumm.vertical.grid import Cells, Grid

COLUMNS = [
    Column("small", bounds=(1, 12), whole=True),
    Column("each", bounds=(-20, 300), whole=True, when_missing="encode"),
    Column("wide", bounds=(-100, 5000), whole=True),
    Column("gain", bounds=(0, 10**6), whole=True, when_missing="encode"),
    Column("share", bounds=(0, 1.3)),
    Column("far", bounds=(1000.25, 1010.5)),
    Column("born", bounds=(date(1900, 1, 1), date(1969, 12, 31))),
]
by_name = pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.name)


def values_of(column, rng, n):
    low, high = column.limits
    values = rng.uniform(low, high, n)
    values = np.round(values) if column.whole or column.kind == "date" else values
    return np.where(rng.random(n) < 0.1, np.nan if column.encodes_missing else low, values)


@by_name
def test_a_replaced_record_moves_two_cells_of_each_table_by_one(rng, column):
    grid = Grid.of(column)
    codes = grid.encode(values_of(column, rng, 400))
    before = grid.tree.tables(np.bincount(codes, minlength=grid.size))
    assert [len(table) for table in before] == list(grid.tree.lengths)
    assert all(table.sum() == 400 for table in before)
    for other in (0, grid.known - 1, grid.size - 1, *rng.integers(grid.size, size=20)):
        changed = np.append(codes[1:], other)
        after = grid.tree.tables(np.bincount(changed, minlength=grid.size))
        for a, b in zip(before, after, strict=True):
            assert np.abs(a - b).sum() in (0, 2)
            assert np.abs(a - b).max() <= 1


@by_name
def test_values_of_a_cell_are_in_it_and_in_the_bounds(rng, column):
    grid = Grid.of(column)
    cells = Cells(grid, np.array(grid.tree.starts))
    codes = rng.integers(cells.size, size=5000).astype(np.uint32)
    values = cells.decode(codes, rng)
    np.testing.assert_array_equal(cells.encode(values), codes)
    known = values[~np.isnan(values)]
    assert column.limits[0] <= known.min() <= known.max() <= column.limits[1]
    assert np.isnan(values).any() == column.encodes_missing
    first, last = cells.ends(0)
    assert first == last == column.limits[0]


@pytest.mark.parametrize(
    ("low", "high", "whole"),
    [(0, 1e-310, False), (-5e-324, 5e-324, False), (0, 1e300, False), (1e15, 1e15 + 1, False),
     (1e17, 1e17 + 1e6, False), (1e-12, 1, False), (-3, -1, False), (-1e9, 2.5, True),
     (0, 999_999, True), (0.5, 12.5, True), (0, 2**63, True)],
)  # fmt: skip
def test_bounds_of_any_size_have_a_grid(rng, low, high, whole):
    grid = Grid.of(Column("x", bounds=(low, high), whole=whole))
    cells = Cells(grid, np.array(grid.tree.starts))
    codes = np.arange(cells.size, dtype=np.uint32)
    values = cells.decode(codes, rng)
    np.testing.assert_array_equal(cells.encode(values), codes)
    assert low <= values.min() <= values.max() <= high
    assert not whole or (values == np.round(values)).all()
    assert grid.size <= 200_001


@by_name
@pytest.mark.parametrize("n", [1, 50, 30_000])
def test_counts_of_a_tree_are_not_negative_and_sum_to_the_records(rng, column, n):
    grid = Grid.of(column)
    exact = np.bincount(grid.encode(values_of(column, rng, n)), minlength=grid.size)
    for std in (1e-3, 20.0):
        tables = [t + np.rint(rng.normal(0, std, t.shape)) for t in grid.tree.tables(exact)]
        starts, counts = consistent(grid.tree, tables, n, std)
        assert (counts >= 0).all()
        assert counts.sum() == pytest.approx(n)
        assert (np.diff(starts) > 0).all()
        assert starts[0] == 0
        assert starts[-1] < grid.size


@pytest.mark.same_draws  # one false cell far out moves the mean by more, in 1 % of draws
def test_little_noise_gives_the_counts_and_empty_tails_stay_empty(rng):
    grid = Grid.of(COLUMNS[3])
    values = np.where(rng.random(20_000) < 0.9, 0, rng.lognormal(8, 1, 20_000).clip(0, 10**6))
    values[:2000] = 15_020
    exact = np.bincount(grid.encode(values), minlength=grid.size)
    tables = [t + np.rint(rng.normal(0, 30, t.shape)) for t in grid.tree.tables(exact)]
    starts, counts = consistent(grid.tree, tables, 20_000, 30.0)
    cells = Cells(grid, starts)
    zero, spike = cells.level_of(0), cells.level_of(15_020)
    assert counts[zero] == pytest.approx((values == 0).sum(), abs=120)
    assert cells.ends(spike) == (15_020, 15_020)
    assert counts[spike] == pytest.approx(2000, abs=250)
    drawn = cells.decode(rng.choice(len(counts), 10**5, p=counts / 20_000).astype(np.uint32), rng)
    assert np.nanmean(drawn) == pytest.approx(values.mean(), rel=0.1)


@given(st.integers(0, 2**32), st.integers(1, 200), st.floats(0, 0.3))
def test_bins_are_runs_with_enough_mass_and_heavy_cells_alone(seed, size, least):
    shares = np.random.default_rng(seed).dirichlet(np.full(size, 0.3))
    codes = equal_mass(shares, 12, least)
    runs = np.flatnonzero(np.diff(codes, prepend=-1))
    assert len(runs) == codes.max() + 1 == len(np.unique(codes))
    mass = np.bincount(codes, shares)
    heavy = np.unique(codes[shares >= 0.7 / 12])
    # Cells are whole, so a cut may miss by half of one.
    lightest = max(0.4 / 12, least) - 0.7 / 12
    others = np.delete(mass, heavy)
    assert len(others) <= 1 or (others >= lightest - 1e-12).all()
    assert len(mass) <= 31


@pytest.mark.parametrize("label", [None, "one", "zero"])
@pytest.mark.parametrize("n", [30, 150, 4000])
def test_odd_columns_make_rows(rng, n, label):
    """One value, all distinct, nearly all zero, none known, and a column of two owners' runs."""
    data = {
        "a": {"one": np.full(n, 3.0), "all": np.arange(n, dtype=float)},
        "b": {
            "zero": np.where(rng.random(n) < 0.99, 0.0, rng.integers(1, 10**6, n)),
            "none": np.full(n, np.nan),
        },
    }
    schema = {
        "a": Schema([Column("one", bounds=(0, 5), whole=True), Column("all", bounds=(0, 10**5))]),
        "b": Schema([
            Column("zero", bounds=(0, 10**6), whole=True),
            Column("none", bounds=(-1, 1), when_missing="encode"),
        ]),
    }  # fmt: skip
    owners = {name: np.stack(list(columns.values()), axis=1) for name, columns in data.items()}
    rows = synthesize(owners, schema=schema, epsilon=5.0, delta=1e-7, label=label).sample(seed=1)
    assert rows.shape == (n, 4)
    if n == 4000:
        assert (rows["one"] == 3).mean() > 0.95
        assert (rows["zero"] == 0).mean() == pytest.approx(0.99, abs=0.02)
        assert rows["none"].is_null().mean() > 0.95
        # Of bounds 25 times as wide, in which noise seldom leaves some records far away.
        assert rows["all"].median() == pytest.approx((n - 1) / 2, rel=0.1)


@pytest.mark.parametrize("std", [10.0, 30.0])
def test_means_are_off_by_no_more_than_a_plan_says(rng, std):
    """By root mean square, over 40 draws of the noise."""
    n = 20_000
    heavy = np.where(rng.random(n) < 0.92, 0, rng.lognormal(8.5, 1, n))
    far = rng.random(n) < 0.005
    for column, x in (
        (Column("gain", bounds=(0, 100_000), whole=True), heavy),
        (Column("far", bounds=(0, 100_000), whole=True), np.where(far, 99_999, heavy)),
        (Column("age", bounds=(17, 90), whole=True), rng.normal(38, 13, n)),
        (Column("cost", bounds=(0, 30_000)), 900 * np.exp(rng.normal(0, 0.6, n))),
        (Column("share", bounds=(0, 1)), rng.random(n)),
    ):  # fmt: skip
        grid, values = Grid.of(column), x.clip(*column.limits)
        exact = grid.tree.tables(np.bincount(grid.encode(values), minlength=grid.size))
        noise, errors = std * np.sqrt(len(exact)), []
        for _ in range(40):
            noisy = [t + np.rint(rng.normal(0, noise, t.shape)) for t in exact]
            starts, counts = consistent(grid.tree, noisy, n, noise)
            middles = [sum(Cells(grid, starts).ends(k)) / 2 for k in range(len(starts))]
            errors.append((counts * middles).sum() / n - values.mean())
        low, high = column.limits
        assert np.sqrt(np.mean(np.square(errors))) < 2 * noise * (high - low) / n


@pytest.mark.parametrize(
    ("values", "records", "std", "most"), [(71, 8000, 43.0, 10), (50, 5000, 35.0, 60)]
)
def test_an_even_column_has_few_gaps(values, records, std, most):
    """A value that noise alone made low is kept among visible ones (55 and 713 were dropped)."""
    tree = Grid.of(Column("age", bounds=(20, 19 + values), whole=True)).tree
    counts, gaps, apart = np.full(values, records / values), 0, []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        tables = [
            np.rint(table + rng.normal(0, std, len(table))).astype(np.int64)
            for table in tree.tables(counts)
        ]
        _, found = consistent(tree, tables, records, std)
        gaps += int((found == 0).sum())
        apart.append(np.abs(found - counts).sum() / 2 / records)
    assert gaps <= most
    assert np.mean(apart) < 0.08


@pytest.mark.same_draws
def test_few_records_of_many_columns_still_predict_the_label(rng):
    """Noise hides each column's own counts, and not what all of them tell of the label."""
    label = rng.integers(0, 2, 300)
    columns = [f"x{j}" for j in range(20)]
    points = np.clip(label[:, None] + rng.normal(0, 0.3, (300, 20)), -1, 2)
    frame = pd.DataFrame(points, columns=columns)
    half = {name: {"bounds": (-1, 2)} for name in columns[:10]}
    rest = {name: {"bounds": (-1, 2)} for name in columns[10:]}
    made = synthesize(
        {"a": frame[columns[:10]], "b": frame[columns[10:]].assign(y=label.astype(str))},
        schema={"a": half, "b": {**rest, "y": ["0", "1"]}},
        label="y",
        seed=1,
    )
    assert all(codes.max() > 0 for codes in made.tables.codes)
    assert made.label_score.low > 0.6
    assert made.verdict.level != "do not use"


@pytest.mark.parametrize(("classes", "kept"), [(2, 2), (60, 1)])
def test_a_label_of_few_classes_keeps_them(rng, classes, kept):
    """All of them are below three standard deviations of the noise."""
    label = rng.integers(0, classes, 200)
    schema = {
        "a": {f"x{j}": (0, 1) for j in range(12)},
        "b": {"y": [str(one) for one in range(classes)]},
    }
    made = synthesize(
        {
            "a": pd.DataFrame(rng.random((200, 12)), columns=list(schema["a"])),
            "b": pd.DataFrame({"y": label.astype(str)}),
        },
        schema=schema,
        epsilon=0.7,
        label="y",
        seed=1,
    )
    assert made.tables.codes[-1].max() + 1 == kept
