"""Request rules: what bits reveal about ranks that may be off by one, in one round and in many."""

import itertools
import math
import re

import numpy as np
import pytest
from scipy import optimize, stats

from dpsumm.errors import InvalidParameterError
from dpsumm.papers import Auction, Requests
from dpsumm.papers.auction.requests import (
    Profile,
    gaussian_threshold,
    one_round_profile,
    published_profile,
    winner_profile,
)
from dpsumm.privacy import Gaussian, Ledger, NonPrivate
from dpsumm.privacy.accounting import compose, gaussian_noise_multiplier
from helpers.settings import setting_of
from reference.profiles import profile_delta

PRICES = [(0.1, 1e-6), (0.5, 1e-3), (1.0, 1e-5), (1.0, 0.0), (2.0, 1e-2), (4.0, 1e-5)]


def hockey_stick(p, q, epsilon):
    """Exact divergence of two laws given as vectors."""
    return float(np.maximum(0, p - math.exp(epsilon) * q).sum())


def run_delta(pairs, epsilon):
    """Exact delta of independent bits; `pairs` are their chances in the two worlds."""
    p, q = np.ones(1), np.ones(1)
    for a, b in pairs:
        p = np.concatenate([p * a, p * (1 - a)])
        q = np.concatenate([q * b, q * (1 - b)])
    return max(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon))


def equal_bits_delta(a, b, count, epsilon):
    """The same for `count` equal bits: their number of ones is all that matters."""
    ones = np.arange(count + 1)
    p, q = stats.binom.pmf(ones, count, a), stats.binom.pmf(ones, count, b)
    return max(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon))


def gaussian_delta(mu, epsilon):
    return stats.norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * stats.norm.cdf(
        -mu / 2 - epsilon / mu
    )


# --- one round --------------------------------------------------------------------------------


@pytest.mark.parametrize("certain", [1, 3])
@pytest.mark.parametrize(("epsilon", "delta"), PRICES)
def test_the_one_round_profile_keeps_its_promise_and_wastes_none(epsilon, delta, certain):
    profile = one_round_profile(epsilon, delta, 400, certain)
    assert profile_delta(profile, epsilon) <= delta + 1e-12
    if delta == 0:  # a rank that is certain makes all certain
        assert (profile.probability == 1).all()
    else:
        assert profile_delta(profile, epsilon * 0.99) > delta + 1e-7
    assert (profile.probability[:certain] == 1).all()
    assert (np.diff(profile.probability) <= 0).all()


@pytest.mark.parametrize("certain", [1, 2])
@pytest.mark.parametrize(("epsilon", "delta"), PRICES)
def test_no_profile_is_cheaper(epsilon, delta, certain):
    """Linear program: least expected requests under the constraints of differential privacy."""
    n = 25
    rows, limits = [], []
    for a, b in [*itertools.pairwise(range(n)), *((b, a) for a, b in itertools.pairwise(range(n)))]:
        for sign in (1, -1):  # asked; not asked
            row = np.zeros(n)
            row[a], row[b] = sign, -sign * math.exp(epsilon)
            rows.append(row)
            limits.append(delta if sign == 1 else delta - 1 + math.exp(epsilon))
    bounds = [(1, 1) if r < certain else (0, 1) for r in range(n)]
    best = optimize.linprog(np.ones(n), np.array(rows), np.array(limits), bounds=bounds)
    assert best.success
    profile = one_round_profile(epsilon, delta, n, certain)
    assert profile.expected == pytest.approx(best.fun, abs=1e-6)


def test_profile_delta_sees_every_pair_outcome_and_direction():
    steep = Profile(np.array([1.0, 0.5, 0.5, 0.0]))
    # Not asked: 0 against one half. Asked: one half against 0.
    assert profile_delta(steep, 5.0) == 0.5
    assert profile_delta(Profile(np.array([1.0, 1.0])), 0.1) == 0
    rising = Profile(np.array([0.2, 0.8]))
    assert profile_delta(rising, 1.0) == pytest.approx(0.8 - 0.2 * math.e)


