"""Single columns on the page: means and shares of the rows, and how far noise moves them."""

from datetime import date

import numpy as np
import polars as pl
import pytest

from dpsumm import Column, Schema, Tables, synthesize
from dpsumm.vertical.fidelity import drawn_rows
from dpsumm.vertical.margins import Grade, margins_of
from dpsumm.vertical.page import render

SCHEMA = {
    "a": Schema([
        Column("age", bounds=(0, 100), whole=True, when_missing="encode"),
        Column("day", bounds=(date(2024, 1, 1), date(2024, 12, 31))),
    ]),
    "b": Schema([Column("town", categories=("Bonn", "Ulm"), other="else", when_missing="encode")]),
}  # fmt: skip


def records(n):
    rng = np.random.default_rng(0)
    age = np.clip(np.rint(rng.normal(40, 15, n)), 0, 100)
    day = [date.fromordinal(date(2024, 1, 1).toordinal() + int(d)) for d in rng.integers(0, 100, n)]
    town = rng.choice(["Bonn", "Ulm", "Jena", None], n, p=[0.5, 0.3, 0.1, 0.1])
    known = [None if i % 10 == 0 else float(value) for i, value in enumerate(age)]
    return {
        "a": pl.DataFrame({"age": known, "day": day}),
        "b": pl.DataFrame({"town": town.tolist()}),
    }


def margins(data, epsilon, **given):
    made = synthesize(data, schema=SCHEMA, epsilon=epsilon, **given)
    return made, margins_of(made.tables, made.levels, drawn_rows(made.model, made.label_model))


def test_they_are_those_of_rows_that_are_decoded():
    made, (age, day, town) = margins(records(4000), 2.0, seed=1)
    rows = made.sample(100_000, seed=3)
    assert age.said.startswith("mean ")
    mean = float(age.said.split()[1].rstrip(","))
    assert mean == pytest.approx(rows["age"].mean(), abs=0.3)
    told = date.fromisoformat(day.said.split()[1].rstrip(","))
    assert abs((told - rows["day"].mean().date()).days) <= 2
    shares = {name: len(part) / 1000 for (name,), part in rows.group_by("town")}
    for said in town.said.split(", within")[0].split(", "):
        name, share = said.rsplit(" ", 1)
        assert float(share.rstrip("%")) == pytest.approx(
            shares[None if name == "missing" else name], abs=0.6
        )
    page = render(made)
    for one in (age, day, town):
        assert one.said in page


@pytest.mark.parametrize("protocol", [Tables(), Tables(bins=40)])
def test_noise_moves_them_by_less_as_a_rule(protocol):
    """A fifth of what is promised, or half of what is needed, would be seen in 25 runs."""
    data = records(2000)
    true, off = data["a"]["age"].mean(), []
    for _ in range(25):
        _, (age, *_) = margins(data, 1.0, protocol=protocol)
        off.append((float(age.said.split()[1].rstrip(",")) - true) / age.off)
    assert 0.05 < np.sqrt(np.mean(np.square(off))) < 1.2


@pytest.mark.parametrize(
    ("n", "epsilon", "grades"),
    [(20_000, 3.0, {Grade.CLOSE}), (300, 0.5, {Grade.NOISE, Grade.ROUGH})],
)
def test_grades_follow_the_noise(n, epsilon, grades):
    _, found = margins(records(n), epsilon)
    assert {one.grade for one in found} <= grades
