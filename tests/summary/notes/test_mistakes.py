"""What an owner got wrong, with its name and the column."""

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.effort import examples
from tests.helpers.noted import AGE, BMI, WARNING, found, frame, run, with_columns

import dpsumm
from dpsumm.data.column import Column
from dpsumm.data.schema import Schema
from dpsumm.summary.notes.mistakes import _commonest, _few, mistake_notes
from dpsumm.summary.notes.parties import Parties, _decoded
from dpsumm.summary.notes.repairs import gap, repairs

WIDE = {"age": (18, 95), "bmi": (0, 4000)}
FAR, MARK = "far from the rest of the data", "several records have the same value of"


def told(owners, target, **given):
    """Return the notes of mistakes alone, of a run that reads all."""
    notes = run(owners, target, **given).notes
    return [note for note in notes if note.startswith("At ")]


def changed(rows, name, how, share=1.0):
    first = pl.int_range(pl.len()) < share * pl.len()
    return rows.with_columns(pl.when(first).then(how).otherwise(name).alias(name))


@pytest.mark.parametrize(
    ("how", "share", "said"),
    [
        (pl.col("bmi"), 1, None),
        (88 * pl.col("bmi"), 1, "At 'south', bmi looks like another unit"),
        (4000 - pl.col("bmi"), 1, f"nearly all values of bmi lie {FAR}"),
        (88 * pl.col("bmi"), 0.2, f"At 'south', some values of bmi lie {FAR}"),
        (88 * pl.col("bmi"), 0.05, None),
        (pl.lit(999.0), 0.1, f"At 'south', {MARK} bmi, far from all"),
        (pl.lit(999.0), 0.01, None),
        (pl.lit(28.0), 0.95, "nine in ten values of bmi are the same"),
        (pl.lit(28.0), 0.8, None),
    ],
)
def test_an_owner_whose_column_is_strange_is_named(rng, how, share, said):
    south = changed(frame(rng, 200), "bmi", how, share)
    owners = {"north": frame(rng, 200), "south": south, "west": frame(rng, 200)}
    notes = told(owners, frame(rng, 100), schema=WIDE)
    assert len(notes) == (said is not None), notes
    assert said is None or (said in notes[0] and notes[0].severity is WARNING)
    assert not any("999" in note.replace("as 999", "") for note in notes)


@pytest.mark.parametrize("mark", [-9999.0, 999.0])
def test_a_mark_of_all_owners_is_seen_outside_the_bounds_alone(rng, mark):
    """Inside them what most owners have may well be a value, and what the target has is one."""
    owners = {name: changed(frame(rng, 200), "bmi", pl.lit(mark), 0.2) for name in "abc"}
    notes = told(owners, frame(rng, 100), schema=WIDE)
    assert bool(notes) is (mark < 0)
    assert all(f"At all owners, {MARK} bmi" in note for note in notes)
    one = {**owners, "b": frame(rng, 200), "c": frame(rng, 200)}
    target = changed(frame(rng, 100), "bmi", pl.lit(mark), 0.2)
    assert bool(told(one, frame(rng, 100), schema=WIDE))
    assert bool(told(one, target, schema=WIDE)) is (mark < 0)


def weather(rng, mean, n=200):
    month = rng.integers(1, 13, n)
    warm = mean - 9 * np.cos(np.pi * (month - 1) / 6) + rng.normal(0, 4, n)
    dew = warm - rng.gamma(2, 3, n)
    return pl.DataFrame({"month": month, "warm": warm, "dew": dew, "wet": rng.normal(60, 9, n)})


