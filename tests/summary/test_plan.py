"""Plans: from public numbers, monotone, and not far from what runs give."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from evidence.__main__ import RESULTS
from evidence.data import synthetic
from evidence.page_tables import WITHIN, predictions
from evidence.runner import scenarios
from matplotlib.figure import Figure
from typer.testing import CliRunner

import dpsumm
from dpsumm import RBF, Column, Offers, Pool, Schema
from dpsumm.cli.app import app
from dpsumm.cli.typed import typed
from dpsumm.errors import InvalidParameterError
from dpsumm.kernels import mmd2
from dpsumm.report.notes import CALLS, notebook_notes
from dpsumm.summary import Gaussian
from dpsumm.summary.plan import HIGH, LOUD, MOST_RATIO, SMALL
from dpsumm.summary.protocols.features import MapChoice, features_of
from dpsumm.summary.release import TARGET


def test_noise_is_that_of_the_release():
    made = dpsumm.plan(1000, 400, epsilon=1, delta=1e-5)
    # PRIVACY: sigma / Delta = 3.7306 at (1, 1e-5); two unit vectors change the sum.
    assert made.noise_multiplier == pytest.approx(3.7306, abs=1e-3)
    assert made.score_noise == pytest.approx(2 * 3.7306 / 1000, rel=1e-3)
    assert (made.reads, made.broadcast_bytes) == (1600, 16384)


TABLE = Schema(
    [
        Column("a", bounds=(0, 1)),
        Column("b", bounds=(0, 1)),
        Column("c", categories=(0.0, 1.0, 2.0, 3.0)),
    ]
)


def test_landmarks_have_the_noise_of_their_release():
    made, without = dpsumm.plan(300, 50, schema=TABLE), dpsumm.plan(300, 50)
    gamma = RBF.for_schema(TABLE).gamma
    recipe = MapChoice().recipe(TABLE, gamma, len(TABLE.cells), 7, Gaussian())
    release = Gaussian().calibrated(1.0, 1e-5)
    noise = release.noise(features_of(recipe, TABLE), TARGET, 300)
    assert made.landmarks
    assert (made.n_features, made.broadcast_bytes) == (1024, 8192)
    assert made.score_noise == pytest.approx(noise, rel=1e-6)
    assert 0.4 < made.score_noise / without.score_noise < 0.72
    assert made.ratio < without.ratio
    assert made.least_epsilon < without.least_epsilon
    assert made.least_target_size < without.least_target_size
    assert "1024 landmark features" in str(made)
    # Random features by hand, or for columns without bounds.
    free = Schema([Column("a"), Column("b", bounds=(0, 1))])
    for other in (
        dpsumm.plan(300, 50, schema=TABLE, protocol=Offers(features="random")),
        dpsumm.plan(300, 50, schema=free),
    ):
        assert other == without
    with pytest.raises(InvalidParameterError, match="features"):
        dpsumm.plan(300, 50, schema=free, protocol=Offers(features="landmarks"))


@pytest.mark.same_draws
def test_the_expected_ratio_with_landmarks_is_near_a_measured_one(rng):
    kernel, m, sums = RBF.for_schema(TABLE), 150, np.zeros(2)

    def part(n, low, odds):
        numbers = low + (1 - low) * rng.random((n, 2))
        return np.column_stack([numbers, rng.choice(4, n, p=odds)])

    owners = [part(3000, 0, odds) for odds in ([0.7, 0.1, 0.1, 0.1], [0.1, 0.7, 0.1, 0.1])]
    fresh = part(3000, 0.5, [0.1, 0.1, 0.1, 0.7])
    judges = TABLE.encode(fresh)
    noise = (1 - dpsumm.kernels.mean_kernel_self(judges, kernel.gamma)) / (len(judges) - 1)
    for seed in range(4):
        target = part(m, 0.5, [0.1, 0.1, 0.1, 0.7])
        for i, protocol in enumerate((dpsumm.Offers(), dpsumm.summary.Greedy())):
            made = dpsumm.summarize(
                owners, target, size=100, schema=TABLE, protocol=protocol, seed=seed
            )
            sums[i] += mmd2(made.scaled, judges, kernel.gamma) - noise
    low, high = dpsumm.plan(m, 100, schema=TABLE).likely
    assert low / 1.5 < sums[0] / sums[1] < high


def test_more_data_and_more_epsilon_are_never_worse():
    for kept in ({"epsilon": 1.0}, {"epsilon": 0.2}):
        ratios = [dpsumm.plan(m, 100, **kept).ratio for m in (2, 10, 40, 100, 300, 1000, 10**6)]
        assert ratios == sorted(ratios, reverse=True)
    ratios = [dpsumm.plan(100, 100, epsilon=e).ratio for e in (0.01, 0.1, 0.5, 1, 3, 30)]
    assert ratios == sorted(ratios, reverse=True)
    ratios = [
        dpsumm.plan(100, 100, protocol=Offers(reads_per_record=rho)).ratio
        for rho in (1, 2, 3, 4, 8, 20)
    ]
    assert ratios == sorted(ratios, reverse=True)


def test_the_rarer_the_target_the_further_the_points():
    given = {"target_size": 100, "size": 50, "epsilon": 0.5}
    plans = [dpsumm.plan(**given, rarity=rarity) for rarity in (0.01, 0.1, 1)]
    for low, high in pairwise(reversed(plans)):
        assert low.ratio < high.ratio
        assert low.likely[1] < high.likely[1]
        assert low.least_epsilon < high.least_epsilon
    unknown = dpsumm.plan(**given)
    assert unknown.ratio == plans[1].ratio
    assert unknown.likely == (plans[2].likely[0], plans[0].likely[1])
    assert all(plan.likely[0] < plan.ratio < plan.likely[1] for plan in plans)
    assert "if 10% of the owners' records" in " ".join(str(plans[1]).split())
    assert "Pool()` first" in str(plans[2])
    assert "Pool()` first" not in str(plans[1])


def test_no_ratio_is_told_beyond_those_measured():
    made = dpsumm.plan(20, 50, epsilon=0.3, rarity=0.001)
    assert made.ratio == made.likely[1] == MOST_RATIO
    assert "e+" not in str(made)
    assert "100 or more" in str(dpsumm.plan(60, 50, epsilon=0.3))


@pytest.mark.parametrize("m", [20, 100, 5000])
def test_the_remedies_are_enough(m):
    made = dpsumm.plan(m, 50, epsilon=0.4)
    by_epsilon = dpsumm.plan(m, 50, epsilon=made.least_epsilon)
    end = HIGH[0][1] + SMALL
    assert by_epsilon.likely[1] == pytest.approx(end, rel=3e-3)
    by_target = dpsumm.plan(made.least_target_size, 50, epsilon=0.4)
    assert by_target.likely[1] <= end
    assert dpsumm.plan(made.least_target_size - 1, 50, epsilon=0.4).likely[1] > end


def test_a_notebook_shows_a_plan_in_the_colours_of_notes():
    """The same bars and calls as a summary's notes; what is only good to know has no colour."""
    shown = {
        name: dpsumm.plan(m, 50, epsilon=epsilon)._repr_html_()
        for name, m, epsilon in (("good", 4000, 1), ("felt", 100, 1), ("bad", 40, 0.3),
                                 ("weak", 4000, 50))
    }  # fmt: skip
    calls = {
        name: [call for call in CALLS.values() for _ in range(html.count(f"{call}.</strong>"))]
        for name, html in shown.items()
    }
    alarm, _, info = CALLS.values()
    assert calls["good"] == [info]
    assert calls["felt"] == [info, info]
    assert calls["bad"] == [info, info, info]
    assert calls["weak"] == [alarm, info]
    assert notebook_notes(dpsumm.plan(40, 50, epsilon=0.3).notes) in shown["bad"]


