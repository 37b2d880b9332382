"""Plans: from public numbers, monotone, and not far from what runs give."""

import math
from collections import defaultdict
from itertools import product

import numpy as np
import polars as pl
import pytest
from evidence.__main__ import RESULTS
from evidence.data import synthetic
from evidence.ratios import ratios
from evidence.runner import scenarios
from typer.testing import CliRunner

import dpsumm
from dpsumm.cli.app import app
from dpsumm.errors import InvalidParameterError
from dpsumm.kernels import mmd2
from dpsumm.summary.plan import (
    BAD,
    GOOD,
    NOISE,
    NOISE_FACTOR,
    PARSIMONY,
    PARSIMONY_FACTOR,
    SPREAD,
    WEIGHTED_FACTOR,
)
from evidence import page


def test_noise_is_that_of_the_release():
    made = dpsumm.plan(1000, 400, epsilon=1, delta=1e-5)
    # PRIVACY: sigma / Delta = 3.7306 at (1, 1e-5); two unit vectors change the sum.
    assert made.noise_multiplier == pytest.approx(3.7306, abs=1e-3)
    assert made.score_noise == pytest.approx(2 * 3.7306 / 1000, rel=1e-3)
    assert (made.reads, made.broadcast_bytes) == (1600, 16384)


def test_more_data_and_more_epsilon_are_never_worse():
    for kept in ({"epsilon": 1.0}, {"epsilon": 0.2}):
        ratios = [dpsumm.plan(m, 100, **kept).ratio for m in (2, 10, 40, 100, 300, 1000, 10**6)]
        assert ratios == sorted(ratios, reverse=True)
    ratios = [dpsumm.plan(100, 100, epsilon=e).ratio for e in (0.01, 0.1, 0.5, 1, 3, 30)]
    assert ratios == sorted(ratios, reverse=True)
    ratios = [dpsumm.plan(100, 100, parsimony=rho).ratio for rho in (1, 2, 3, 4, 8, 20)]
    assert ratios == sorted(ratios, reverse=True)


@pytest.mark.parametrize("m", [20, 100, 5000])
def test_the_remedies_are_enough(m):
    made = dpsumm.plan(m, 50, epsilon=0.4)
    by_epsilon = dpsumm.plan(m, 50, epsilon=made.least_epsilon)
    assert by_epsilon.noise_to_sampling == pytest.approx(GOOD, rel=1e-3)
    by_target = dpsumm.plan(made.least_target_size, 50, epsilon=0.4)
    assert by_target.noise_to_sampling <= GOOD
    assert dpsumm.plan(made.least_target_size - 1, 50, epsilon=0.4).noise_to_sampling > GOOD


def test_advice_follows_the_noise():
    good, felt, bad = (dpsumm.plan(m, 50) for m in (2000, 60, 10))
    assert good.noise_to_sampling < GOOD < felt.noise_to_sampling < BAD < bad.noise_to_sampling
    assert "costs little" in " ".join(good.advice)
    assert "can be felt" in " ".join(felt.advice)
    assert "above the signal" in " ".join(bad.advice)
    assert f"a target of {bad.least_target_size} points" in str(bad)


@pytest.mark.parametrize(("m", "epsilon"), [(1000, 1.0), (300, 0.3)])
def test_the_expected_ratio_is_near_a_measured_one(tmp_path, m, epsilon):
    sums = np.zeros(2)
    for seed in range(4):
        problem = synthetic(tmp_path, seed, m, 200, owners=8, share=0.3, n=8000)
        found = [
            dpsumm.summarize(
                [owner.points for owner in problem.owners],
                problem.target,
                size=200,
                kernel=problem.kernel,
                protocol=protocol,
                epsilon=epsilon,
                seed=seed,
            ).points
            for protocol in (dpsumm.Offers(), dpsumm.Greedy())
        ]
        measured = [mmd2(points, problem.fresh.points, problem.kernel.gamma) for points in found]
        sums += np.array(measured) - problem.fresh_noise
    expected = dpsumm.plan(m, 200, epsilon=epsilon).ratio
    assert 1 / SPREAD < sums[0] / sums[1] / expected < SPREAD


def test_the_constants_are_those_of_the_experiments():
    table = pl.read_parquet(RESULTS)
    known = scenarios()
    main = page.of_group(known, table, "main")
    for column, factors in (("mmd2", PARSIMONY_FACTOR), ("mmd2_weighted", WEIGHTED_FACTOR)):
        made = ratios(table, column)
        means = [page.mean(made, main, f"Offers, {rho:g}") for rho in PARSIMONY]
        assert [mean.value for mean in means] == pytest.approx(factors, abs=0.006)
        for scenario, (rho, factor) in product(main, zip(PARSIMONY, factors, strict=True)):
            noise = dpsumm.plan(scenario.m, scenario.size).noise_factor
            measured = made[scenario.name, f"Offers, {rho:g}"].value
            assert 1 / SPREAD < measured / (factor * noise) < SPREAD
    made, near = ratios(table), defaultdict(list)
    for scenario in known.values():
        for epsilon in (0.1, 0.3, 1.0):
            least = made.get((scenario.name, "Offers, 4, epsilon 3"))
            if least is not None:
                noise = dpsumm.plan(scenario.m, 400, epsilon=epsilon).noise_to_sampling
                nearest = min(NOISE, key=lambda x, noise=noise: abs(math.log(x / noise)))
                name = "Offers, 4" if epsilon == 1 else f"Offers, 4, epsilon {epsilon:g}"
                near[nearest].append(made[scenario.name, name].value / least.value)
    means = [np.exp(np.mean(np.log(near[noise]))) for noise in NOISE]
    assert means == pytest.approx(NOISE_FACTOR, abs=0.006)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"target_size": 1}, "target_size"),
        ({"size": 0}, "size"),
        ({"epsilon": -1}, "epsilon"),
        ({"delta": 1}, "delta"),
        ({"parsimony": 0.5}, "parsimony"),
        ({"parsimony": "4"}, "parsimony"),
        ({"parsimony": 1e308}, "parsimony"),
        ({"target_size": 10**400}, "target_size"),
        ({"size": 10**400}, "size"),
        ({"n_features": 3}, "n_features"),
    ],
)
def test_what_is_out_of_range_is_named(given, named):
    with pytest.raises(InvalidParameterError, match=named):
        dpsumm.plan(**({"target_size": 100, "size": 10} | given))


@pytest.mark.parametrize(
    "given", [{"epsilon": 0.001}, {"parsimony": 1.0}, {"parsimony": 1000.0}, {"n_features": 16}]
)
def test_what_no_experiment_covers_is_said(given):
    made = dpsumm.plan(100, 50, **given)
    assert not made.measured
    assert "no experiment covers this" in str(made)
    assert dpsumm.plan(100, 50).measured


def test_a_picture_that_cannot_be_written_is_refused(tmp_path):
    for name in ("plan.txt", "no/plan.png"):
        with pytest.raises(InvalidParameterError, match="plot"):
            dpsumm.plan(100, 50).plot(tmp_path / name)


def test_the_command_prints_the_plan_and_draws_it(tmp_path):
    picture = tmp_path / "plan.svg"
    arguments = ["plan", "--target-size", "100", "--size", "50", "--plot", str(picture)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert str(dpsumm.plan(100, 50)) in result.output
    assert picture.read_text().startswith("<?xml")
