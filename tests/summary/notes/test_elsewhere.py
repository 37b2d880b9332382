"""An owner whose column is elsewhere."""

import numpy as np
import polars as pl
import pytest
from tests.helpers.noted import ALARM, WARNING, found, frame, run, with_columns

import dpsumm
from dpsumm.data.column import Column

ELSEWHERE = "far from the target's and from every other owner's"


@pytest.mark.parametrize(
    ("factor", "told"), [(1, False), (10, True), (1 / 18, True), (2.54, False), (2.2046, False)]
)
@pytest.mark.parametrize("bounds", [(0, 500), None])
def test_one_owner_in_other_units_inside_the_bounds_is_named(rng, factor, told, bounds):
    other = frame(rng, 200).with_columns(bmi=factor * pl.col("bmi"))
    owners = {"north": frame(rng, 200), "south": other, "west": frame(rng, 200)}
    given = {} if bounds else {"kernel": dpsumm.RBF(1e-3)}
    columns = (Column("age", bounds=bounds), Column("bmi", bounds=bounds))
    summary = with_columns(owners, frame(rng), *columns, **given)
    said = f"values of bmi in the points read of 'south' lie {ELSEWHERE}"
    assert found(summary, said) is (WARNING if told else None)
    assert sum(ELSEWHERE in note for note in summary.notes) == told


OUTSIDE = "points of the summary have values of bmi far outside the target's"