def test_advice_follows_the_noise():
    good, felt, bad = (dpsumm.plan(m, 50) for m in (2000, 60, 4))
    assert good.likely[1] < 1 + HIGH[0][1] < felt.likely[1] < LOUD < bad.likely[1]
    assert [plan.verdict.level for plan in (good, felt, bad)] == ["useful", "check", "do not use"]
    assert "Verdict: check. Offers work: one run in ten" in str(felt)
    assert "dpsumm compare" in str(bad)
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
            for protocol in (dpsumm.Offers(), dpsumm.summary.Greedy())
        ]
        measured = [mmd2(points, problem.fresh.points, problem.kernel.gamma) for points in found]
        sums += np.array(measured) - problem.fresh_noise
    low, high = dpsumm.plan(m, 200, epsilon=epsilon, rarity=0.3).likely
    assert low / 1.5 < sums[0] / sums[1] < high * 1.5


def test_plans_are_near_what_was_measured_on_other_seeds():
    table = pl.read_parquet(RESULTS)
    found = predictions(table, list(scenarios().values()))
    for epsilon in (1.0, 3.0):
        near = [1 / WITHIN < quotient < WITHIN for quotient, _ in found[epsilon]]
        assert np.mean(near) >= 0.8
    assert len(found[1.0]) >= 6
    for epsilon in (0.3, 1.0, 3.0):
        assert np.mean([inside for _, inside in found[epsilon]]) >= 0.75


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"target_size": 1}, "target_size"),
        ({"size": 0}, "size"),
        ({"epsilon": -1}, "epsilon"),
        ({"delta": 1}, "delta"),
        ({"protocol": "offers"}, "protocol: a plan is of Offers"),
        ({"protocol": Pool()}, "protocol: a plan is of Offers"),
        ({"protocol": Offers(sample=[[0.5]])}, "without a sample"),
        ({"protocol": Offers(release=Gaussian(noise_multiplier=8.0))}, "the release Gaussian"),
        ({"rarity": 0}, "rarity must be above 0"),
        ({"rarity": 1.5}, "rarity"),
        ({"rarity": float("nan")}, "rarity"),
        ({"target_size": 10**400}, "target_size"),
        ({"size": 10**400}, "size"),
    ],
)
def test_what_is_out_of_range_is_named(given, named):
    with pytest.raises(InvalidParameterError, match=named):
        dpsumm.plan(**({"target_size": 100, "size": 10} | given))


