"""Values outside bounds and rows left out: refused, or said."""

import numpy as np
import polars as pl
import pytest
from tests.helpers.noted import AGE, ALARM, INFO, WARNING, found, frame, run, with_columns

import dpsumm
from dpsumm.data.column import Column
from dpsumm.errors import InvalidDataError


def test_a_target_outside_its_bounds_is_refused_before_anything_is_charged(rng, tmp_path):
    path = tmp_path / "books"
    dpsumm.Ledger.create(path).close()
    message = r"'target': every value of column 'age' is outside its bounds \(0\.0, 1\.0\)"
    with pytest.raises(InvalidDataError, match=message):
        run([frame(rng)], frame(rng), schema={"age": (0, 1), "bmi": (15, 40)}, protocol=None,
            ledger=path)  # fmt: skip
    with dpsumm.Ledger(path) as book:
        assert book.charges() == ()
    same = pl.DataFrame({"age": [30.0] * 5, "bmi": [20.0] * 5})
    with pytest.raises(InvalidDataError, match="the same point for the kernel"):
        run([frame(rng)], same)


@pytest.mark.parametrize(("outside", "severity"), [(2, INFO), (8, WARNING), (59, ALARM)])
def test_half_of_the_target_outside_its_bounds_is_an_alarm(rng, outside, severity):
    inside, far = frame(rng, 60 - outside), frame(rng, outside, 96, 120)
    summary = run([frame(rng)], pl.concat([inside, far]))
    assert found(summary, "of age were clipped to the public bounds") is severity
    assert found(summary, "check that the public bounds") is (
        None if severity is INFO else severity
    )


@pytest.mark.parametrize(
    ("first", "others", "severity"), [(1, 1, INFO), (50, 0, WARNING), (50, 50, ALARM)]
)
def test_owners_outside_the_bounds_are_told_of_together(rng, first, others, severity):
    owners = [
        pl.concat([frame(rng, 60 - n), frame(rng, n, 96, 120)])
        for n in (first, others, others, others)
    ]
    summary = run(owners, frame(rng))
    assert found(summary, "of age") is severity
    if others:
        assert found(summary, f"at 4 of 4 owners: {first} of age") is severity


@pytest.mark.parametrize(("unknown", "severity"), [(6, WARNING), (5, INFO)])
def test_values_in_no_category_are_asked_for_their_spelling(rng, unknown, severity):
    fuel = Column("fuel", categories=("diesel", "petrol"), other="other")
    usual = frame(rng).select("age", fuel=pl.lit("petrol"))
    other = pl.when(pl.int_range(60) < unknown).then(pl.lit("Benzin")).otherwise(pl.lit("diesel"))
    summary = with_columns([usual, usual.with_columns(fuel=other)], usual, AGE, fuel)
    assert found(summary, f"{unknown} values of fuel were in no category") is severity
    asked = found(summary, "check that they are spelled as the public categories are")
    assert asked is (severity if severity is WARNING else None)
    assert found(summary, "units") is found(summary, "Benzin") is None


DROPPED = {"age": {"bounds": (18, 95), "when_missing": "drop"}, "bmi": (15, 40)}


@pytest.mark.parametrize(
    ("dropped", "share", "severity"),
    [(1, "2%", INFO), (29, "48%", INFO), (30, "50%", WARNING), (45, "75%", WARNING)],
)
@pytest.mark.parametrize("party", ["a", "target"])
def test_a_party_half_of_whose_rows_were_dropped_is_a_warning(rng, party, dropped, share, severity):
    age = pl.when(pl.int_range(60) < dropped).then(None).otherwise("age")
    parties = {name: frame(rng) for name in ("a", "b", "target")}
    parties[party] = parties[party].with_columns(age=age)
    summary = run(parties, parties.pop("target"), schema=DROPPED)
    were = "row with missing values was" if dropped == 1 else "rows with missing values were"
    said = f"{party}: {dropped} {were} left out, {share} of its rows."
    assert found(summary, said) is severity
    encode = found(summary, f"{said} The rest may be records of another kind: let the column")
    assert encode is (WARNING if severity is WARNING else None)


def test_dropped_rows_of_many_owners_are_one_note(rng):
    def short(n):
        return frame(rng).with_columns(age=pl.when(pl.int_range(60) < n).then(None).otherwise(30))

    summary = run([short(3), short(41), frame(rng), short(7)], frame(rng), schema=DROPPED)
    note = "Rows with missing values were left out at 3 of 4 owners: 3 to 41 each, up to 68% of an"
    assert found(summary, f"{note} owner's rows.") is WARNING  # 41 of 60 at one


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (lambda rng: np.arange(60.0) * 7, "no two records have the same number"),
        (lambda rng: np.full(60, 30.0), None),  # as pixels at the edge of images are
        (lambda rng: np.where(np.arange(60) < 5, -999.0, rng.uniform(0, 400, 60)), "far from all"),
        (lambda rng: rng.uniform(0, 400, 60), None),
    ],
)
def test_the_target_is_asked_what_its_owner_would_be_asked_at_home(rng, values, said):
    target = frame(rng).with_columns(x=pl.Series(values(rng)))
    owner = frame(rng, 200).with_columns(x=pl.Series(rng.uniform(0, 400, 200)))
    summary = with_columns([owner], target, AGE, Column("x", bounds=(0, 420)))
    asked = [note for note in summary.notes if note.startswith("target: x: ")]
    assert len(asked) == (said is not None)
    assert said is None or (said in asked[0] and asked[0].severity is WARNING)
