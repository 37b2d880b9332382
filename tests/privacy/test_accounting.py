"""Composition: golden values, closed forms and a second accountant that shares no code."""

import itertools
import math
from decimal import Decimal
from itertools import pairwise
from unittest import mock

import mpmath
import numpy as np
import pytest
from dp_accounting import ZCDpEvent
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.pld.common import DifferentialPrivacyParameters
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, special, stats

from dpsumm.errors import InvalidParameterError
from dpsumm.papers import Mwem
from dpsumm.papers.auction.published import published_epsilon
from dpsumm.privacy import curves
from dpsumm.privacy.accounting import compose, gaussian_noise_multiplier
from dpsumm.privacy.events import (
    Approximate,
    BoundedRange,
    Gaussian,
    NonPrivate,
    Pure,
)
from dpsumm.summary.release import SUMMARY, TARGET


def gaussian_delta(mu, epsilon):
    """delta of the Gaussian mechanism, sensitivity / std = mu (Balle & Wang 2018)."""
    return stats.norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * stats.norm.cdf(
        -mu / 2 - epsilon / mu
    )


def response_and_gaussian_delta(each, count, mu, epsilon):
    """Exact delta of `count` randomized responses at `each` and one Gaussian (none if mu is 0)."""
    yes = np.arange(count + 1)
    chances = stats.binom.pmf(yes, count, special.expit(each))
    left = epsilon - each * (2 * yes - count)
    if mu == 0:
        rest = np.maximum(0, -np.expm1(left))
    else:
        rest = np.array([gaussian_delta(mu, e) for e in left])
    return float(chances @ rest)


def exact_epsilon(each, count, mu, delta):
    return optimize.brentq(
        lambda epsilon: response_and_gaussian_delta(each, count, mu, epsilon) - delta,
        0,
        each * count + 40 * mu + 40 * mu**2,
        xtol=1e-13,
    )


@pytest.mark.parametrize(
    ("events", "delta", "golden", "tolerance"),
    [
        ([(Pure(0.02), 1656)], 1e-5, 3.450830, 1e-6),
        ([(BoundedRange(0.02), 1656), (Pure(0.02), 1656)], 1e-5, 4.244021, 1e-6),
    ],
)
def test_golden_values(events, delta, golden, tolerance):
    assert compose(events, delta) == pytest.approx(golden, abs=tolerance)


@pytest.mark.parametrize(("epsilon", "golden"), [(0.5, 7.0318), (1.0, 3.7306), (2.0, 1.9938)])
def test_gaussian_multipliers_are_golden_and_sound(epsilon, golden):
    multiplier = gaussian_noise_multiplier(epsilon, 1e-5)
    assert multiplier == pytest.approx(golden, abs=6e-5)
    assert gaussian_delta(1 / multiplier, epsilon) <= 1e-5 * (1 + 1e-12)
    assert gaussian_delta(1 / (multiplier * (1 - 1e-5)), epsilon) > 1e-5


@pytest.mark.parametrize("delta", [1e-9, 1e-5, 1e-2])
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 8.0, 50.0])
def test_a_calibrated_gaussian_costs_what_was_asked_for(epsilon, delta):
    spent = compose([(Gaussian(gaussian_noise_multiplier(epsilon, delta)), 1)], delta)
    assert spent <= epsilon
    assert spent == pytest.approx(epsilon, rel=1e-4)  # six digits of the multiplier


@pytest.mark.parametrize("delta", [1e-300, 1e-12, 1e-5, 0.5])
@pytest.mark.parametrize("epsilon", [1e-9, 1e-3, 1.0, 50.0, 1e6])
def test_a_multiplier_is_the_least_of_six_digits_and_its_figure_covers_it(epsilon, delta):
    multiplier = gaussian_noise_multiplier(epsilon, delta)
    digits = Decimal(repr(multiplier)).normalize()
    assert len(digits.as_tuple().digits) <= 6
    # The last of six digits one lower is too little noise, up to the margin of the figures.
    below = float(digits - Decimal(1).scaleb(digits.adjusted() - 5))
    figures = [compose([(Gaussian(z), 1)], delta) for z in (multiplier, below)]
    assert figures[0] <= epsilon < figures[1] * (1 + 1e-8)
    # The figure's own delta, by another formula: the integral of the loss's upper tail.
    if 1e-3 <= epsilon <= 50 and delta >= 1e-12:
        exact = exact_gaussian_delta(1 / mpmath.mpf(multiplier), figures[0])
        assert delta * (1 - 1e-6) <= exact <= delta


