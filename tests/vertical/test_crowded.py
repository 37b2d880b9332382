"""Columns nearly all of whose records share a bin or 'other': slips are told, honest data not."""

from datetime import date

import numpy as np
import polars as pl
import pytest

from dpsumm import Column, Schema, Tables, synthesize
from dpsumm.cli.typed import typed
from dpsumm.report.notes import Severity
from dpsumm.vertical.crowded import crowded
from dpsumm.vertical.layout import Released
from dpsumm.vertical.levels import Levels
from dpsumm.vertical.noise import NoisePlan

N = 12_000
STD = 10.0

KWH = Column("kwh", bounds=(0, 30_000), whole=True)
HEIGHT = Column("height", bounds=(0, 1800), when_missing="encode")
HEATING = Column("heating", categories=("gas", "oil", "wood"), other="else")
MOVED = Column("moved", bounds=(date(2000, 1, 1), date(2023, 12, 31)))
FLAG = Column("flag", bounds=(0, 1))
GAIN = Column("gain", bounds=(0, 100_000), whole=True)


def table(n=N):
    """Return honest records: nothing of them is to be told."""
    rng = np.random.default_rng(0)
    first = date(2000, 1, 1).toordinal()
    days = rng.beta(3, 2, n) * 8700
    height = np.where(rng.random(n) < 0.5, np.nan, rng.gamma(3, 150, n).clip(0, 1800))
    return pl.DataFrame({
        "kwh": rng.lognormal(8.5, 0.5, n).clip(500, 30_000).astype(int),
        "height": pl.Series(height).fill_nan(None),
        "heating": rng.choice(["gas", "oil", "wood", "else"], n, p=[0.5, 0.2, 0.1, 0.2]),
        "moved": [date.fromordinal(first + int(day)) for day in days],
        # Nearly all are 0, as they may be.
        "flag": (rng.random(n) < 0.05).astype(int),
        "gain": np.where(rng.random(n) < 0.92, 0, rng.integers(1, 100_000, n)),
    })  # fmt: skip


def told(data, *, bins=16, epsilon=3.0, **columns):
    """Return the notes on a run of two owners of a table's columns."""
    if isinstance(bins, dict):
        bins = dict.fromkeys(("kwh", "height", "moved", "flag", "gain"), 16) | bins
    known = {one.name: one for one in (KWH, HEIGHT, HEATING, MOVED, FLAG, GAIN)} | columns
    by = {"one": ("kwh", "moved", "flag"), "two": ("height", "heating", "gain")}
    synthetic = synthesize(
        {owner: data.select(names) for owner, names in by.items()},
        schema={owner: Schema([known[name] for name in names]) for owner, names in by.items()},
        protocol=Tables(bins=bins, components=2, max_steps=1),
        epsilon=epsilon,
        seed=1,
    )
    return [note for note in synthetic.notes if note.startswith("Nearly all values")]


OWN = {"gain": (0, 1, 1000, 4000, 16_000, 100_000)}


@pytest.mark.parametrize("epsilon", [0.3, 3.0, 100.0])
@pytest.mark.parametrize("n", [300, N])
def test_nothing_is_told_of_honest_columns(n, epsilon):
    assert told(table(n), bins=OWN, epsilon=epsilon) == []


