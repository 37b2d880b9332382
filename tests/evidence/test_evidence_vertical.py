"""Evidence of synthetic rows: measures of known rows, and the page's tables from results."""

import numpy as np
import polars as pl
import pytest
from evidence.vertical.data import clinic
from evidence.vertical.page import summed_up, written
from evidence.vertical.paper_figures import likelihood
from evidence.vertical.score import auc, distances, judged, pair_distances, predicted
from evidence.vertical.unseen import SAMPLE, task_of
from evidence.vertical.unseen import line as unseen_line
from evidence.vertical.wide import COPIES, distance, widened

from dpsumm.vertical import Mixture

PAGE = (
    "a\n<!-- accuracy -->\nold\n<!-- end -->\nb\n<!-- distance -->\n<!-- end -->\nc\n"
    "<!-- auc -->\n<!-- end -->\n"
    "<!-- parts -->\n<!-- end -->\n"
)


def line(method, epsilon, seed, linear):
    about = {"task": "adult", "method": method, "epsilon": epsilon, "seed": seed}
    return about | {"linear": linear, "trees": 0.5, "within": 0.1, "across": 0.25}


def test_the_page_has_means_of_what_is_there():
    results = [line("default", 1.0, seed, 0.8 + seed / 50) for seed in range(2)]
    results += [line("real", 0.0, 0, 0.9) | {"auc": 0.91}, line("majority", 0.0, 0, 0.6)]
    about = {"task": "adult", "method": "AIM", "epsilon": 1.0, "seed": 0}
    results += [about | {"cpu": 899.7, "stopped": True}]
    page = written(written(PAGE, []), results)
    assert "old" not in page
    assert "| Adult, two owners | `Tables()` | .810 / .500 (2) |" in page
    assert "| Adult, two owners | `Tables()` | .100 / .250 (2) |" in page
    assert page.count("| AIM, a trusted curator | stopped after 900 s |") == 3
    assert page.count("the real rows") == 3
    assert page.count("most frequent | .600") == 1
    assert page.startswith("a\n<!-- accuracy -->")
    assert "| Adult, two owners | the real rows | .910 |" in page
    assert page.endswith("<!-- end -->\n<!-- parts -->\n\n<!-- end -->\n")
    with pytest.raises(ValueError, match="mark auc"):
        written("<!-- accuracy -->\n<!-- end -->", results)


def test_the_guide_has_the_usual_epsilon():
    results = [line("default", e, 0, 0.8) | {"auc": 0.7 + e / 10} for e in (0.5, 1.0)]
    results += [line("chain", 1.0, 0, 0.8) | {"auc": 0.75}]
    results += [line(name, 0.0, 0, 0.9) | {"auc": 0.91} for name in ("real", "alone", "majority")]
    page = summed_up("<!-- short -->\n<!-- end -->", results)
    assert page.splitlines()[3:-1] == [
        "| Adult, two owners | `Tables()` | .500 | .800 | .250 |",
        "| Adult, two owners | the real rows | .500 | .910 | .250 |",
        "| Adult, two owners | the real rows, the label owner's columns alone | .500 | .910 |  |",
    ]


def test_rows_are_judged_by_other_rows():
    task = clinic(0)
    assert set(distances(task, task.held_out).values()) == {0.0}
    real = judged(task, task.real)
    assert 0 < real["within"] < 0.05
    assert real["linear"] > 0.75
    rng = np.random.default_rng(0)
    apart = np.stack([rng.permutation(column) for column in task.real.T], axis=1)
    drawn = judged(task, apart)
    assert drawn["across"] > 2 * real["across"]
    assert drawn["linear"] < real["linear"] - 0.1
    alone = predicted(task, task.real, alone=True)
    assert drawn["auc"] < alone["auc"] < real["auc"]


def test_trees_of_real_rows_are_far_above_chance():
    task = clinic(0)
    shuffled = task.real.copy()
    shuffled[:, task.target] = np.random.default_rng(0).permutation(shuffled[:, task.target])
    assert auc(task, task.real) > 0.8
    assert 0.3 < auc(task, shuffled) < 0.7


def test_levels_become_values_that_have_these_levels():
    task = clinic(0)
    assert (task.codes(task.decoded(task.train, 1)) == task.train).all()


def test_distances_know_spikes_parts_and_missing_values():
    rng = np.random.default_rng(0)
    real = np.stack([rng.random(20_000), rng.integers(2, size=20_000)], axis=1)
    real[:5000, 0], real[5000:10_000, 0] = 0.25, np.nan

    def apart(value, instead):
        rows = real.copy()
        same = np.isnan(rows[:, 0]) if np.isnan(value) else rows[:, 0] == value
        rows[same, 0] = instead
        return pair_distances(real, rows, [True, False], [(0, 1)])[0]

    assert apart(0.25, 0.25) == 0
    # All records that had it are in other cells.
    assert apart(0.25, 0.2501) == pytest.approx(0.25)
    assert apart(np.nan, 0.5) == pytest.approx(0.25)
    moved = real.copy()
    moved[10_000:, 0] **= 2
    # By tenths, the distance of a squared uniform number from a uniform one is 0.248.
    assert pair_distances(real, moved, [True, False], [(0, 1)])[0] == pytest.approx(0.124, abs=0.01)


def test_likelihood_is_that_of_a_mixture_of_products():
    rng = np.random.default_rng(0)
    sizes = (3, 2)
    pi, blocks = rng.dirichlet(np.ones(4)), [rng.dirichlet(np.ones(n), 4) for n in sizes]
    codes = np.stack([rng.integers(n, size=50) for n in sizes], axis=1)
    logs = [
        np.log(sum(pi[k] * blocks[0][k, a] * blocks[1][k, b] for k in range(4))) for a, b in codes
    ]
    found = likelihood(Mixture(pi, np.hstack(blocks), sizes, 0, 0.0), codes)
    assert found == pytest.approx(np.mean(logs))


def test_half_of_a_copy_is_its_original():
    task = clinic(0)
    owners, schemas, pairs = widened(task)
    assert len(pairs) == COPIES
    rows = pl.concat(list(owners.values()), how="horizontal")
    assert len(rows.columns) == 9 + 16 + 31 == sum(len(one.columns) for one in schemas.values())
    for original, copy in pairs:
        same = (rows[original] == rows[copy]).mean()
        assert 0.45 < same < 0.9  # by chance, too
    assert distance(rows, rows, schemas, [("age", "visits")]) == 0
    apart = rows.with_columns(pl.col("visits").shuffle(seed=1))
    assert distance(rows, apart, schemas, [("age", "visits")]) > 0.05


def test_a_table_of_others_is_split_by_a_draft_of_its_own(rng):
    n = 3000
    x = rng.normal(size=n).round(3)
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-2 * x)), "b", "a")
    table = pl.DataFrame({"x": x, "kind": rng.integers(0, 3, n), "y": y, "z": rng.random(n)})
    task = task_of("t, y", table, "y", "a")
    assert len(task.real) == 4 * (n - SAMPLE) // 5
    assert len(task.held_out) == n - SAMPLE - len(task.real)
    assert sorted(task.columns) == ["kind", "x", "y", "z"]
    assert task.columns[-1] == "y"
    assert set(task.owner_of) == {0, 1}
    assert task.held_out[:, -1].mean() == pytest.approx((y == "b").mean(), abs=0.1)
    name, records, rows, *_, real, _, _ = unseen_line(task)
    assert (name, records) == ("t, y", "2,000")
    assert 0.6 < float(rows) <= float(real) + 0.05