def exact_gaussian_delta(mu, epsilon):
    """E max(0, 1 - e^(epsilon - loss)), loss ~ N(mu^2 / 2, mu^2), to 30 digits."""
    with mpmath.workdps(30):
        start = (mpmath.mpf(epsilon) - mu**2 / 2) / mu
        return mpmath.quad(
            lambda x: -mpmath.expm1(-mu * (x - start)) * mpmath.npdf(x),
            [start + i for i in (0, 0.5, 1, 2, 4, 8, 16)],
        )


def test_figures_of_the_paper_and_sound_ones():
    size = 400
    each = 0.01 / math.sqrt(5 * size)
    assert published_epsilon(0.01, 1656, 0.01) == pytest.approx(1.4014, abs=5e-5)
    assert published_epsilon(each, 5 * size, 1e-4) == pytest.approx(0.0430, abs=5e-5)
    target = compose(Mwem.published(0.01, 1656).cost(TARGET), 0.01)
    assert target == pytest.approx(3.308, abs=1e-3)
    cost = [(event, n * size) for event, n in Mwem.published(each, 5).cost(SUMMARY)]
    summary = compose(cost, 1e-4)
    assert summary == pytest.approx(0.166, abs=1e-3)
    # The simple zCDP formula is valid too, and above both.
    for figure, each_epsilon, moved, count, delta in (
        (target, 0.01, 2, 1656, 0.01),
        (summary, each, 4, 2000, 1e-4),
    ):
        rho = count * ((2 * moved * each_epsilon) ** 2 / 8 + (moved * each_epsilon) ** 2 / 2)
        assert figure < rho + 2 * math.sqrt(rho * math.log(1 / delta))


@pytest.mark.parametrize(
    ("each", "count", "multiplier", "delta"),
    [
        (0.02, 1656, None, 1e-5),
        (0.3, 10, None, 1e-3),
        (0.1, 20, 2.0, 1e-5),
        (0.5, 3, 1.0, 1e-6),
        (1.0, 1, 4.0, 1e-5),
        (0.01, 500, 1.0, 1e-4),
    ],
)
def test_a_second_accountant_never_finds_more(each, count, multiplier, delta):
    events = [(Pure(each), count)]
    if multiplier is not None:
        events.append((Gaussian(multiplier), 1))
    exact = exact_epsilon(each, count, 0 if multiplier is None else 1 / multiplier, delta)
    assert exact * (1 - 1e-12) <= compose(events, delta) <= exact * 1.01


def test_several_gaussians_are_one():
    events = [(Gaussian(3.0), 2), (Gaussian(5.0), 7)]
    mu = math.sqrt(2 / 9 + 7 / 25)
    epsilon = compose(events, 1e-6)
    assert gaussian_delta(mu, epsilon) <= 1e-6
    assert gaussian_delta(mu, epsilon * (1 - 1e-6)) > 1e-6


@pytest.mark.parametrize(
    "event", [Gaussian(2.0), Pure(0.05), BoundedRange(0.05), Approximate(0.1, 1e-7)]
)
def test_spending_never_falls_with_another_charge_nor_with_a_smaller_delta(event):
    base = [(Pure(0.1), 3)]
    counts = [compose([*base, (event, n)], 1e-5) for n in (0, 1, 2, 5, 20)]
    assert all(a < b for a, b in pairwise(counts))
    deltas = [compose([*base, (event, 5)], delta) for delta in (1e-3, 1e-5, 1e-6)]
    assert all(a <= b for a, b in pairwise(deltas))


def test_more_of_one_release_costs_at_least_its_closed_form():
    one = compose([(Gaussian(4.0), 1)], 1e-5)
    for extra in (Pure(1e-6), Gaussian(1e6), BoundedRange(1e-6)):
        assert compose([(Gaussian(4.0), 1), (extra, 1)], 1e-5) >= one


def test_nothing_costs_nothing_and_no_guarantee_is_infinite():
    assert compose([], 1e-5) == 0
    assert compose([(Gaussian(1.0), 0)], 1e-5) == 0
    assert compose([(Gaussian(1e9), 1), (NonPrivate("a reason"), 1)], 1e-5) == math.inf


