"""Theorem 2 of the paper: parameters as printed, conditions, and sound figures of the same run."""

import math
import re

import numpy as np
import pytest

import dpsumm
from dpsumm import RBF
from dpsumm.errors import InvalidParameterError
from dpsumm.papers import Auction, Mwem
from dpsumm.privacy import Ledger, Protected, accounting
from dpsumm.summary.release import SUMMARY, TARGET
from helpers.transcripts import setting_of

EPSILON, DELTA, SIZE, N, A = 1.5, 1e-3, 4, 60, 0.8


def theorem(dimension=12, **more):
    return Auction.theorem2(EPSILON, DELTA, SIZE, N, A, dimension, **more)


def test_parameters_are_those_that_are_printed():
    auction, d = theorem(), 12
    T = d**2
    eps_v = EPSILON / (16 * T)
    assert auction.target_release == Mwem(T, eps_v, eps_v, steps=2 * d)  # eta = 2 / steps = 1 / d
    assert (auction.n_features, auction.feature_kind, auction.batch) == (d, "phase", 1)
    assert not auction.reselect
    for l in (1, 2, SIZE):  # noqa: E741  as in the paper
        eps_l = EPSILON / math.sqrt(16 * T * l * math.log(1 / DELTA) * math.log(SIZE))
        mwem = auction.summary_release.in_round(l)._mwem
        assert (mwem.iterations, mwem.steps) == (T, 2 * d)
        assert mwem.epsilon_select == mwem.epsilon_measure == pytest.approx(eps_l, rel=1e-12)
        assert auction.summary_release.in_round(l).cost(SUMMARY) == mwem.cost(SUMMARY)
    assert auction.seed_release == auction.summary_release.in_round(1)


def test_the_default_dimension_is_the_least_even_one_that_is_asked_for():
    least = 16 * math.log(2 * N) * math.log(SIZE) ** 2 / A**2
    assert theorem(None).n_features == 2 * math.ceil(least / 2)
    # Far beyond data: the figure for 400 of 100,000 points.
    with pytest.raises(InvalidParameterError, match=r"dimension.* at least 8655, .* smaller dim"):
        Auction.theorem2(1.0, 1e-5, 400, 100_000, 0.9)


def cost_of_summaries(auction):
    rounds = range(2, SIZE + 1)
    return [event for n in rounds for event in auction.summary_release.in_round(n).cost(SUMMARY)]


def numbers_in(sentence):
    return [float(x) for x in re.findall(r"at least ([0-9.e+]+)", sentence)]


def test_the_report_says_which_conditions_the_data_fail():
    d, log_p = 12, math.log(SIZE)
    eps_v = EPSILON / (16 * d**2)
    expected = [
        16 * math.log(2 * N) * log_p**2 / A**2,
        44 * math.sqrt(2) * math.sqrt(d) * math.log(d) * log_p**2 / eps_v,
        121 * 8 * d**2 * math.log(d) ** 2 * math.log(1 / DELTA) * log_p**5,
    ]
    setting = setting_of(np.zeros((25, 2)), {"a": N, "b": 1}, None, size=SIZE)
    seeds = np.zeros((5, 2))
    said, *_ = theorem(seed_points=seeds).published_figures(setting)
    assert numbers_in(said) == pytest.approx(expected, rel=1e-3)
    assert re.findall(r"\((\d+): (\w+)\)", said) == [
        ("12", "fails"),
        ("25", "fails"),
        ("5", "fails"),
        (str(N + 1), "fails"),
    ]
    enough = setting_of(
        np.zeros((math.ceil(expected[1]), 1)), {"a": N - 1, "b": 1}, None, size=SIZE
    )
    said, *_ = theorem().published_figures(enough)
    assert re.findall(r"\(\d+: (\w+)\)", said) == ["fails", "holds", "fails", "holds"]


def test_the_claim_and_the_sound_figures_stand_side_by_side():
    auction = theorem()
    setting = setting_of(np.zeros((25, 2)), {"a": N}, None, size=SIZE)
    _, claim, reading, sound = auction.published_figures(setting)
    assert f"({EPSILON:g}, {DELTA:g})-differentially private" in claim
    assert f"terms are {A + 1 / (EPSILON * math.log(SIZE)):.3g} here" in claim
    assert "certain" in reading
    assert "denominator" in reading
    target = accounting.compose(auction.target_release.cost(TARGET), DELTA)
    summary = accounting.compose(cost_of_summaries(auction), DELTA)
    assert f"epsilon = {target:.4g} for the target's release and {summary:.4g} for all" in sound
    assert target < EPSILON < summary


def test_a_small_run_is_charged_what_its_releases_spend(rng):
    auction = theorem()
    owners = {name: rng.normal(shift, 1, (30, 2)) for name, shift in (("a", 0), ("b", 2))}
    summary = dpsumm.summarize(
        owners,
        rng.normal(1, 1, (20, 2)),
        size=SIZE,
        kernel=RBF(0.1),
        protocol=auction,
        delta=DELTA,
        allow_weak_privacy=True,
    )
    assert len(summary) == SIZE
    released = [
        (charge.event, charge.count)
        for charge in summary.privacy.charges
        if charge.protected is Protected.OWNERS and charge.message.startswith("noisy")
    ]
    assert released == cost_of_summaries(auction)
    assert summary.privacy.epsilon() == accounting.compose(
        auction.target_release.cost(TARGET), DELTA
    )
    assert summary.privacy.epsilon(protected="owners") == math.inf
    assert summary.privacy.statements()[3].startswith("Theorem 2 asks for")


def test_a_run_of_another_size_is_refused_before_anything_is_charged():
    with Ledger() as book:
        setting = setting_of(np.zeros((5, 2)), {"a": N}, book, size=SIZE + 1)
        with pytest.raises(InvalidParameterError, match="made for 4 points, and 5 are asked"):
            theorem().curator(setting)
        assert book.charges() == ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": 0}, "epsilon must be"),
        ({"delta": 1 / math.e}, "delta must be"),
        ({"delta": 0}, "delta must be"),
        ({"size": 1}, "size must be"),
        ({"n_points": 3}, "n_points must be"),
        ({"a": 1}, "a must be"),
        ({"a": 0}, "a must be"),
        ({"dimension": 7}, "n_features must be an even"),
    ],
)
def test_inputs_out_of_range_are_refused(change, message):
    given = {"epsilon": 1.0, "delta": 1e-3, "size": 4, "n_points": 60, "a": 0.5, "dimension": 8}
    with pytest.raises(InvalidParameterError, match=message):
        Auction.theorem2(**{**given, **change})
