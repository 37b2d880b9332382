"""The noise plan: golden numbers, every observer's figure, and the law of two rounded noises."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpsumm.privacy import accounting
from dpsumm.privacy.events import Gaussian
from dpsumm.vertical.noise import JOINED, NoisePlan, _two_thirds, plan_noise

ADULT = ([16, 16, 7, 6, 5, 2, 41, 8, 14, 8, 6, 16, 2], [0] * 7 + [1] * 6)


def test_multipliers_of_one_release_are_the_known_ones():
    found = [accounting.gaussian_noise_multiplier(e, 1e-5) for e in (0.5, 1, 2, 4)]
    np.testing.assert_allclose(found, [7.0318, 3.7306, 1.9938, 1.0812], atol=1e-4)


SMALL = ([2, 3, 2], [0, 0, 1])


@pytest.mark.parametrize(
    ("sizes", "owner_of", "label", "singles", "pairs", "mu"),
    [
        (*ADULT, 12, 52.218, (18.70827, 51.12308, 109.23375), (0.267229, 0.267178, 0.268051)),
        (*SMALL, None, 28.411644, (9.089, 9.089, 10.40431), (0.230187, 0.212517, 0.268051)),
    ],
    ids=["adult", "small"],
)
def test_golden_plans(sizes, owner_of, label, singles, pairs, mu):
    multiplier = accounting.gaussian_noise_multiplier(1, 1e-5)
    plan = plan_noise(sizes, owner_of, multiplier, label=label)
    stds = np.array(plan.pair_std)
    assert plan.single_std == pytest.approx(singles, rel=1e-5)
    assert (stds.min(), np.median(stds), stds.max()) == pytest.approx(pairs, rel=1e-5)
    assert [plan.mu(v) for v in (None, 0, 1)] == pytest.approx(mu, rel=1e-5)


def precision_by_hand(plan, observer, peer_knows):
    """Sum 2 / variance over what an observer does not know, table by table."""
    total = 0.0
    for j in plan.counted:
        total += 0 if plan.owner_of[j] == observer else 2 / plan.single_std**2
    for (i, j), std in zip(plan.pairs, plan.pair_std, strict=True):
        owners = {plan.owner_of[i], plan.owner_of[j]}
        if owners == {observer}:
            continue
        unknown = len(owners - {observer}) if peer_knows else 1
        total += 2 / (std**2 * unknown)
    return total


@given(st.integers(0, 2**32), st.floats(0.3, 5), st.booleans())
def test_nobody_is_above_the_budget_and_one_is_at_it(seed, multiplier, merged):
    rng = np.random.default_rng(seed)
    owners = int(rng.integers(2, 5))
    owner_of = sorted([*range(owners), *rng.integers(owners, size=4)])
    sizes = rng.integers(1, 30, size=len(owner_of))
    sizes[[owner_of.index(0), owner_of.index(1)]] = 5
    named = {(1, 2), (0, 1), (2, 3)} if seed % 2 else ()
    plan = plan_noise(sizes, owner_of, multiplier, label=0, named=named)
    if merged:
        fewer = np.maximum(1, np.minimum(sizes, rng.integers(2, 9, size=len(sizes))))
        plan = plan_noise(
            fewer, owner_of, multiplier, label=0, named=named,
            singles=(plan.counted, plan.single_std),
        )  # fmt: skip
    found = [plan.mu(v) for v in (None, *range(owners))]
    assert max(found) <= 1 / multiplier
    # Planned as if the analyst knew one noise, the noise may turn out so large that it does not.
    between = plan.joined and min(plan.pair_std, default=9) < JOINED * math.sqrt(2)
    if plan.pairs and not between:
        assert max(found) == pytest.approx(1 / multiplier, rel=1e-4)
    for observer, mu in zip((None, *range(owners)), found, strict=True):
        by_hand = precision_by_hand(plan, observer, plan.joined)
        assert mu**2 == pytest.approx(by_hand, rel=1e-12)


@given(st.integers(0, 2**32), st.floats(0.3, 5))
def test_two_owners_are_charged_the_budget_at_most_whatever_is_merged(seed, multiplier):
    rng = np.random.default_rng(seed)
    owner_of = sorted([0, 1, *rng.integers(2, size=4)])
    sizes = rng.integers(2, 30, size=6)
    first = plan_noise(sizes, owner_of, multiplier, label=0)
    merged = np.minimum(sizes, rng.integers(1, 9, size=6))
    plan = plan_noise(
        merged, owner_of, multiplier, label=0, singles=(first.counted, first.single_std)
    )
    for owner in (0, 1):
        assert max(first.mu_charged(owner), plan.mu_charged(owner)) <= 1 / multiplier


@pytest.mark.parametrize("label", [0, None])
def test_named_pairs_get_half_of_what_the_label_leaves(label):
    """By twice the inverse variances, of columns at one owner and one at another."""
    plan = plan_noise([4] * 6, [0, 0, 0, 0, 0, 1], 2.0, first=0.2, label=label, named={(1, 2)})
    parts = {"label": 0.0, "named": 0.0, "others": 0.0}
    for pair, std in zip(plan.pairs, plan.pair_std, strict=True):
        kind = "label" if label in pair else "named" if pair == (1, 2) else "others"
        parts[kind] += 2 / std**2
    assert parts["named"] == pytest.approx(parts["others"], rel=1e-4)
    if label is not None:
        assert parts["label"] == pytest.approx(0.3 / 0.5 * 2 * parts["named"], rel=1e-4)
    every = {(i, j) for i in range(6) for j in range(i)}
    every = {(j, i) for i, j in every}
    alone = plan_noise([4] * 6, [0, 0, 0, 0, 0, 1], 2.0, first=0.2, named=every)
    usual = plan_noise([4] * 6, [0, 0, 0, 0, 0, 1], 2.0, first=0.2)
    assert alone.pair_std == usual.pair_std


def test_one_of_three_owners_may_be_charged_more_than_anybody_learns():
    """Of nearly all tables of two owners one is this one's, and it has a table of its own."""
    plan = plan_noise([4, 4, 11, 11], [0, 0, 1, 2], 2.0, first=1e-3, label=0, to_label=0.995)
    assert plan.mu_charged(0) > 1.1 * max(plan.mu(v) for v in (None, 0, 1, 2))