@pytest.mark.parametrize("epsilon_auction", [0.01, 0.5, 1.0, 3.0])
def test_the_published_rule_forces_its_delta_at_any_epsilon(epsilon_auction):
    profile = published_profile(epsilon_auction, 50)
    forced = Requests.published(epsilon_auction).forced_delta
    assert forced == pytest.approx(1 - math.exp(-epsilon_auction))
    for epsilon in (0.1, 1.0, 10.0, 100.0):
        assert profile_delta(profile, epsilon) >= forced - 1e-15
    assert profile_delta(profile, 100.0) == pytest.approx(forced, abs=1e-12)
    # Further down, ranks 2 and 3 are not asked in the ratio 1 + exp(-epsilon_auction).
    not_asked = 1 - profile.probability
    assert not_asked[2] / not_asked[1] == pytest.approx(1 + math.exp(-epsilon_auction))


@pytest.mark.parametrize("tau", [None, 2, 9])
def test_tau_above_one_forces_no_less_and_a_tau_of_one_nothing(tau):
    """What is forced is forced in the first round, in which no point was best before."""
    assert Requests.published(0.5, tau).forced_delta == pytest.approx(1 - math.exp(-0.5))
    assert Requests.published(0.5, tau=1).forced_delta == 0


def test_asking_the_winner_only_is_not_private():
    assert profile_delta(winner_profile(10), 50.0) == 1
    assert profile_delta(Profile(np.ones(10)), 0.0) == 0


def test_coins_are_multiples_of_the_smallest_coin_and_never_too_small():
    for profile in (one_round_profile(1, 1e-5, 300), gaussian_threshold(7.0, 1e-8, 300)):
        scaled = profile.probability * 2.0**53
        assert (scaled == np.rint(scaled)).all()


# --- a whole run ------------------------------------------------------------------------------

RUNS = [(1, 1.0), (2, 3.0), (5, 4.0), (20, 8.0), (100, 15.0), (400, 40.0)]


@pytest.mark.parametrize("certain", [1, 4])
@pytest.mark.parametrize("missed", [1e-9, 1e-4, 0.05])
@pytest.mark.parametrize(("n", "noise_std"), RUNS)
def test_a_run_by_the_threshold_costs_at_most_a_gaussian_and_its_misses(
    n, noise_std, missed, certain
):
    """Lemma 3, at every epsilon: exact composition of n bits at the worst rank."""
    profile = gaussian_threshold(noise_std, missed, 600, certain)
    p = profile.probability
    assert 1 - p[certain] == pytest.approx(missed, rel=1e-3, abs=2e-15)
    mu = math.sqrt(n) / noise_std
    ranks = np.unique(np.geomspace(1, 500, 25).astype(int)) - 1
    for epsilon in (0.0, 0.1, 0.5, 1.0, 3.0, 10.0):
        claimed = gaussian_delta(mu, epsilon) + n * missed
        worst = max(
            equal_bits_delta(p[r], p[r + 1], n, epsilon) for r in {*ranks, certain - 1, certain}
        )
        assert worst <= claimed * (1 + 1e-6) + 1e-12


def test_bits_at_different_ranks_cost_no_more(rng):
    n, noise_std, missed = 10, 4.0, 1e-3
    p = gaussian_threshold(noise_std, missed, 40).probability
    mu = math.sqrt(n) / noise_std
    for _ in range(60):
        ranks = rng.integers(0, 12, n) * rng.integers(0, 2)
        flips = rng.integers(0, 2, n).astype(bool)
        pairs = [(p[r + f], p[r + 1 - f]) for r, f in zip(ranks, flips, strict=True)]
        for epsilon in (0.0, 0.5, 1.5, 4.0):
            claimed = gaussian_delta(mu, epsilon) + n * missed
            assert run_delta(pairs, epsilon) <= claimed * (1 + 1e-9)