CLIMATE = {"month": (1, 12), "warm": (-40, 120), "dew": (-40, 120), "wet": (0, 100)}


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({}, None),
        ({"month": pl.col("month") - 1}, "month seems to be counted from one less"),
        ({"warm": 1.8 * pl.col("warm") + 32}, "warm looks like another unit"),
        ({"warm": pl.col("wet"), "wet": pl.col("warm")}, "warm and wet look exchanged"),
        ({"wet": pl.lit(None, pl.Float64)}, "no record that was read has a value of wet"),
    ],
)
def test_what_an_owner_mixed_up_is_named_though_its_climate_is_its_own(rng, how, said):
    schema = Schema(Column(n, bounds=b, when_missing="encode") for n, b in CLIMATE.items())
    owners = {"north": weather(rng, 8), "south": weather(rng, 14).with_columns(**how)}
    owners["west"] = weather(rng, 16)
    notes = run(owners, weather(rng, 12), schema=schema).notes
    notes = [note for note in notes if "'south'" in note]
    assert len(notes) == (said is not None), notes
    assert said is None or said in notes[0]


def test_a_column_of_one_owner_is_told_of_once_and_owners_together(rng):
    """South and west are in other units, which hides neither; their bounds are, too."""
    months = pl.col("age") * 12
    owners = {name: frame(rng, 60).with_columns(age=months) for name in ("south", "west")}
    owners |= {name: frame(rng, 60) for name in ("north", "east", "centre")}
    notes = told(owners, frame(rng, 60))
    assert len(notes) == 1, notes
    assert "At 'south', 'west', at least nine in ten values of age lie outside" in notes[0]


def test_measured_labels_are_looked_at_as_a_column_is(rng):
    cost = Column("cost", kind="label")
    paid = {name: np.exp(rng.normal(4, 0.5, 80)) for name in "abc"}

    def notes(**labels):
        owners = {
            name: frame(rng, 80).with_columns(cost=pl.Series(labels.get(name, of)))
            for name, of in paid.items()
        }
        summary = with_columns(owners, frame(rng), AGE, BMI, cost)
        return [note for note in summary.notes if "the label" in note]

    assert notes() == []
    for far in (100 * paid["b"], 350 + paid["b"] / 10):
        (note,) = notes(b=far)
        assert f"At 'b', nearly all values of the label lie {FAR}" in note
    (note,) = notes(b=np.where(np.arange(80) < 9, 98_765.0, paid["b"]))
    assert f"At 'b', {MARK} the label" in note
    assert "765" not in note
    # Classes are numbers of no unit, nor are texts.
    assert notes(b=1000 + np.arange(80) % 3, a=np.arange(80) % 3, c=np.arange(80) % 3) == []
    assert notes(**{name: [f"{one:.0f} euros" for one in of] for name, of in paid.items()}) == []


@pytest.mark.parametrize(("rows", "few"), [(1, True), (4, True), (5, False)])
def test_an_owner_of_a_few_rows_is_named(rng, rows, few):
    owners = {"north": frame(rng), "south": frame(rng, rows)}
    said = "'south' holds fewer than 5 records"
    assert found(run(owners, frame(rng)), said) is (WARNING if few else None)


def test_few_points_and_points_without_columns_tell_nothing(rng):
    few = changed(frame(rng, 19), "bmi", 88 * pl.col("bmi"))
    assert told({"north": frame(rng), "south": few}, frame(rng), schema=WIDE) == []
    points = [rng.normal(shift, 1, (200, 2)) for shift in (-3, 0, 3)]
    summary = run(points, rng.normal(2, 1, (300, 2)), schema=None, kernel=dpsumm.RBF(0.25))
    assert not any(note.startswith("At ") for note in summary.notes)


def honest_owners(rng):
    """Shifts, skewed columns, and columns that are mostly 0, at any number of owners."""
    d, k = rng.integers(1, 6), rng.integers(2, 8)
    shifts, skewed, zeros = rng.normal(0, 0.7, (k + 1, d)), rng.random(d) < 0.4, rng.random(d) < 0.3

    def rows(i, n):
        values = rng.normal(shifts[i], 1, (n, d))
        values = np.where(skewed, np.exp(values), values)
        return np.where(zeros & (rng.random((n, d)) < 0.9), 0.0, values)

    schema = Schema.numbers([f"x{j}" for j in range(d)])
    parts = [rows(i, rng.integers(20, 300)) for i in range(k)]
    records = SimpleNamespace(values=np.concatenate(parts), labels=None)
    owner = np.repeat(np.arange(k), [len(part) for part in parts])
    pool = SimpleNamespace(records=records, owner=owner, scaled=records.values)
    setting = SimpleNamespace(
        schema=schema, names=[f"o{i}" for i in range(k)], target=rows(k, 200),
        n_records={f"o{i}": 300 for i in range(k)},
    )  # fmt: skip
    return SimpleNamespace(pool=pool, owner=owner), setting


