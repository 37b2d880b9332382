"""The experiments: splits without overlap, results that go on where they were, fair ratios."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from evidence.adoption import _equal, adopt
from evidence.baselines import dp_merf, everything, importance
from evidence.data import SOURCES
from evidence.invited import best_offers, most_used
from evidence.measures import MODELS, judged
from evidence.methods import GREEDY, METHODS, ORACLE
from evidence.page_tables import predictions
from evidence.problem import Labelled, split
from evidence.ratios import Ratio, overall, ratio, ratios

import dpsumm
from dpsumm import RBF, Column, Schema
from dpsumm.kernels import mmd2
from evidence import page, page_tables, runner, sources

SMALL = {
    "digits": {"m": 100, "size": 50},
    "synthetic": {"m": 60, "size": 50, "owners": 3, "share": 0.3, "n": 600},
}


def rows(*parts):
    return [row.tobytes() for part in parts for row in part]


@pytest.mark.parametrize("name", SMALL)
def test_splits_are_repeatable_and_do_not_overlap(name):
    problem = SOURCES[name](Path(), 3, **SMALL[name])
    again = SOURCES[name](Path(), 3, **SMALL[name])
    other = SOURCES[name](Path(), 4, **SMALL[name])
    assert rows(problem.target) == rows(again.target) != rows(other.target)
    assert len(problem.target) == SMALL[name]["m"]
    owners = rows(*(owner.points for owner in problem.owners))
    assert rows(*(owner.points for owner in again.owners)) == owners
    # The digits have a few images twice; made-up points are all different.
    everything = [
        owners,
        rows(problem.target),
        rows(problem.fresh.points),
        rows(problem.oracle.points),
    ]
    if name == "synthetic":
        assert sum(map(len, everything)) == len(set().union(*everything))
    else:
        assert sum(map(len, everything)) <= 1797


def test_all_scenarios_are_well_formed():
    known = runner.scenarios()
    assert all(s.data in SOURCES and s.seeds and s.groups for s in known.values())
    # Choices were made on seeds below 100.
    assert min(seed for s in known.values() for seed in s.seeds) >= 100
    assert len({s.key(GREEDY) for s in known.values()}) > 10


def test_a_run_that_was_stopped_goes_on_to_the_same_table(tmp_path, monkeypatch):
    scenario = replace(
        runner.scenarios()["synthetic-p50"], options={"owners": 3, "share": 0.5, "n": 600}, m=60
    )
    wanted = [replace(scenario, seeds=(1, 2))], [GREEDY, ORACLE, "pool, 4"]
    write, results = runner.write, tmp_path / "results.parquet"

    def write_and_stop(table, path):
        write(table, path)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(runner, "write", write_and_stop)
        with pytest.raises(KeyboardInterrupt):
            runner.run(*wanted, None, results, 1)
    kept = pl.read_parquet(results)
    assert kept["method"].to_list() == [GREEDY, "pool, 4"]  # the oracle is for main scenarios only
    resumed = runner.run(*wanted, None, results, 1).sort("seed", "method")
    whole = runner.run(*wanted, None, tmp_path / "whole.parquet", 1).sort("seed", "method")
    assert len(resumed) == 4
    assert resumed.drop("seconds").equals(whole.drop("seconds"))
    # What was there was not run again: its times are the old ones.
    assert len(resumed.join(kept, on=["seed", "method", "seconds"], how="semi")) == 2
    assert runner.made_with(results).keys() >= {"code", "numpy", "processor"}
    assert not list(tmp_path.glob("*.partial"))


def test_earlier_results_are_taken_over_where_the_first_split_is_the_same(tmp_path):
    scenario = replace(
        runner.scenarios()["synthetic-p50"],
        options={"owners": 3, "share": 0.5, "n": 600},
        m=60,
        seeds=(1, 2),
    )
    known, results = {scenario.name: scenario}, tmp_path / "results.parquet"
    table = runner.run([scenario], [GREEDY, "pool, 4"], None, tmp_path / "whole.parquet", 1)
    renamed = {scenario.key(name): scenario.key(name, "earlier") for name in METHODS}
    # A result of the first split that today's code does not give, and others of another split.
    wrong = (pl.col("method") == GREEDY) | (pl.col("seed") == 2)
    changed = pl.when(wrong).then(pl.col("mmd2") * (1 + 1e-15)).otherwise(pl.col("mmd2"))
    old = table.with_columns(pl.col("key").replace(renamed), mmd2=changed)
    assert runner.current(old, known).is_empty()
    runner.write(old, tmp_path / "old.parquet", {"code": "earlier (more)"})

    runner.write(table.filter(pl.col("seed") == 1), results)
    assert adopt([scenario], tmp_path / "old.parquet", results) == 1
    kept = runner.current(pl.read_parquet(results), known)
    assert len(kept) == 3
    taken = kept.filter(pl.col("seed") == 2)
    assert taken["method"].to_list() == ["pool, 4"]
    theirs = old.filter((pl.col("seed") == 2) & (pl.col("method") == "pool, 4"))
    assert taken["mmd2"].item() == theirs["mmd2"].item()
    assert runner.made_with(results)["code"].endswith("(1 of the runs earlier)")
    # Again there is nothing to take over; what was measured today stays.
    assert adopt([scenario], tmp_path / "old.parquet", results) == 0
    runner.write(table, results)
    assert adopt([scenario], tmp_path / "old.parquet", results) == 0


def test_what_comes_from_weights_is_taken_over_within_their_tolerance():
    def row(mmd2, weighted):
        found = dict.fromkeys(runner.SCHEMA) | {"means": 1.0, "mmd2": mmd2}
        return pl.DataFrame([found | {"mmd2_weighted": weighted}], schema=runner.SCHEMA)

    new = row(1.0, 1.0)
    assert _equal(row(1.0, 1.01), new) == ["mmd2", "mmd2_weighted", "means"]
    # Too far, or not measured earlier: without them.
    assert _equal(row(1.0, 1.03), new) == ["mmd2", "means"]
    assert _equal(row(1.0, None), new) == ["mmd2", "means"]
    assert _equal(row(1 + 1e-15, 1.0), new) is None


def test_the_page_names_where_a_pool_is_nearer():
    known = [s for s in runner.scenarios().values() if s.name in ("marital", "older")]
    made = {
        (s.name, f"{kind}, {rho}"): Ratio(value, 0, 9, 0.1)
        for s in known
        for rho in (2, 4, 8)
        for kind, value in (("pool", 2.0), ("Offers", 2.4 if s.name == "older" else 1.0))
    }
    assert "| 4 | 2 | 1 | 1.2 older |" in page_tables.pool_table(made, known)


def test_the_page_says_which_aims_are_missed():
    known = [s for s in runner.scenarios().values() if s.name in ("marital", "older")]
    made = {(s.name, f"Offers, {rho}"): Ratio(1.1, 0, 9, 0.1) for s in known for rho in (2, 4, 8)}
    table = page_tables.aims_table(made, {}, known[:1], known[1:])
    assert "| 4 | equal | 1.12 | 1.1 | 1.15 | 1.1 |" in table
    assert "| 8 | equal | 1.03 | 1.1 **missed** | 1.05 | 1.1 **missed** |" in table
    # Nothing is said where nothing was wanted, or measured.
    assert "| 2 | equal |  |  | 1.6 | 1.1 |" in table
    assert "| 2 | summary.weights |  |  |  |  |" in table


def test_a_row_judges_by_fresh_points():
    scenario = replace(
        runner.scenarios()["synthetic-p50"], options={"owners": 3, "share": 0.5, "n": 600}, m=60
    )
    problem = scenario.problem(Path(), 1)
    row = runner.row(scenario, 1, GREEDY, problem)
    everything = np.concatenate([owner.points for owner in problem.owners])
    assert row["accesses"] == len(everything) == 600
    best = mmd2(everything, problem.fresh.points, problem.kernel.gamma)
    assert row["mmd2"] < best
    assert row["points"] == 50
    assert row["fresh_noise"] == problem.fresh_noise


def test_mmd2_is_that_of_the_definition_and_noise_that_of_pairs_of_one_point(rng):
    a, b = rng.random((7, 3)), rng.random((5, 3))

    def kernel(x, y):
        return np.array([[np.exp(-0.7 * np.sum((u - v) ** 2)) for v in y] for u in x])

    different = (kernel(b, b).sum() - 5) / 20
    problem = SOURCES["digits"](Path(), 0, 100, 50)
    problem = replace(problem, fresh=replace(problem.fresh, points=b), kernel=RBF(0.7))
    without = kernel(a, a).mean() - 2 * kernel(a, b).mean() + different
    assert mmd2(a, b, 0.7) - problem.fresh_noise == pytest.approx(without, rel=1e-9)


def test_ratios_are_of_means_without_the_fresh_points_noise():
    table = pl.DataFrame(
        {
            "scenario": ["a"] * 4,
            "seed": [1, 1, 2, 2],
            "method": [GREEDY, "x", "x", GREEDY],
            "mmd2": [2.5, 4.5, 9.5, 3.5],
            "fresh_noise": [0.5] * 4,
        }
    )
    assert ratios(table)["a", "x"].value == pytest.approx(13 / 5)
    assert ratios(table)["a", GREEDY].value == 1


def test_fiellers_interval_covers(rng):
    covered = 0
    for _ in range(400):
        below = rng.normal(1, 0.8, 10)
        found = ratio(2 * below + rng.normal(0, 1, 10), below)
        covered += found.low <= 2 <= found.high
    assert covered >= 356  # 380 of 400 on average; below 356 with a probability of 1e-6
    same = np.array([1.0, 2.0, 2.5, 1.5])
    assert ratio(same, same) == Ratio(1.0, 1.0, 1.0, 0.0)
    nothing = ratio(np.array([1.0, 2.0]), np.array([1.0, -0.5]))
    assert (nothing.low, nothing.high) == (0, np.inf)


def test_the_mean_of_scenarios_is_geometric_and_needs_all():
    some = [Ratio(2.0, 1, 3, 0.3), Ratio(8.0, 1, 9, 0.4)]
    found = overall(some)
    assert (found.value, found.error) == pytest.approx((4.0, 0.25))
    assert overall([*some, Ratio(-0.1, 0, 1, 0.1)]) is None


def test_results_of_other_code_are_not_shown():
    known = {"digits": runner.scenarios()["digits"]}
    key = known["digits"].key(GREEDY)
    rows = [("digits", 100, GREEDY, key), ("digits", 101, GREEDY, "earlier"), ("gone", 1, "x", key)]
    table = pl.DataFrame(rows, schema=["scenario", "seed", "method", "key"], orient="row")
    assert runner.current(table, known).rows() == rows[:1]
    assert runner.current(table, known, earlier=True).rows() == rows[:2]


def test_the_key_changes_with_code_but_not_with_what_is_said_about_it(monkeypatch):
    key = runner.scenarios()["digits"].key(GREEDY)
    monkeypatch.setattr(runner, "digest", lambda: "other")
    assert runner.scenarios()["digits"].key(GREEDY) != key
    assert all(path.is_file() for path in sources.files())
    said = '"""Doc.\n\nMore.\n"""\n# a comment\nx = 1\n\n\ndef f():\n    """Doc."""\n    return x\n'
    assert sources.code(said, ".py") == "x = 1\ndef f():\n    return x"
    assert sources.code("//! Doc.\nlet x = 1;\n#[cfg(test)]\nmod tests {}", ".rs") == "let x = 1;"


def test_the_owners_that_fit_are_invited(rng):
    problem = SOURCES["synthetic"](Path(), 3, **SMALL["synthetic"])
    far = replace(problem.owners[0], points=problem.owners[0].points + 50)
    problem = replace(problem, owners=(far, *problem.owners[1:]))
    for choice in (best_offers(2), most_used(2)):
        assert choice(problem, 50, 0).tolist() == [1, 2]


def test_the_page_names_the_worst_scenarios_and_what_was_read():
    worth = {"digits": 3.0, "heart-a": 0.5, "adult-a": 2.0, "synthetic": 7.0}
    rows = [
        (scenario, seed, method, value * (1 + seed / 100), 0.0, 8, 4, 1.0 + seed)
        for scenario, pool in worth.items()
        for method, value in ((GREEDY, 1.0), ("pool, 4", pool))
        for seed in (0, 1, 2)
    ]
    columns = "scenario seed method mmd2 fresh_noise accesses points seconds".split()
    table = pl.DataFrame(rows, schema=columns, orient="row")
    main = page.of_group(runner.scenarios(), table, "main")
    worst = page._worst_table(ratios(table))
    assert "| pool, 4 | 7 synthetic; 3 digits; 2 adult-a | heart-a |" in worst
    assert "| pool, 4 | 2 (2 to 2) | 2 (3) |" in page._spending_table(table, main)
    assert page.mean_ratio(ratios(table), main, "pool, 4").value == pytest.approx(21**0.25)


@pytest.mark.parametrize("model", MODELS)
def test_models_are_judged_on_fresh_points(model):
    rng = np.random.default_rng(0)  # half the points have the other rule, or a little more
    points = rng.normal(0, 1, (200, 2))
    made = Labelled(points, (points[:, 0] > 0).astype(int))
    apart = rng.normal(0, 1, (500, 2))
    fresh = Labelled(apart, (apart[:, 0] > 0).astype(int))
    found = judged(model, made, None, fresh)
    assert found[model] > 0.85
    assert found[f"{model}_auc"] > 0.95
    # Weights on one side of another rule: what they leave out is not learnt.
    other = Labelled(points, np.where(points[:, 1] > 0, made.labels, 1 - made.labels))
    weighted = judged(model, other, np.where(points[:, 1] > 0, 1 / 100, 0.0), fresh)
    assert weighted[f"{model}_weighted"] > 0.8 > judged(model, other, None, fresh)[model]
    one = judged(model, Labelled(points, np.ones(200, int)), None, fresh)
    assert one == {model: fresh.labels.mean(), f"{model}_auc": 0.5}


def small_table(rng, n_owners=2):
    """Two owners with numbers, categories and missing values; labels follow the number."""
    schema = Schema(
        [
            Column("a", bounds=(0, 1), when_missing="encode"),
            Column("b", categories=(0.0, 1.0, 2.0)),
        ]
    )

    def part(n, odds):
        a, b = rng.random(n), rng.choice(3, n, p=odds).astype(float)
        labels = (a > 0.5).astype(int)
        a[::10] = np.nan
        return Labelled(np.stack([a, b], axis=1), labels)

    owners = [part(400, [0.7, 0.2, 0.1]) for _ in range(n_owners)]
    like = part(200, [0.1, 0.2, 0.7])
    return split(owners, like, 60, 30, RBF.for_schema(schema), rng, schema)


@pytest.mark.same_draws
def test_synthetic_records_follow_the_released_table(rng):
    problem = small_table(rng)
    made = dp_merf(problem, 1e6, 0)
    real = everything(problem, 1.0, 0)
    assert made.points.shape == (2000, len(problem.schema.cells))
    # Categories one-hot with the real ones' odds; the labels follow the number as in the real data.
    np.testing.assert_array_equal((made.points[:, -3:] > 0).sum(axis=1), 1)
    odds = (made.points[:, -3:] > 0).mean(axis=0)
    np.testing.assert_allclose(odds, [0.7, 0.2, 0.1], atol=0.15)
    assert made.labels.mean() == pytest.approx(real.labels.mean(), abs=0.05)
    high, low = (made.points[made.labels == label, 0].mean() for label in (1, 0))
    assert high - low > 0.2
    # Noise far above the sums leaves nothing of that.
    noisy = dp_merf(problem, 0.001, 0)
    means = [noisy.points[noisy.labels == label, 0].mean() for label in np.unique(noisy.labels)]
    assert np.ptp(means) < 0.9 * (high - low)


def test_the_sensitivity_of_labelled_features_is_two(rng):
    """Over pairs of records with labels, and antipodal features: never more, and reached."""
    features = rng.normal(size=(200, 8))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    features = np.concatenate([features, -features])
    labels = np.tile(np.eye(2)[rng.integers(0, 2, 200)], (2, 1))
    rows = np.concatenate([labels[:, :1] * features, labels[:, 1:] * features, labels], axis=1)
    worst = max(np.linalg.norm(rows - row, axis=1).max() for row in rows)
    assert worst == pytest.approx(2)


@pytest.mark.same_draws
def test_importance_weights_move_the_means_to_the_targets(rng):
    points, target = rng.normal(0, 1, (2000, 2)), rng.normal(0.7, 1, (500, 2))
    weights = importance(points, target)
    assert weights.sum() == pytest.approx(1)
    assert np.abs(weights @ points - 0.7).max() < 0.15


def test_blocks_of_the_page_have_what_was_measured():
    known = [s for s in runner.scenarios().values() if s.name in ("marital", "older")]
    rows = []
    for s, seed, (method, value) in product(
        known, (100, 101, 102), ((GREEDY, 1.0), ("Offers, 4", 1.5), ("pool, 4", 3.0))
    ):
        models = {f"{model}{what}": 0.5 + value / 10 for model in MODELS for what in ("", "_auc")}
        models |= {f"{name}_weighted": share - 0.01 for name, share in models.items()}
        row = {"scenario": s.name, "seed": seed, "method": method, "mmd2": value + 0.1}
        row |= {"fresh_noise": 0.1, "points": 10, "accesses": 40, "means": 2.0 + seed / 1000}
        rows.append(row | {"means_weighted": 1.0 + seed / 2000} | models)
    table = pl.DataFrame(rows)
    made = ratios(table)
    near = page.distance_table(made, known, ["pool, 4", "Offers, 4"])
    assert "| 3 (3 to 3) | 1.5 (1.5 to 1.5) |" in near
    assert "| pool, 4 | 80.0 ± 0.0 |" in page.models_table(table, known)
    assert "| 0.5 (0.5 to 0.5) | -1.0 ± 0.0 |" in page.weights_table(table, known)
    assert "| **mean** | " in page.worth_table(table, made, known)
    few = [s for s in known if "few" in s.groups]
    assert "| 6 | 3 (3 to 3); 4 read |" in page.few_table(made, table, few)
    plans = [dpsumm.plan(s.m, s.size).ratio / 1.5 for s in known]
    assert [quotient for quotient, _ in predictions(table, known)[1.0]] == pytest.approx(plans)
    assert "| 1 | 2 |" in page.plan_table(table, known)


def test_methods_have_what_the_page_needs():
    assert {GREEDY, ORACLE, "uniform", "pool, 4", "Offers, 4"} <= METHODS.keys()