def test_the_check_of_a_run_sees_a_rule_that_is_too_steep():
    """Control: the same comparison fails for less noise, and for rank 1 forced without a margin."""
    n, noise_std, missed = 50, 10.0, 1e-6
    mu = math.sqrt(n) / noise_std
    claimed = gaussian_delta(mu, 1.0) + n * missed

    def worst(profile):
        p = profile.probability
        return max(equal_bits_delta(p[r], p[r + 1], n, 1.0) for r in range(100))

    assert worst(gaussian_threshold(noise_std, missed, 101)) <= claimed
    assert worst(gaussian_threshold(noise_std / 1.5, missed, 101)) > claimed
    no_margin = gaussian_threshold(noise_std, 0.5, 101)
    assert worst(no_margin) > claimed


@pytest.mark.parametrize(("n", "expected"), [(1, 18.66), (50, 144.1), (100, 208.0), (400, 432.9)])
def test_requests_a_round_of_a_whole_run_at_1_and_1e5(n, expected):
    """Expected requests with the best split of delta: what a sound Auction costs in points."""
    best = min(
        gaussian_threshold(
            math.sqrt(n) * gaussian_noise_multiplier(1, (1 - part) * 1e-5), part * 1e-5 / n, 4000
        ).expected
        for part in (0.1, 0.2, 0.3, 0.4, 0.5)
    )
    assert best == pytest.approx(expected, rel=2e-3)


def test_requests_of_a_single_round_at_1_and_1e5():
    assert one_round_profile(1.0, 1e-5, 5000).expected == pytest.approx(11.83, abs=0.01)


# --- what a run plans and charges -------------------------------------------------------------


def plan_of(auction, n_owners, size, delta=1e-5):
    with Ledger(delta=delta) as book:
        sizes = {f"o{i}": size for i in range(n_owners)}
        setting = setting_of(np.zeros((100, 2)), sizes, book, size=size, delta=delta)
        return auction._plan(setting)


AUCTIONS = [
    (Auction(requests=Requests.PRIVATE), 2000, 4),
    (Auction(requests=Requests.PRIVATE), 3000, 40),
    (Auction(requests=Requests.PRIVATE, request_share=0.95, epsilon_owners=3.0), 500, 1),
    (Auction(requests=Requests.PRIVATE, batch=10, spare_rounds=2), 3000, 50),
    (Auction(requests=Requests.PRIVATE, coalition=3, epsilon_owners=4.0), 3000, 30),
    (Auction(requests=Requests.PRIVATE, epsilon_owners=0.3), 3000, 5),
]


@pytest.mark.parametrize(("auction", "n_owners", "size"), AUCTIONS)
def test_the_bits_of_a_plan_cost_what_is_charged_for_them(auction, n_owners, size):
    plan = plan_of(auction, n_owners, size)
    assert plan.profile.expected < len(plan.profile.probability)
    assert plan.request_charges
    events = [(c.event, c.count) for c in plan.request_charges]
    n = (plan.rounds + plan.spare_rounds) * plan.batch * auction.coalition
    p = plan.profile.probability
    for delta in (1e-5, 3e-6):
        epsilon = compose(events, delta)
        if math.isinf(epsilon):
            continue
        for r in {*range(0, len(p) - 1, 37), plan.batch - 1, plan.batch}:
            assert equal_bits_delta(p[r], p[r + 1], n, epsilon) <= delta * (1 + 1e-6)
    assert (p[: plan.batch] == 1).all()