@pytest.mark.parametrize(("slips", "severity"), [(0, None), (2, None), (3, ALARM), (30, ALARM)])
def test_points_in_other_units_at_several_owners_are_counted(rng, slips, severity):
    """A pool that is the summary: so many points are far outside, at two owners of three."""
    part = frame(rng, 10)
    far = pl.when(pl.int_range(10) < slips / 2).then(88 * pl.col("bmi")).otherwise("bmi")
    near = pl.when(pl.int_range(10) < slips // 2).then(88 * pl.col("bmi")).otherwise("bmi")
    owners = [part.with_columns(bmi=far), part.with_columns(bmi=near), frame(rng, 10)]
    given = {"size": 30, "schema": {"age": (18, 95), "bmi": (0, 4000)}}
    summary = run(owners, frame(rng), **given)
    assert found(summary, f"{min(slips, 20)} of the 30 {OUTSIDE}") is severity
    assert found(summary, OUTSIDE) is severity


def test_an_owner_in_other_units_who_fills_the_summary_is_one_alarm(rng):
    other = frame(rng, 60).with_columns(bmi=88 * pl.col("bmi"))
    owners = {"north": frame(rng, 20), "south": other}
    summary = run(owners, frame(rng), size=80, schema={"age": (18, 95), "bmi": (0, 4000)})
    assert found(summary, f"of 'south' lie {ELSEWHERE}") is ALARM
    assert found(summary, OUTSIDE) is None


APART = "lie on one side of the target's and of every other owner's"


def spread(centre, n=80):
    """Return people whose bmi is spread evenly over 10 around a centre, and their ages over all."""
    bmi, ages = np.linspace(-5, 5, n) + centre, np.linspace(18, 95, n)
    return pl.DataFrame({"age": np.roll(ages, n // 3), "bmi": bmi})


# Of two such spreads, the shift s apart, all pairs but (1 - s / 10)^2 / 2 are on one side.
@pytest.mark.parametrize(
    ("shift", "n", "told"),
    [(7.5, 80, True), (-7.5, 80, True), (6, 80, False), (7.5, 16, False), (9.5, 16, True)],
)
def test_an_owner_on_one_side_of_everybody_is_told_of(shift, n, told):
    owners = {"north": spread(20), "south": spread(20 + shift, n), "west": spread(20)}
    summary = run(owners, spread(20))
    said = f"Nearly all values of bmi in the points read of 'south' {APART}"
    assert found(summary, said) is (WARNING if told else None)
    assert sum(APART in note for note in summary.notes) == told
    # Not if one other owner, or the target, is there as well, nor if there is no other owner.
    assert found(run({**owners, "east": spread(20 + shift)}, spread(20)), APART) is None
    assert found(run(owners, spread(20 + shift)), APART) is None
    assert found(run({"south": owners["south"]}, spread(20)), APART) is None


@pytest.mark.parametrize(("above", "told"), [(3, True), (6, False)])
def test_a_few_values_of_others_beyond_an_owner_hide_nothing(above, told):
    """With 3 of 80 on the other side 96 % of the pairs are on one; with 6 only 92 %."""
    far = pl.when(pl.int_range(pl.len()) < above).then(39.0).otherwise("bmi")
    owners = {"north": spread(20).with_columns(bmi=far), "south": spread(30.2), "west": spread(20)}
    said = f"values of bmi in the points read of 'south' {APART}"
    assert found(run(owners, spread(20)), said) is (WARNING if told else None)


@pytest.mark.parametrize(("columns", "told"), [(2, False), (3, False), (4, True)])
def test_two_columns_that_an_owner_swapped_are_one_note(columns, told):
    """An owner that is apart in more than half of its columns has records of another kind."""
    names = ["pulse", "pressure", "age", "height"][:columns]
    schema = [Column(name, bounds=(0, 250)) for name in names]

    def clinic(*centres):
        middle = np.linspace(-25, 25, 80)
        return pl.DataFrame(
            {name: np.roll(middle, 20 * i) + centres[i] for i, name in enumerate(names)}
        )

    owners = {
        "north": clinic(80, 125, 50, 170),
        "south": clinic(125, 80, 55, 165),
        "west": clinic(78, 130, 60, 168),
    }
    summary = with_columns(owners, clinic(82, 128, 65, 171), *schema)
    said = f"Nearly all values of pulse, pressure in the points read of 'south' {APART}"
    assert found(summary, said) is (WARNING if told else None)
    assert found(summary, APART) is (WARNING if told else None)


def test_an_owner_without_a_column_is_judged_by_the_others():
    """Of the braces in its name, too, nothing is made."""
    columns = [Column(name, bounds=(0, 100), when_missing="encode") for name in "abc"]

    def clinic(first, empty=False):
        even = pl.Series(np.linspace(-5, 5, 40))
        second = pl.Series([None] * 40, dtype=pl.Float64) if empty else 50 - even
        return pl.DataFrame({"a": even + first, "b": second, "c": even + 50})

    owners = {"north": clinic(30), "{south}": clinic(60, empty=True), "west": clinic(31)}
    summary = with_columns(owners, clinic(32), *columns)
    said = f"Nearly all values of a in the points read of '{{south}}' lie {ELSEWHERE}"
    assert found(summary, said) is WARNING
    owners["{south}"] = clinic(40, empty=True)
    said = f"Nearly all values of a in the points read of '{{south}}' {APART}"
    assert found(with_columns(owners, clinic(32), *columns), said) is WARNING


IN_PART = "are some rows in other units there, or hold marks of no value?"


@pytest.mark.parametrize(("rows", "told"), [(0, False), (7, False), (8, True), (40, True)])
def test_a_tenth_of_an_owner_in_other_units_is_told_of(rows, told):
    """Mixed units leave the others' values where they are, so only some lie elsewhere."""
    mixed = pl.when(pl.int_range(pl.len()) < rows).then(88 * pl.col("bmi")).otherwise("bmi")
    owners = {"north": spread(20), "south": spread(20).with_columns(bmi=mixed), "west": spread(21)}
    summary = run(owners, spread(20), schema={"age": (18, 95), "bmi": (0, 4000)})
    said = f"Some values of bmi in the points read of 'south' lie {ELSEWHERE}: {IN_PART}"
    assert (found(summary, said) is not None) is told
    assert any(IN_PART in note for note in summary.notes) is told


def thousands(rows):
    """Return rows whose km are spread evenly, in thousands from row `rows` on."""
    km = np.linspace(5_000, 40_000, 60)
    small = np.where(np.arange(60) % 10 < rows, km / 1000, km)
    return pl.DataFrame({"age": np.roll(np.linspace(18, 95, 60), 20), "km": small})


KM = (Column("age", bounds=(0, 120)), Column("km", bounds=(0, 60_000)))


@pytest.mark.parametrize(("rows", "told"), [(0, False), (1, True), (3, True)])
def test_a_tenth_of_an_owner_in_thousands_is_told_of(rows, told):
    """Too small by far on the logarithmic scale, though on the linear one all are near 0."""
    owners = {"north": thousands(0), "south": thousands(rows), "west": thousands(0)}
    summary = with_columns(owners, thousands(0), *KM)
    said = f"Some values of km in the points read of 'south' lie {ELSEWHERE}: {IN_PART}"
    assert found(summary, said) is (WARNING if told else None)
    assert any(IN_PART in note for note in summary.notes) is told
    # Where somebody's km are 0, small ones may well be.
    owners["west"] = owners["west"].with_columns(
        km=pl.when(pl.col("km") < 6000).then(0.0).otherwise("km")
    )
    assert found(with_columns(owners, thousands(0), *KM), IN_PART) is None


@pytest.mark.parametrize(("least", "told"), [(5.0, False), (0.4, True)])
def test_children_at_one_clinic_are_not_in_other_units(rng, least, told):
    """Elsewhere people are 18 to 95: only far fewer than a tenth of 18 years are too few."""
    young = pl.DataFrame(
        {"age": np.append(rng.uniform(18, 95, 60), np.linspace(least, least + 1, 20))}
    )
    others = [pl.DataFrame({"age": rng.uniform(18, 95, 60)}) for _ in range(3)]
    summary = with_columns([*others[:2], young], others[2], Column("age", bounds=(0, 120)))
    assert (found(summary, IN_PART) is not None) is told


GROUPS = "The target's values of km lie in two groups far apart"


@pytest.mark.parametrize(("rows", "told"), [(0, False), (1, True), (3, True), (9, True)])
def test_a_target_partly_in_thousands_is_told_of(rows, told):
    owners = {"north": thousands(0), "south": thousands(0)}
    summary = with_columns(owners, thousands(rows), *KM)
    assert found(summary, GROUPS) is (WARNING if told else None)


def test_two_groups_need_an_empty_gap_wider_than_either(rng):
    """Skewed values; two groups a factor of 8 apart, or of wide groups; a mark; zeros."""
    wide = np.geomspace(1, 100, 30)
    for values in (
        np.exp(rng.normal(0, 3, 60)),
        np.append(np.geomspace(1, 4, 30), np.geomspace(32, 90, 30)),
        np.append(wide, 3000 * wide[:30:2]),
        np.append(np.full(20, 0.01), np.linspace(10, 90, 40)),
        np.append(np.zeros(30), np.linspace(5000, 9000, 30)),
    ):
        km = pl.DataFrame({"km": values})
        found_in = found(with_columns([km], km, Column("km", bounds=(0, 600_000))), GROUPS)
        assert found_in is None


def test_owners_of_other_populations_are_not_in_other_units(rng):
    owners = [rng.normal(shift, 1, (500, 2)) for shift in (-3, 0, 3)]
    summary = run(owners, rng.normal(2, 1, (300, 2)), schema=None, kernel=dpsumm.RBF(0.25))
    assert found(summary, ELSEWHERE) is found(summary, "far outside the target's") is None
    assert found(summary, APART) is None
    # Nor is one of a column that is mostly 0, as pixels are.
    dark = np.where(rng.random((4, 200, 1)) < 0.05, rng.uniform(0, 1, (4, 200, 1)), 0.0)
    lit = [*dark[:2], 9 + dark[2]]
    summary = run(lit, dark[3], schema=None, kernel=dpsumm.RBF(0.25))
    assert found(summary, ELSEWHERE) is None
