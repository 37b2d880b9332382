"""Section 4's own design: who gets which points, and a page made from results alone."""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from evidence.paper import __main__ as entry
from evidence.paper import base, measure, page
from evidence.paper import design as designs
from evidence.problem import Labelled

from dpsumm import RBF


@pytest.fixture
def data(monkeypatch, rng):
    """Populations a, b and c of 400, 200 and 50 points."""
    population = np.repeat(["a", "b", "c"], [400, 200, 50])
    points = rng.normal(size=(650, 3)).astype(np.float32)
    everything = Labelled(points, (points[:, 0] > 0).astype(int))
    monkeypatch.setattr(designs, "_read", lambda *_: (everything, population, RBF(0.3)))
    return everything, population


def small(**more):
    given = {"F": ["a"], "C": ["b"], "O": ["c"], "most": [360, 200], "sizes": [6, 12]}
    given |= {"name": "adult", "title": "Made up", "splits": 3, "seed_points": 20}
    return designs.Design(**{**given, **more})


def test_the_split_is_that_of_section_4(data):
    everything, population = data
    made = designs.split(small(), Path(), 5)
    of = {row.tobytes(): who for row, who in zip(everything.points, population, strict=True)}
    whose = [[of[row.tobytes()] for row in owner.points] for owner in made.owners]
    assert [owners.count("a") for owners in whose] == [90] * 4
    assert [owners.count("b") for owners in whose] == [140, 0, 0, 0]
    assert len(made.target) == 15  # a quarter of the other 60
    assert len(made.test.labels) == 45
    assert {of[row.tobytes()] for row in (*made.target, *made.test.points)} == {"b"}
    assert [of[row.tobytes()] for row in made.seed_points] == ["c"] * 20
    parts = [*(owner.points for owner in made.owners), made.target, made.test.points]
    rows = [row.tobytes() for part in parts for row in part]
    assert len(rows) == len(set(rows))
    again, other = (designs.split(small(), Path(), seed) for seed in (5, 6))
    assert (again.target == made.target).all()
    assert (other.target != made.target).any()


def test_the_designs_that_are_run_are_those_of_the_paper():
    for design in designs.designs().values():
        assert (design.splits, design.seed_points) == (10, 150)
        assert design.seeds[0] == 100
        assert not set(design.F) & set(design.C) | set(design.O) & set(design.C)


@pytest.mark.same_draws
def test_models_are_measured_at_the_epsilon_that_is_said(data):
    design = small(model_sizes=[300], epsilons=[8.0])
    rows = list(measure._models(design, designs.split(design, Path(), 1)))
    assert {row["method"] for row in rows} > {measure.ALONE, measure.OTHERS, "uniform"}
    assert all(0.3 < row["accuracy"] <= 1 for row in rows)
    assert [row["size"] for row in rows if row["method"] == measure.ALONE] == [230]


def results(design, rng, splits=3):
    rows = []
    for seed in range(splits):
        for size in design.sizes:
            for method in measure.METHODS:
                rows.append(
                    {"part": "growth", "size": size, "method": method, "seed": seed}
                    | {"mmd2": 0.1 + rng.random() / 100, "accuracy": 0.7 + rng.random() / 100}
                )
        for epsilon in (1.0, np.inf):
            rows.append({"part": "models", "size": 50, "method": "uniform", "seed": seed})
            rows[-1] |= {"epsilon": epsilon, "accuracy": 0.8}
    made = [{"design": design.name, "scenario": "s", "seconds": 1.0, **row} for row in rows]
    return pl.DataFrame([dict.fromkeys(entry.SCHEMA) | row for row in made], schema=entry.SCHEMA)


def test_base_rates_are_counted_on_the_test_sets(data, tmp_path, monkeypatch):
    monkeypatch.setattr(base, "BASE", tmp_path / "base.csv")
    base.count([small()], Path())
    found = base.stored()
    assert found["seed"].to_list() == [100, 101, 102]
    labels = designs.split(small(), Path(), 101).test.labels
    right = max((labels == 0).mean(), (labels == 1).mean())
    assert found["share"][1] == pytest.approx(right, abs=1e-6)


def test_differences_are_said_in_words_for_both_signs():
    ahead, behind = (1.0, 2.0, 3.0), (-5.0, -4.0, 3.0)
    assert page._said([ahead, ahead]) == "Ahead by 2.0 to 2.0, clear of 0 at 2 of 2 sizes"
    assert page._said([behind]) == "Behind by 4.0 to 4.0, clear of 0 at 0 of 1 sizes"
    assert page._said([ahead, behind]).startswith(
        "Between 4.0 behind and 2.0 ahead, clear of 0 at 1"
    )


def test_the_page_is_made_from_the_results(tmp_path, rng, monkeypatch):
    design = small()
    table = results(design, rng)
    rates = pl.DataFrame({"design": "adult", "seed": [0, 1, 2, 9], "share": [0.6, 0.6, 0.6, 0.9]})
    rates.write_csv(tmp_path / "base.csv")
    monkeypatch.setattr(base, "BASE", tmp_path / "base.csv")
    page.write(table, {design.name: design}, {"code": "x"}, tmp_path)
    text = (tmp_path / page.PAGE).read_text()
    blocks = re.findall(r"<!-- (\w+) -->\n(.+?)\n<!-- end -->", text, re.S)
    assert [name for name, _ in blocks] == ["runs", "growth", "verdicts", "models"]
    assert "Splits: 3 of 3" in text
    greedy, uniform = (
        table.filter((pl.col("method") == m) & (pl.col("size") == 6) & (pl.col("part") == "growth"))
        for m in (measure.GREEDY, measure.UNIFORM)
    )
    increase = 100 * (uniform["mmd2"].mean() / greedy["mmd2"].mean() - 1)
    assert f"| uniform | {increase:,.0f} (" in text
    assert f"| {page.BASE} |  | 60.0 (60.0 to 60.0) |" in text
    assert "| uniform | 50 | 80.0 (80.0 to 80.0) | 80.0 (80.0 to 80.0) |" in text
    assert (tmp_path / page.PICTURE).read_text().startswith("<?xml")


def test_results_of_other_designs_have_other_keys():
    keys = {entry.key(d) for d in (small(), small(most=[1, 2]), small(name="mnist"))}
    assert len(keys) == 3
    assert entry.key(small(splits=9)) == entry.key(small())