def test_approximate_guarantees_take_their_part_of_delta():
    alone = compose([(Gaussian(2.0), 1)], 0.75e-5)
    with_approximate = [(Gaussian(2.0), 1), (Approximate(0.25, 0.25e-5), 1)]
    assert compose(with_approximate, 1e-5) == pytest.approx(alone + 0.25, rel=1e-8)
    assert compose([(Approximate(0.0, 0.5e-5), 1)], 1e-5) == 0
    assert compose([(Approximate(0.0, 0.5e-5), 2)], 1e-5) == math.inf
    assert compose([(Gaussian(2.0), 1), (Approximate(0.0, 1e-4), 1)], 1e-5) == math.inf


def test_figures_are_rounded_up():
    assert compose([(Pure(1.0), 1)], 1e-5) > 1.0
    multiplier = 3.0
    epsilon = compose([(Gaussian(multiplier), 1)], 1e-5)
    assert gaussian_delta(1 / multiplier, epsilon) < 1e-5


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "events",
    [
        [(Gaussian(0.001), 3)],
        [(Gaussian(0.01), 1), (Pure(1.0), 1)],
        [(Pure(5000.0), 1), (Gaussian(1.0), 1)],
        [(Pure(1e9), 2)],
        [(Gaussian(1.0), 10**9)],
    ],
)
def test_absurdly_little_noise_is_counted_without_a_hang(events):
    figure = compose(events, 1e-5)
    assert math.isfinite(figure)
    assert figure > 100


def binomial_delta(epsilon, each, count):
    """Exact delta of `count` randomized responses at `each`, to 40 digits."""
    with mpmath.workdps(40):
        yes = 1 / (1 + mpmath.exp(-mpmath.mpf(each)))
        total = mpmath.mpf(0)
        for k in range(max(0, int((epsilon / each + count) / 2)), count + 1):
            left = epsilon - (2 * k - count) * mpmath.mpf(each)
            if left < 0:
                chance = mpmath.binomial(count, k) * yes**k * (1 - yes) ** (count - k)
                total -= chance * mpmath.expm1(left)
        return total


@pytest.mark.parametrize("delta", [1e-12, 1e-11, 1e-10, 1e-8, 1e-7, 1e-5, 1e-3])
@pytest.mark.parametrize(
    ("each", "count"), [(0.005, 1656), (0.02, 200), (0.1, 200), (0.2, 60), (0.2, 1656)]
)
def test_figures_hold_at_small_deltas(each, count, delta):
    epsilon = compose([(Pure(each), count)], delta)
    assert binomial_delta(epsilon, each, count) <= delta


def test_tiny_deltas_are_left_to_the_other_figures():
    # A PLD of floats cuts off more mass than this delta: its figure would be nonsense.
    epsilon = compose([(Pure(0.1), 30), (Gaussian(5.0), 1)], 1e-14)
    assert epsilon >= exact_epsilon(0.1, 30, 0.2, 1e-14)


# Three groups show all that more would: every outcome by itself takes a product over groups.
GROUPS = st.dictionaries(
    st.sampled_from([0.01, 0.07, 0.5, 2.0]), st.integers(1, 9), min_size=1, max_size=3
)
GROUPED = given(GROUPS, st.sampled_from([0.0, 0.05, 0.6, 2.0]), st.sampled_from([1e-10, 1e-5, 0.1]))


def delta_by_hand(groups, mu, epsilon):
    """Every outcome of all responses by itself, to 30 digits."""
    with mpmath.workdps(30):
        total = mpmath.mpf(0)
        for yes in itertools.product(*(range(count + 1) for count in groups.values())):
            chance, left = mpmath.mpf(1), mpmath.mpf(epsilon)
            for k, (each, count) in zip(yes, groups.items(), strict=True):
                p = 1 / (1 + mpmath.exp(-mpmath.mpf(each)))
                chance *= mpmath.binomial(count, k) * p**k * (1 - p) ** (count - k)
                left -= mpmath.mpf(each) * (2 * k - count)
            if mu:
                rest = mpmath.ncdf(mu / 2 - left / mu)
                rest -= mpmath.exp(left) * mpmath.ncdf(-mu / 2 - left / mu)
            else:
                rest = max(0, -mpmath.expm1(left))
            total += chance * rest
        return total


@GROUPED
@settings(max_examples=15)
def test_the_law_of_the_losses_is_that_of_every_outcome_by_itself(groups, mu, delta):
    most = sum(each * count for each, count in groups.items()) + mu**2 + 10 * mu
    epsilon = curves.tight(groups, mu, delta, most)
    assert delta_by_hand(groups, mu, epsilon) <= delta
    if 0 < epsilon < most:
        assert delta_by_hand(groups, mu, epsilon * (1 - 1e-4) - 1e-9) > delta * (1 - 1e-4)