@pytest.mark.parametrize(
    "given",
    [
        {"epsilon": 0.001},
        {"protocol": Offers(reads_per_record=1.0)},
        {"protocol": Offers(reads_per_record=1000.0)},
        {"protocol": Offers(n_features=16)},
        {"rarity": 0.005},
    ],
)
def test_what_no_experiment_covers_is_said(given):
    made = dpsumm.plan(100, 50, **given)
    assert not made.measured
    assert made.verdict.level != "useful"
    assert dpsumm.plan(4000, 50, **given).verdict.level != "useful"
    assert dpsumm.plan(4000, 50).verdict.level == "useful"
    assert "no experiment covers this" in " ".join(str(made).split())
    assert dpsumm.plan(100, 50).measured


def test_a_plan_is_drawn_on_axes_and_gives_them_back():
    axes = Figure().subplots()
    made = dpsumm.plan(100, 50)
    assert made.plot(axes) is axes
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    targets = [f"target of {m}" for m in (25, 100, 400)]
    assert set(labels) == {*targets, "8 of 10 runs of this plan", "this plan"}
    # No line goes on where no experiment was.
    assert [np.isnan(line.get_ydata()).any() for line in axes.lines[:3]] == [True, True, False]
    (point,) = axes.lines[-1].get_ydata()
    assert point == made.ratio


def test_the_command_prints_the_plan_and_draws_it(tmp_path):
    picture = tmp_path / "plan.svg"
    arguments = [
        "plan",
        "summarize",
        "--target-size",
        "100",
        "--size",
        "50",
        "--plot",
        str(picture),
    ]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert typed(str(dpsumm.plan(100, 50)), {"rarity"}) in result.output
    assert picture.read_text().startswith("<?xml")
    for name in ("plan.txt", "no/plan.png"):
        refused = CliRunner().invoke(app, [*arguments[:-1], str(tmp_path / name)])
        assert refused.exit_code != 0
        assert refused.stdout == ""
        assert "--plot: cannot write" in str(refused.exception)


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        ({"epsilon": 4.0}, None),
        ({"epsilon": 10.0}, "Epsilon 10 promises little"),
        ({"delta": 0.002}, "Delta 0.002 is 0.2 / 100"),
        ({"epsilon": 50.0}, "Epsilon 50 promises next to nothing"),
        ({"delta": 0.01}, "Delta 0.01 is not below 1 / 100"),
    ],
)
def test_a_weak_budget_is_told_of_before_what_it_buys(budget, said):
    made = dpsumm.plan(100, 50, **budget)
    assert made.notes[0].startswith(said or "Give `rarity`")
    assert made.notes[-len(made.advice) :] == made.advice