@pytest.mark.parametrize(
    ("name", "change", "columns", "bins", "where"),
    [
        ("bounds 100 times too wide", None,
         {"kwh": Column("kwh", bounds=(0, 3_000_000), whole=True)}, {}, "kwh (0 to 187,500)"),
        ("smaller units", pl.col("kwh") // 1000, {}, {}, "kwh (0 to 1,875)"),
        ("bounds too narrow", None,
         {"kwh": Column("kwh", bounds=(0, 500), whole=True)}, {}, "kwh (470 to 500)"),
        ("another sign", -pl.col("height"), {}, {}, "height (0 to 112.5)"),
        ("other spelling", pl.col("heating").str.to_titlecase(), {}, {}, "heating"),
        ("one value", pl.lit(430.0).alias("height"), {}, {}, "height (337.5 to 450)"),
        ("wide dates", None,
         {"moved": Column("moved", bounds=(date(1000, 1, 1), date(3000, 1, 1)))}, {},
         "moved (2000-01-02 to 2125-01-01)"),
        ("many zeros, equal bins", None, {}, {"gain": 16}, "gain (0 to 6,250)"),
        ("truth values, all beyond", pl.lit(7).alias("flag"), {}, {"flag": 2}, "flag (0.5 to 1)"),
    ],
)  # fmt: skip
def test_a_slip_is_told_with_its_column_and_bin(name, change, columns, bins, where):
    data = table() if change is None else table().with_columns(change)
    (note,) = told(data, bins={**OWN, **bins}, **columns)
    assert note.severity is Severity.WARNING
    category = where == "heating"
    head = f"in no listed category of {where}" if category else f"in one bin of {where}"
    assert note.startswith(f"Nearly all values are {head}, so the rows say little about it. ")
    assert ("spells its categories" in note) is category
    assert ("Check bounds and units" in note) is not category


@pytest.mark.parametrize("epsilon", [0.3, 3.0, 100.0])
def test_nothing_is_told_of_honest_columns_whose_bins_follow_the_data(epsilon):
    assert told(table(), bins=None, epsilon=epsilon) == []


@pytest.mark.parametrize(
    ("change", "column", "where"),
    [
        (None, Column("kwh", bounds=(0, 500), whole=True), "kwh (500 to 500)"),
        (pl.col("kwh") // 1000, Column("kwh", bounds=(500, 30_000), whole=True),
         "kwh (500 to 500)"),
        (-pl.col("height"), HEIGHT, "height (0 to 0)"),
    ],
)  # fmt: skip
def test_values_beyond_the_bounds_are_told_where_bins_follow_the_data(change, column, where):
    data = table() if change is None else table().with_columns(change)
    (note,) = told(data, bins=None, **{column.name: column})
    assert note.startswith(f"Nearly all values are in one bin of {where}, ")


def test_one_note_names_all_columns_and_what_to_type():
    data = table().with_columns(
        *(pl.lit(-1).cast(kind).alias(name) for name, kind in
          (("kwh", pl.Int64), ("height", pl.Float64))), heating=pl.lit("Gas"),
    )  # fmt: skip
    (note,) = told(data)
    assert note.startswith(
        "Nearly all values are in one bin of kwh (0 to 1,875), height (0 to 112.5), gain (0 to "
        "6,250), and in no listed category of heating, so the rows say little about these "
        "columns. Check bounds"
    )
    assert "with `protocol=Tables(bins=...)`." in note
    assert "with --bins." in typed(note, {"bins", "label"})


def counted(column, counts, bins=16, n=N, missing=N):
    """Return what is told of a column with these noisy counts of its known levels."""
    levels = Levels.of(column, bins)
    encoded = levels.size - levels.n_known
    counts = [*counts, *[0] * (levels.n_known - len(counts)), *[missing] * encoded]
    plan = NoisePlan((len(counts),), (0,), (), (), STD, (0,))
    released = Released(
        n + missing * encoded, (np.array(counts),), (np.arange(len(counts)),), {}, plan
    )
    return crowded(released, [levels])


@pytest.mark.parametrize(
    ("column", "counts", "bins", "found"),
    [
        # Nine in ten, and five standard deviations of the noise in this count.
        (GAIN, (0, 0.9 * N + 50), 16, True),
        (GAIN, (0, 0.9 * N + 49), 16, False),
        # Likewise of those that have a value, in whose number there is noise, too.
        (HEIGHT, (0, 0.9 * N + 68), 16, True),
        (HEIGHT, (0, 0.9 * N + 67), 16, False),
        # One whole number or day of its own is no slip.
        (Column("n", bounds=(0, 7), whole=True), (N,), 16, False),
        (Column("d", bounds=(date(2020, 1, 1), date(2020, 1, 9))), (0, N), 16, False),
        (Column("n", bounds=(0, 15), whole=True), (0, N), 8, True),
        # Zeros and ones, in bins that they do not need.
        (FLAG, (N - 600,) + (0,) * 14 + (600,), 16, False),
        (FLAG, (N - 30,) + (0,) * 14 + (30,), 16, True),
        (FLAG, (N - 600,) + (0,) * 13 + (600, 0), 16, True),
        # A bin of the user's own that is narrow.
        (GAIN, (N,), (0, 1000, 8000, 30_000, 100_000), False),
        (GAIN, (N,), (0, 1001, 8000, 30_000, 100_000), True),
        (GAIN, (0, N), (0, 1000, 1900, 8000, 100_000), False),
        # As narrow as that, but nobody's choice.
        (GAIN, (N,), 200, True),
        # Of few bins one may well be full, if something is in the others.
        (GAIN, (N - 31, 31), 3, False),
        (GAIN, (N - 30, 30), 3, True),
        (GAIN, (N - 400, 400), 4, True),
        (HEIGHT, (N,), 1, False),
        # A listed category may be as frequent as it is.
        (HEATING, (N - 300, 100, 0, 200), 16, False),
        (HEATING, (100, 0, 200, N - 300), 16, True),
        (Column("one", categories=("rare",), other="none"), (300, N - 300), 16, False),
        (Column("one", categories=("Yes",), other="none"), (30, N - 30), 16, True),
        (Column("two", categories=("rare", "none")), (0, N), 16, False),
    ],
)  # fmt: skip
def test_what_is_told_of_noisy_counts(column, counts, bins, found):
    bins = bins if isinstance(bins, int) else {column.name: bins}
    assert bool(counted(column, [round(one) for one in counts], bins)) is found


@pytest.mark.parametrize(("n", "share"), [(0, 1.0), (50, 1.0), (50, 0.5), (N, 0.89), (N, 0.9)])
@pytest.mark.parametrize("column", [GAIN, HEIGHT], ids=lambda column: column.name)
def test_noise_alone_fills_no_bin(column, n, share):
    rng = np.random.default_rng(0)
    exact = np.zeros(16)
    exact[[3, 5]] = n * share, n * (1 - share)
    counts = (exact + rng.normal(0, STD, (2000, 16))).round().astype(int)
    missing = rng.normal(0, STD, 2000).round().astype(int).tolist()
    assert not any(
        counted(column, row, n=n - gone, missing=gone)
        for row, gone in zip(counts, missing, strict=True)
        if column is HEIGHT
    )
    if column is GAIN:
        assert not any(counted(column, row, n=n) for row in counts)


def test_a_full_bin_is_seen_in_a_small_table():
    rng = np.random.default_rng(0)
    for _ in range(500):
        counts = (np.eye(16)[3] * 1500 + rng.normal(0, STD, 16)).round().astype(int)
        assert counted(GAIN, counts, n=1500)
