"""The private median: sensitivity of its scores, law of its choice, cost, use."""

import itertools
import math

import numpy as np
import pytest

import dpsumm
from dpsumm import RBF, PrivateMedian
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy import Ledger, Seeded
from dpsumm.privacy.events import BoundedRange
from dpsumm.privacy.release import annex
from dpsumm.summary.kernel import _EXPONENTS, median_squared_distance
from helpers.chance import FALSE_ALARM
from reference import laws

EXPONENTS = np.array(_EXPONENTS)


@pytest.fixture
def scores_of(monkeypatch):
    """The integer scores that a draw hands to the exponential mechanism, and its epsilon."""
    seen = []

    def spy(scores, epsilon, seed=None):
        seen.append((scores.copy(), epsilon))
        return 0

    monkeypatch.setattr(annex, "exponential_choice", spy)

    def scores(target, epsilon=1.0, seed=7):
        PrivateMedian._draw(target, epsilon, seed)
        return seen[-1]

    return scores


def slow_scores(squared):
    """The definition: minus the least 2 * (number of pairs to move) for an octave to hold it."""
    pairs = len(squared)
    scores = []
    for e in _EXPONENTS:
        below = 0 if e == EXPONENTS[0] else sum(s <= 2.0 ** (e - 1) for s in squared)
        up_to = sum(s <= 2.0**e for s in squared)
        scores.append(-max(0, 2 * below - pairs, pairs - 2 * up_to))
    return np.array(scores)


