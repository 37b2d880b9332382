"""What a plan says before any data: the run's own noise, and a verdict that moves the right way."""

import math

import numpy as np
import pytest

from dpsumm import Column, Schema, Tables, plan_synthesis, synthesize
from dpsumm.errors import InvalidParameterError

SCHEMA = {
    "registry": Schema(
        [Column("age", bounds=(18, 90), whole=True), Column("sex", categories=tuple("mf"))]
    ),
    "bank": Schema([Column("income", bounds=(0, 200)), Column("kind", categories=("one",))]),
}


def test_the_noise_is_the_runs_own():
    """With all levels kept, a run plans what the plan says."""
    protocol = Tables(bins=4, keep=0.0)
    made = plan_synthesis(SCHEMA, 2000, epsilon=3.0, label="sex", protocol=protocol)
    rng = np.random.default_rng(0)
    data = {
        "registry": np.stack([rng.integers(18, 91, 2000), rng.integers(0, 2, 2000)], axis=1),
        "bank": np.stack([rng.random(2000) * 200, np.zeros(2000)], axis=1),
    }
    schema = SCHEMA | {
        "registry": Schema([SCHEMA["registry"].columns[0], Column("sex", categories=(0, 1))]),
        "bank": Schema([SCHEMA["bank"].columns[0], Column("kind", categories=(0,))]),
    }
    ran = synthesize(data, schema=schema, epsilon=3.0, label="sex", protocol=protocol)
    planned = {table.columns: table for table in made.tables}
    plan = ran.tables.plan
    assert len(planned) == len(plan.pairs) == 3
    for index, (i, j) in enumerate(plan.pairs):
        table = planned[ran.columns[i], ran.columns[j]]
        assert table.cells == ran.tables.pairs[i, j].size
        # The run's second plan uses what its first one left by rounding.
        assert table.noise_std == pytest.approx(math.sqrt(plan.variance(index)), rel=1e-4)
    assert made.single_std == plan.single_std


def test_figures_follow_from_the_noise():
    made = plan_synthesis(SCHEMA, 1000, epsilon=0.5)
    for table in made.tables:
        assert table.visible == min(table.cells, int(1000 / (3 * table.noise_std)))
        least = 3 * table.noise_std * math.sqrt(table.cells) / 1000
        assert table.least_correlation == pytest.approx(least)
    shown = [table.least_correlation for table in made.tables]
    assert shown == sorted(shown, reverse=True)
    assert made.least_correlation == shown[1]
    assert made.sent_bytes == {"registry": 4 * 14 * 1000, "bank": 4 * 12 * 1000}
    assert list(made.mean_errors) == ["age", "income"]
    # Both have one column's noise, on trees of 2 and 5 tables; ages go from 18 to 90.
    ratio = made.mean_errors["income"] / made.mean_errors["age"]
    assert ratio == pytest.approx(200 / 72 * math.sqrt(5 / 2), rel=1e-4)
    assert any("means may be off by" in line and "(age)" in line for line in str(made).splitlines())
    lines = str(made).splitlines()
    assert "16.0" not in lines[0]
    assert any("age x income: 144 cells" in line for line in lines)


def test_the_correlation_that_is_said_to_be_seen_is_seen():
    """Of halves of two binary columns: its estimate has a third of that as standard deviation."""
    made = plan_synthesis(
        {name: Schema([Column(name, categories=(0, 1))]) for name in "ab"}, 1000, epsilon=1.0
    )
    (table,) = made.tables
    rng = np.random.default_rng(1)
    noise = rng.normal(0, table.noise_std, (4000, 4)) @ [1, -1, -1, 1] / 1000
    assert noise.std() == pytest.approx(table.least_correlation / 3, rel=0.05)


@pytest.mark.parametrize(
    ("records", "epsilon", "said"),
    [(100, 1.0, "above the signal"), (1000, 0.05, "above the signal"),
     (1500, 1.0, "strong dependences"), (10**6, 1.0, "noise is small")],
)  # fmt: skip
def test_the_verdict_moves_with_the_noise_and_the_way_out_is_enough(records, epsilon, said):
    made = plan_synthesis(SCHEMA, records, epsilon=epsilon)
    assert said in made.verdict.text
    assert f"Verdict: {made.verdict.level}." in str(made)
    if said != "noise is small":
        assert f"{made.least_records:,} records" in made.notes[0]
        better = plan_synthesis(SCHEMA, max(made.least_records, 200), epsilon=epsilon)
        assert better.verdict.level == "useful"
        if records >= 200:
            better = plan_synthesis(SCHEMA, records, epsilon=made.least_epsilon * (1 + 1e-6))
            assert better.verdict.level == "useful"


def test_nothing_to_join_is_said():
    constant = {name: Schema([Column(name, categories=(0,))]) for name in "ab"}
    varied = constant | {"a": Schema([Column("a", categories=(0, 1))])}
    assert "nothing to join" in plan_synthesis(varied, 1000).verdict.text
    assert "nothing to join" in str(plan_synthesis(varied, 1000))
    with pytest.raises(InvalidParameterError, match="one level only"):
        plan_synthesis(constant, 1000)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"records": 0}, "records must"),
        ({"epsilon": -1}, "epsilon"),
        ({"delta": 0}, "delta"),
        ({"label": "size"}, "no column 'size'"),
        ({"protocol": "tables"}, r"protocol must be Tables\(\)"),
        ({"schema": [1]}, "schema must be a dict"),
        ({"ids": "person"}, "no column 'person'"),
    ],
)
def test_bad_plans_are_refused(changes, message):
    given = {"schema": SCHEMA, "records": 1000} | changes
    with pytest.raises(InvalidParameterError, match=message):
        plan_synthesis(given.pop("schema"), given.pop("records"), **given)


def wide(columns, numbers=12):
    """Two owners' columns, of numbers and of three categories."""
    bank = {f"n{j}": {"bounds": (0, 100), "whole": True} for j in range(numbers)}
    return {"bank": bank, "clinic": {f"c{j}": [0, 1, 2] for j in range(columns - numbers)}}


def test_many_columns_are_counted_in_two_rounds_and_the_plan_tells():
    few, many = (plan_synthesis(wide(columns), 30_000) for columns in (24, 25))
    assert (few.again, many.again) == (0, 75)
    assert len(many.tables) == 25 * 24 / 2
    assert "the 75 pairs that stand out most" in str(many)
    single = plan_synthesis(wide(60, 50), 30_000, protocol=Tables(coarse=0))
    double = plan_synthesis(wide(60, 50), 30_000)
    assert (single.again, double.again) == (0, 180)
    assert double.least_correlation < 0.75 * single.least_correlation
    pair = ("n0", "n1")
    named = plan_synthesis(wide(60), 30_000, protocol=Tables(pairs=(pair,)))
    seen = {table.columns: table.least_correlation for table in named.tables}
    assert 3 * seen[pair] < seen["n0", "n2"]


def test_the_plan_of_two_rounds_is_that_of_a_run_whose_largest_pairs_stand_out():
    """Its noise is what `refined` gives these, which no pair of fewer cells is below."""
    plan = plan_synthesis(wide(30), 30_000)
    stds = {table.cells: table.noise_std for table in plan.tables}
    assert len(stds) == 3
    by_size = [stds[cells] for cells in sorted(stds)]
    assert by_size == sorted(by_size, reverse=True)