def test_honest_owners_of_other_places_are_hardly_ever_accused(rng):
    """13 of 3,000 such worlds are: nine of 200 have a chance of less than 1e-6."""
    accused = [notes for _ in range(200) if (notes := mistake_notes(*honest_owners(rng)))]
    assert len(accused) < 9, accused


@given(st.integers(0, 2**32))
@examples(40)
def test_the_targets_numbers_are_the_values_that_were_encoded(seed):
    rng = np.random.default_rng(seed)
    schema = Schema([
        Column("a", bounds=(-1, 2), weight=3, when_missing="encode"),
        Column("b", categories=("u", "v"), other="w"),
        Column("c", bounds=(0, 5)),
        Column("d", categories=("u", "v"), ordered=True),
    ])  # fmt: skip
    n = int(rng.integers(1, 30))
    values = np.column_stack(
        [rng.uniform(-1, 2, n), rng.integers(0, 3, n), rng.uniform(0, 5, n), rng.integers(0, 2, n)]
    )
    values[rng.random(n) < 0.2, 0] = np.nan
    found = _decoded(schema.encode(values), schema)
    np.testing.assert_allclose(found[:, [0, 2]], values[:, [0, 2]], rtol=1e-12, atol=1e-12)
    assert np.isnan(found[:, [1, 3, 4]]).all()


@given(st.lists(st.sampled_from([0.0, 1.0, np.nan]), min_size=20, max_size=60))
def test_a_column_that_is_mostly_one_value_is_not_passed_over(values):
    known = [value for value in values if not np.isnan(value)]
    most = max((known.count(value) for value in known), default=0)
    found = _few(np.array(values)[:, None])[0]
    assert _commonest(np.array(values)) == (most / len(known) if len(known) >= 20 else 0.0)
    assert found or most < 0.9 * len(known) or len(known) < 20


@given(st.integers(0, 2**32))
@examples(40)
def test_a_gap_is_the_largest_difference_of_cumulative_shares(seed):
    rng = np.random.default_rng(seed)
    a, b = (np.sort(np.round(rng.normal(rng.normal(), 1, n), 1)) for n in rng.integers(1, 33, 2))
    gaps = [abs(np.mean(a <= x) - np.mean(b <= x)) for x in b]
    assert gap(a, b) == pytest.approx(max(gaps))
    assert gap(a[:0], b) == 0


def test_of_many_rows_and_columns_some_are_looked_at(rng, monkeypatch):
    """So that thousands of columns and owners stay quick."""
    monkeypatch.setattr("dpsumm.summary.notes.parties.MOST_VALUES", 1000)
    values = rng.normal(size=(5000, 3))
    pool = SimpleNamespace(
        records=SimpleNamespace(values=values, labels=None), owner=np.zeros(5000, np.int64)
    )
    setting = SimpleNamespace(names=["a"], target=values)
    parties = Parties.of(SimpleNamespace(pool=pool), setting, Schema.numbers("abc"))
    assert len(parties.target) == len(parties.owners[0]) == 125
    assert list(repairs(rng.normal(9, 1, (50, 41)), [rng.normal(size=(500, 41))])) == []


def test_a_column_that_nobody_has_is_no_reason_to_fail(rng):
    rows, rest = rng.normal(size=(30, 2)), rng.normal(size=(300, 2))
    rest[:, 1] = np.nan
    assert list(repairs(rows, [rest])) == []
    assert list(repairs(rows, [rest[:0]])) == []