def test_scores_are_their_definition_and_best_where_the_median_is(scores_of, rng):
    for m in (2, 3, 10, 101):
        target = rng.normal(size=(m, 3)) * 2.0 ** rng.uniform(-8, 12, (m, 1))
        scores, epsilon = scores_of(target, 0.8)
        assert epsilon == 0.2
        assert scores.dtype == np.int64
        order = np.random.default_rng(7).permutation(m)[: m // 2 * 2]
        squared = np.square(target[order[::2]] - target[order[1::2]]).sum(axis=1)
        np.testing.assert_array_equal(scores, slow_scores(squared))
        best = int(np.argmax(scores))
        assert 2.0 ** (EXPONENTS[best] - 1) <= np.median(squared) * (1 + 1e-12)


def test_one_replaced_record_moves_a_score_by_at_most_two_and_two_is_reached(scores_of, rng):
    """Brute force, the same random pairs in both worlds."""
    largest = 0
    for _ in range(400):
        m = int(rng.integers(2, 14))
        target = rng.choice([0.0, 1.0, 3.0, 1e-9, 1e6, -40.0], (m, 2))
        neighbour = target.copy()
        neighbour[rng.integers(m)] = rng.choice([0.0, 2.0, 1e8, 1e-4], 2)
        pairing = int(rng.integers(2**31))
        a, b = (scores_of(t, seed=pairing)[0] for t in (target, neighbour))
        largest = max(largest, int(np.abs(a - b).max()))
    assert largest == 2


def test_all_records_are_paired_at_random_not_by_their_order(scores_of):
    """In a sorted table one new value would shift all pairs."""
    target = np.arange(64.0)[:, None] ** 2
    seen = {tuple(scores_of(target, seed=seed)[0]) for seed in range(30)}
    assert len(seen) > 5


def pairings(m):
    """All ways to form m // 2 pairs, equally likely."""
    orders = itertools.permutations(range(m), m // 2 * 2)
    return {
        frozenset(frozenset(pair) for pair in zip(order[::2], order[1::2], strict=True))
        for order in orders
    }


def exact_law(target, epsilon):
    """Chances of the octaves: over all pairings, the exponential mechanism."""
    chances = np.zeros(len(EXPONENTS))
    ways = pairings(len(target))
    for way in ways:
        left, right = zip(*(tuple(pair) for pair in way), strict=True)
        squared = np.square(target[list(left)] - target[list(right)]).sum(axis=1)
        weight = np.exp(epsilon / 4 * slow_scores(squared))
        chances += weight / weight.sum() / len(ways)
    return chances


def test_the_choice_follows_the_exponential_mechanism_and_the_test_sees_another_epsilon():
    target = np.array([[0.0], [0.1], [3.0], [50.0], [51.0]])
    epsilon = 6.0
    draws = [PrivateMedian._draw(target, epsilon, None) for _ in range(20_000)]
    counts = np.bincount(draws, minlength=len(EXPONENTS))
    assert laws.fits(counts, exact_law(target, epsilon), FALSE_ALARM)
    for wrong in (0.75, 1.33):
        assert not laws.fits(counts, exact_law(target, epsilon * wrong), FALSE_ALARM)


def test_the_law_of_neighbours_keeps_its_promise_exactly():
    """No sampling: exact laws of both worlds, the worst octave."""
    base = np.array([[0.0], [0.1], [3.0], [50.0], [51.0], [-7.0]])
    worst = 0.0
    for row, value in itertools.product(range(6), (0.0, 1e4, 0.05, 60.0)):
        other = base.copy()
        other[row] = value
        ratio = np.log(exact_law(base, 2.0)) - np.log(exact_law(other, 2.0))
        worst = max(worst, float(np.abs(ratio).max()))
        assert ratio.max() - ratio.min() <= 2.0 + 1e-12  # bounded range
    assert 0.5 < worst <= 2.0


@pytest.mark.parametrize("columns", [2, 300])
def test_the_octave_is_near_the_median_on_concentrated_data(columns, rng):
    """Distances of high-dimensional data concentrate: the answer must not be far off for it."""
    # A wrong octave (beyond the quartiles) has probability 51 exp(-0.2 * 1000 / 8) < 1e-9.
    target = rng.uniform(0, 1, (2000, columns)).astype(np.float32)
    a, b = target[:1000].astype(float), target[1000:].astype(float)
    low, high = np.quantile(np.square(a - b).sum(axis=1), [0.15, 0.85])
    for _ in range(3):
        with Ledger() as book:
            kernel, left = PrivateMedian(0.2).choose(target, 1.0, book, None)
        assert left == 0.8
        assert low / 2 <= 1 / kernel.gamma <= high * 2
        ratio = kernel.gamma * median_squared_distance(target, "target")
        assert 0.2 < ratio < 5


def test_a_target_too_small_for_an_answer_is_refused_before_a_charge(rng):
    target = rng.normal(size=(100, 2))
    with Ledger() as book:
        with pytest.raises(InvalidParameterError, match=r"needs a target of \d+ records"):
            PrivateMedian(0.2).choose(target, 1.0, book, None)
        assert book.charges() == ()
    owners = [rng.normal(size=(50, 2)) for _ in range(2)]
    with pytest.raises(InvalidParameterError, match="gamma"):
        dpsumm.summarize(owners, target, size=5)
    # The bound it promises: one in a hundred.
    needed = math.ceil(8 * math.log(100 * 51) / 0.5)
    PrivateMedian(0.5).check(2 * needed, 1.0)
    with pytest.raises(InvalidParameterError):
        PrivateMedian(0.5).check(2 * needed - 2, 1.0)
    assert 51 * math.exp(-0.5 * needed / 8) <= 0.01


def test_it_is_charged_once_and_repeated_on_resuming(rng, tmp_path):
    target = rng.normal(size=(800, 2))
    kernels = []
    Ledger.create(tmp_path / "books").close()
    for _ in range(2):
        with Ledger(tmp_path / "books", run="r") as book:
            kernels.append(PrivateMedian(0.25).choose(target, 1.0, book, None))
            assert [c.event for c in book.charges()] == [BoundedRange(0.25)]
    assert kernels[0] == kernels[1]
    with Ledger() as book:
        PrivateMedian(0.25).choose(target, 1.0, book, 5)
        assert [c.event for c in book.charges()] == [Seeded()]


@pytest.mark.parametrize("protocol", [dpsumm.Offers(n_features=32), dpsumm.Auction(n_features=8)])
def test_bandwidth_and_release_together_stay_in_the_budget(protocol, rng):
    owners = [rng.normal(size=(50, 2)) for _ in range(2)]
    target = rng.normal(size=(800, 2))
    made = dpsumm.summarize(owners, target, size=4, protocol=protocol, epsilon=1.5)
    target_charges = [c for c in made.privacy.charges if c.protected.value == "target"]
    assert len(target_charges) == 2
    assert 1.2 < made.privacy.epsilon() <= 1.5
    assert math.log2(made.gamma) % 1 == pytest.approx(0.5)


def test_public_and_given_bandwidths_cost_nothing(rng):
    owners = [rng.normal(size=(50, 2)) for _ in range(2)]
    for kernel in (RBF(0.3), RBF.from_public(rng.normal(size=(50, 2))), RBF.for_unit_box(2)):
        made = dpsumm.summarize(owners, rng.normal(size=(60, 2)), size=4, kernel=kernel)
        assert len(made.privacy.charges) == 1
        assert made.gamma == kernel.gamma


def test_baselines_keep_their_bandwidth_to_themselves(rng):
    """Pool takes the plain median of the target; no message may carry it."""
    owners = [rng.normal(size=(50, 2)) for _ in range(2)]
    target = rng.normal(size=(60, 2))
    made = dpsumm.summarize(owners, target, size=4, protocol=dpsumm.Pool())
    assert made.privacy.charges == ()
    assert made.gamma == 1 / median_squared_distance(target, "target")