@GROUPED
@settings(max_examples=30)
def test_losses_on_a_grid_cost_no_less_and_little_more(groups, mu, delta):
    most = sum(each * count for each, count in groups.items()) + mu**2 + 10 * mu
    exact = curves.tight(groups, mu, delta, most)
    with mock.patch.object(curves, "_LOSSES", 20):  # few, so that many cases have a grid
        rounded = curves.tight(groups, mu, delta, most)
    spread = sum(2 * each * count for each, count in groups.items())
    assert exact * (1 - 1e-9) <= rounded <= exact + len(groups) * spread / 20 + 1e-9


@pytest.mark.parametrize("delta", [1e-5, 1e-2])
@pytest.mark.parametrize("mu", [0.0, 0.3, 1.5])
@pytest.mark.parametrize("groups", [{2**-6: 1656}, {2**-5: 30, 2**-3: 9}, {2**-2: 20, 2**-9: 700}])
def test_figures_agree_with_the_plds_of_dp_accounting(groups, mu, delta):
    """Losses are whole numbers of their cells, and dots connect a Gaussian's curve."""
    cell = {"value_discretization_interval": 2**-15}
    composed = pld.identity(**cell)
    if mu:
        composed = composed.compose(pld.from_gaussian_mechanism(1 / mu, **cell))
    for each, count in groups.items():
        one = pld.from_privacy_parameters(DifferentialPrivacyParameters(each, 0.0), **cell)
        composed = composed.compose(one.self_compose(count))
    theirs = composed.get_epsilon_for_delta(delta)
    assert curves.tight(groups, mu, delta, 1e3) == pytest.approx(theirs, rel=2e-9)


@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.3])
@pytest.mark.parametrize("rho", [1e-9, 1e-3, 0.4, 7.0, 1e4])
def test_zcdp_is_turned_into_epsilon_as_by_dp_accounting(rho, delta):
    accountant = RdpAccountant()
    accountant.compose(ZCDpEvent(rho))
    epsilon = curves.by_zcdp(rho, delta)
    assert epsilon <= accountant.get_epsilon(delta) * (1 + 1e-9) + 1e-12
    # A Gaussian is zCDP, and costs what its closed form says.
    assert epsilon >= compose([(Gaussian(math.sqrt(0.5 / rho)), 1)], delta) * (1 - 1e-8)
    # No order is better: a twin that tries a million.
    above = np.geomspace(1e-9, 1e9, 10**6)
    figures = rho * (1 + above) - (math.log(delta) + np.log1p(above)) / above - np.log1p(1 / above)
    assert epsilon <= max(0.0, float(figures.min())) * (1 + 1e-8) + 1e-12


def test_counts_that_no_float_holds_are_left_to_the_other_figures():
    figure = compose([(Pure(1e-5), 10**10)], 1e-5)
    assert figure == pytest.approx(curves.by_zcdp(10**10 * 1e-10 / 2, 1e-5), rel=1e-8)


@pytest.mark.parametrize("kind", [Pure, lambda epsilon: Approximate(epsilon, 0.0)])
def test_releases_chosen_in_view_of_earlier_ones_keep_their_figure_if_they_are_added(kind):
    # After one at 0.5: forty at 0.2 if its loss was low, else one at 3. Composed as if the plan had
    # been fixed, either way costs 3.483 at delta 0.01; the choice has 0.01047 there.
    first, ways, delta = 0.5, ((3.0, 1), (0.2, 40)), 0.01
    figures = [compose([(kind(first), 1), (kind(each), n)], delta) for each, n in ways]
    chosen = sum(
        special.expit(loss)
        * max(response_and_gaussian_delta(*way, 0, max(figures) - loss) for way in ways)
        for loss in (-first, first)
    )
    assert (chosen <= delta) == (kind is not Pure)


@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-5, math.nan])
def test_delta_out_of_range_is_refused(delta):
    with pytest.raises(InvalidParameterError, match="delta"):
        compose([], delta)


@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan])
def test_events_refuse_what_means_nothing(value):
    for make in (Gaussian, BoundedRange, Pure):
        with pytest.raises(InvalidParameterError):
            make(value)


@pytest.mark.parametrize(("epsilon", "delta"), [(-1.0, 0.0), (math.nan, 0.0), (0.1, 1.0)])
def test_approximate_refuses_what_means_nothing(epsilon, delta):
    with pytest.raises(InvalidParameterError):
        Approximate(epsilon, delta)