@pytest.mark.parametrize(("auction", "n_owners", "size"), AUCTIONS)
def test_releases_and_bits_of_a_plan_fit_the_owners_budget(auction, n_owners, size):
    plan = plan_of(auction, n_owners, size)
    releases = plan.rounds - 1  # a repeated round sends its release again
    events = [(c.event, c.count) for c in plan.request_charges]
    if releases:
        events.append((Gaussian(plan.summary.noise_multiplier), releases))
    spent = compose(events, 1e-5)
    assert spent <= auction.epsilon_owners * (1 + 1e-8)
    assert spent >= 0.9 * auction.epsilon_owners


def test_bits_of_spare_rounds_are_charged_beforehand():
    """A repeated round sends its release again, at no cost; its coins are fresh."""
    few, many = (
        plan_of(Auction(requests=Requests.PRIVATE, spare_rounds=spare), 3000, 20)
        for spare in (0, 20)
    )
    assert few.profile.expected * 1.3 < many.profile.expected
    # The charge is the share of the budget in both: twice the bits need more noise each.
    assert few.request_charges == many.request_charges
    assert few.summary == many.summary


def test_with_few_owners_private_is_all_and_the_releases_get_the_whole_budget():
    private, everybody = (
        plan_of(Auction(requests=rule, batch=1), 5, 30) for rule in (Requests.PRIVATE, Requests.ALL)
    )
    for plan in (private, everybody):
        assert plan.request_charges == ()
        assert (plan.profile.probability == 1).all()
    assert private.summary == everybody.summary
    spent = compose([(Gaussian(private.summary.noise_multiplier), 29)], 1e-5)
    assert 0.999 < spent <= 1.0


def test_rules_without_a_guarantee_are_charged_as_infinite():
    for auction, word in (
        (Auction(requests=Requests.WINNER), "winner"),
        (Auction.published(10), "0.632"),
        (Auction.published(10, epsilon_auction=0.5, tau=3), "0.393.*that tau is 3 changes nothing"),
    ):
        (charge,) = plan_of(auction, 5, 10).request_charges
        assert isinstance(charge.event, NonPrivate)
        assert re.search(word, charge.event.reason)


def test_a_tau_of_one_asks_everybody_and_is_charged_nothing():
    plan, everybody = (
        plan_of(Auction(requests=rule, batch=1), 50, 10)
        for rule in (Requests.published(2.0, tau=1), Requests.ALL)
    )
    assert plan.request_charges == () == everybody.request_charges
    assert (plan.profile.probability == 1).all()
    assert plan.summary == everybody.summary
    assert plan.virtual_bids


def test_wrong_parameters_are_refused():
    with pytest.raises(InvalidParameterError, match="delta"):
        one_round_profile(1.0, 1.0, 5)
    with pytest.raises(InvalidParameterError, match="epsilon"):
        one_round_profile(0.0, 0.1, 5)
    with pytest.raises(InvalidParameterError, match="batch"):
        Auction(requests=Requests.PUBLISHED, batch=2)
    with pytest.raises(InvalidParameterError, match="request_share"):
        Auction(request_share=1.0)
    for tau in (0, -1, 1.5, True, "2"):
        with pytest.raises(InvalidParameterError, match="tau must be a whole number"):
            Requests.published(1.0, tau)
    with pytest.raises(InvalidParameterError, match="epsilon_auction must be"):
        Requests.published(math.inf)


def test_every_bid_has_a_coin_of_its_own():
    """Two bids of an owner agree half of the time; within 6 standard deviations of 4,000."""
    target, owners = np.zeros((4, 2)), {"a": 4, "b": 4}
    with Ledger() as book:
        made = Auction(n_features=4).curator(setting_of(target, owners, book, size=2))
        coins = made._toss(np.full((4000, 3), 0.5))
    slack = 6 * math.sqrt(4000) / 2
    for a, b in ((0, 1), (0, 2), (1, 2)):
        assert abs((coins[:, a] == coins[:, b]).sum() - 2000) < slack
    for column in coins.T:
        assert abs(column.sum() - 2000) < slack
        assert abs((column[1:] == column[:-1]).sum() - 2000) < slack