def test_little_noise_is_charged_as_if_one_noise_were_known():
    multiplier = accounting.gaussian_noise_multiplier(4, 0.1)
    plan = plan_noise([2, 3, 2], [0, 0, 1], multiplier)
    assert min(plan.pair_std) < JOINED
    assert not plan.joined
    # One table across, one within: the analyst then learns what nobody else does not.
    assert plan.mu(None) == pytest.approx(1 / multiplier, rel=1e-4)


def rounded_normal(std, k):
    return stats.norm.cdf((k + 0.5) / std) - stats.norm.cdf((k - 0.5) / std)


@pytest.mark.parametrize("std", [0.4, 0.7, 1.0, 1.4])
def test_two_rounded_normals_are_one_normal_and_a_uniform_number_rounded(std):
    """The claim of JOINED: the distance falls as exp(-pi^2 std^2), 3e-39 at std 3."""
    k = np.arange(-60, 61)
    two = np.convolve(rounded_normal(std, k), rounded_normal(std, k), "same")
    # rint(U + N(0, 2 std^2)): the mean over U of the rounded normal, by Gauss-Legendre.
    nodes, weights = np.polynomial.legendre.leggauss(60)
    wide = std * math.sqrt(2)
    shifted = [stats.norm.cdf((k[:, None] + side - nodes / 2) / wide) for side in (0.5, -0.5)]
    one = (shifted[0] - shifted[1]) @ weights / 2
    distance = np.abs(two - one).sum() / 2
    bound = math.exp(-(math.pi**2) * std**2)
    assert distance <= 2 * bound
    # The bound is no idle one: a triangle less, or one more, is far off.
    other = rounded_normal(wide, k)
    assert np.abs(two - other).sum() / 2 > 0.003
    assert two.sum() == pytest.approx(1)


@given(st.integers(1, 10**6))
def test_roots_are_exact_and_rise(n):
    root = _two_thirds(n)
    assert root == pytest.approx(n ** (2 / 3), rel=1e-8)
    assert all(a <= b for a, b in pairwise([root, _two_thirds(n + 1)]))


def law_of_a_cell(std, noises):
    """Return the privacy loss of one cell that moves by one, by the exact laws of integers."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    k = np.arange(-int(14 * std) - 3, int(14 * std) + 4)
    law, first = rounded_normal(std, k), int(k[0])
    if noises == 2:
        law, first = np.convolve(law, law), 2 * first
    law = law / law.sum()
    lower = {first + i: math.log(p) for i, p in enumerate(law.tolist()) if p > 1e-40}
    upper = {at + 1: chance for at, chance in lower.items()}
    return pld.from_two_probability_mass_functions(lower, upper, value_discretization_interval=2e-5)


@pytest.mark.slow
def test_the_analyst_learns_what_the_formula_says_by_the_exact_laws():
    """182 cells of Adult after a merge, two in each table, no approximation of the two noises."""
    sizes = [12, 14, 6, 6, 4, 2, 10, 6, 14, 6, 4, 13, 2]
    multiplier = accounting.gaussian_noise_multiplier(1, 1e-5)
    plan = plan_noise(sizes, ADULT[1], multiplier, label=12)
    laws = {(plan.single_std, 1): 2 * len(sizes)}
    for pair, std in zip(plan.pairs, plan.pair_std, strict=True):
        key = (std, 2 if plan.is_cross(pair) else 1)
        laws[key] = laws.get(key, 0) + 2
    assert sum(laws.values()) == 182
    total = None
    for (std, noises), count in laws.items():
        one = law_of_a_cell(std, noises).self_compose(count)
        total = one if total is None else total.compose(one)
    exact = total.get_epsilon_for_delta(1e-5)
    formula = accounting.compose([(Gaussian(1 / plan.mu(None)), 1)], 1e-5)
    assert formula == pytest.approx(0.98741, abs=2e-5)
    # The accountant rounds each of 182 losses up by at most 2e-5.
    assert formula - 1e-6 <= exact <= formula + 182 * 1e-5


def test_one_table_with_little_noise_parts_the_noises_of_all():
    """Only if all tables are wide do both noises of a cross table count as one."""
    pairs = ((0, 2), (1, 2))
    wide, mixed = (
        NoisePlan((2, 2, 2), (0, 0, 1), pairs, stds, 9.0, (0, 1, 2)) for stds in
        ((JOINED, 9.0), (JOINED - 0.1, 9.0))
    )  # fmt: skip
    assert wide.joined
    assert not mixed.joined
    singles = 3 * 2 / 9.0**2
    assert mixed.mu(None) ** 2 == pytest.approx(singles + sum(2 / std**2 for std in mixed.pair_std))
    assert wide.mu(None) ** 2 == pytest.approx(singles + sum(1 / std**2 for std in wide.pair_std))
