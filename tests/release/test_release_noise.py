"""One harness for the noise of every release path, and wrong noises that it must refuse."""

import math
from pathlib import Path

import numpy as np
import pytest
from mpmath import mp
from path import DELTA, delta_of
from paths import PATHS
from residuals import FALSE_ALARM, faults
from scipy import stats

from dpsumm.ensemble.about import ABOUT as VOTES
from dpsumm.kernels.noise import discrete_laplace, rounded_normal
from dpsumm.privacy import Approximate, Gaussian, Ledger
from dpsumm.privacy.release import annex, noise
from dpsumm.summary.about import ABOUT as POINTS
from dpsumm.vertical.about import ABOUT as ROWS

RUNS, NUMBERS = 40, 5_000
EACH = [(path, n) for path in PATHS for n in path.records]
IDS = [f"{path.name}, {n} records" for path, n in EACH]
LARGEST = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)


def of_runs(path, n, rng, epsilon=None, runs=None, numbers=NUMBERS):
    """Residuals of several runs over the same records, and the noise that is due.

    By default of so many that wrong noise of any kind below shows: a miss in 10**6 or fewer.
    """
    *_, made = growing(path, n, rng, epsilon, runs, numbers)
    return made


def growing(path, n, rng, epsilon=None, runs=None, numbers=NUMBERS):
    """Yield what `of_runs` returns, and before it that of every earlier run on."""
    seed, residuals = int(rng.integers(2**62)), []
    while not residuals or len(residuals) < runs:
        left = path.run(np.random.default_rng(seed), epsilon or path.epsilon, n)
        residuals.append(left.residuals)
        runs = runs or max(RUNS, -(-numbers // len(left.residuals)))
        yield np.array(residuals), left


@pytest.mark.parametrize(("path", "n"), EACH, ids=IDS)
def test_what_left_is_exact_but_for_noise_as_charged(path, n, rng):
    residuals, left = of_runs(path, n, rng)
    assert faults(residuals, left.stds) == {}


@pytest.mark.parametrize(
    ("path", "n"),
    [one for one in EACH if one[0].of_records],
    ids=lambda one: getattr(one, "name", one),
)
def test_under_next_to_no_noise_it_is_exact(path, n, rng):
    """A record that counts twice, or not at all, stands out of small noise at once."""
    residuals, left = of_runs(path, n, rng, epsilon=3e4, runs=3)
    assert (np.abs(residuals) <= 8 * left.stds + 1).all()


@LARGEST
def test_the_ledgers_are_charged_for_it(path, rng):
    _, left = of_runs(path, path.records[-1], rng, runs=1)
    for whose, mu in left.mu.items():
        charges = left.charges[whose]
        assert all(isinstance(charge.event, Gaussian) for charge in charges)
        charged = sum(c.count / mp.mpf(c.event.noise_multiplier) ** 2 for c in charges)
        assert mu * (1 - 1e-5) <= mp.sqrt(charged) <= mu * (1 + 1e-6), whose  # six digits
        with Ledger(delta=DELTA) as book:
            book.release("k", charges, lambda: b"")
            epsilon, _ = book.spent(charges[0].protected)
        assert delta_of(mp.sqrt(charged), epsilon) <= DELTA
        assert delta_of(mp.sqrt(charged), epsilon * (1 - 1e-6)) > DELTA * (1 - 1e-3)
    if path.charged and not left.mu:
        (charge,) = left.charges["consumer"]
        assert charge.event == Approximate(path.epsilon, DELTA)


# --- wrong noises -------------------------------------------------------------------------------


def less(std, size, seed=None):
    return rounded_normal(std * 0.5**0.5, size, seed)


def more(std, size, seed=None):
    return rounded_normal(std * 2**0.5, size, seed)


def tiled(std, size, seed=None):
    return np.resize(rounded_normal(std, -(-size // 2), seed), size)


def turned(std, size, seed=None):
    """Half of the noise, then the same with every other sign turned."""
    half = rounded_normal(std, -(-size // 2), seed)
    return np.concatenate([half, half * np.where(np.arange(len(half)) % 2, -1, 1)])[:size]


def one_for_all(std, size, seed=None):
    return np.full(size, rounded_normal(std, 1, seed)[0])


def from_a_fixed_seed(std, size, seed=None):
    return rounded_normal(std, size, 7)


def a_tenth_without(std, size, seed=None):
    return rounded_normal(std, size, seed) * (np.arange(size) % 10 > 0)


def even(std, size, seed=None):
    return rounded_normal(std, size, seed) // 2 * 2


def cut(std, size, seed=None):
    drawn = rounded_normal(std, size, seed)
    while (far := np.abs(drawn) > 4 * std).any():
        drawn[far] = rounded_normal(std, int(far.sum()), seed)
    return drawn


def clipped(std, size, seed=None):
    far = int(4 * std) + 1
    return np.clip(rounded_normal(std, size, seed), -far, far)


def laplace(std, size, seed=None):
    return discrete_laplace(std / math.sqrt(2), size, seed)


WRONG = [less, more, tiled, turned, from_a_fixed_seed, a_tenth_without, even, laplace]


@LARGEST
@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_noise_is_refused_on_every_path(path, wrong, rng, monkeypatch):
    monkeypatch.setattr(noise, "rounded_normal", wrong)
    monkeypatch.setattr(annex, "rounded_normal", wrong)
    if wrong is even and path.name.startswith("private model's slope"):
        pytest.skip("its bits are below those of the weights")
    for some, left in growing(path, path.records[-1], rng):
        if len(some) in (8, 20, 80) and faults(some, left.stds):
            return  # most wrong noises show soon
    assert faults(some, left.stds)


@pytest.mark.parametrize("wrong", [*WRONG, cut, clipped, one_for_all, None])
def test_the_sampler_itself(wrong):
    std = 1e4
    draws = np.array([(wrong or rounded_normal)(std, 25_000) for _ in range(40)])
    assert bool(faults(draws, std)) == (wrong is not None)


@pytest.mark.parametrize("std", [40.0, 2.0**33])
def test_the_sampler_at_other_widths(std):
    assert faults(np.array([rounded_normal(std, 25_000) for _ in range(8)]), std) == {}


def test_two_numbers_that_share_a_part_of_their_noise_are_found():
    """As two tables in which one owner's noise is the same, beside different noise of peers."""
    draws = np.array([rounded_normal(1000.0, 43) for _ in range(300)])
    assert faults(draws, 1000.0) == {}
    draws[:, 31] = np.rint((draws[:, 31] + draws[:, 5]) / math.sqrt(2))
    assert list(faults(draws, 1000.0)) == ["two share noise"]


def test_calls_are_independent():
    """The first draw of a call is none that was drawn before."""
    kept = [0]

    def linked(std, size):
        drawn = rounded_normal(std, size)
        drawn[0], kept[0] = kept[0], drawn[-1]
        return drawn

    for draw, honest in ((rounded_normal, True), (linked, False)):
        draws = np.array([draw(1000.0, 50) for _ in range(100)])
        assert (faults(draws, 1000.0) == {}) == honest


def missed(share, numbers):
    """Chance that the look at all squares together lets noise of this share of the width pass."""
    low, high = stats.chi2.ppf(FALSE_ALARM / 2, numbers), stats.chi2.isf(FALSE_ALARM / 2, numbers)
    return stats.chi2.cdf(high / share**2, numbers) - stats.chi2.cdf(low / share**2, numbers)


@pytest.mark.parametrize("share", [0.9, 1.1])
def test_a_tenth_is_seen_in_wide_releases(share, rng, monkeypatch):
    def off(std, *given):
        return rounded_normal(share * std, *given)

    monkeypatch.setattr(noise, "rounded_normal", off)
    # The look is at numbers alone: a few paths show its power for all.
    for path in (PATHS[0], PATHS[4], next(p for p in PATHS if p.name.startswith("rows"))):
        residuals, left = of_runs(path, path.records[0], rng, numbers=7_000)
        assert missed(share, residuals.size) < 1e-8
        assert "scale" in faults(residuals, left.stds), path.name


def test_right_noise_is_let_through(seed):
    """Each look by itself, over many sets: none is near its limit too often."""
    rng = np.random.default_rng(seed)
    for runs, numbers in ((8, 12), (8, 300), (40, 12), (40, 300)):
        for _ in range(40):
            draws = np.rint(rng.normal(0, 500, (runs, numbers))).astype(np.int64)
            assert faults(draws, 500.0) == {}


# --- nothing is left out ------------------------------------------------------------------------

# What is charged and is no noisy sum, and the test that looks at its law.
ELSEWHERE = {
    "request bits": "tests/papers/test_requests.py",
}


def test_every_kind_of_charge_has_a_path():
    here = {begins for path in PATHS for begins in path.charged}
    for claim in (claim for about in (POINTS, VOTES, ROWS) for claim in about.claims):
        assert any(claim.begins.startswith(one) for one in here | ELSEWHERE.keys()), claim.begins
    for test in ELSEWHERE.values():
        assert (Path(__file__).parents[2] / test).is_file()
