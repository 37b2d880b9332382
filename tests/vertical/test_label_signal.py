"""How much signal a noisy table of the label has, which sets how strongly its weights shrink."""

import numpy as np
import pytest

import dpsumm
from dpsumm.vertical.label_fit import signal_of

RECORDS, CODES, STD = 1_000_000, 40, 300.0


def table(classes, spread, rng):
    """Noisy counts of codes whose log-odds differ with this standard deviation."""
    odds = np.log(classes) + rng.normal(0, spread, (CODES, len(classes)))
    shares = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
    counts = RECORDS * rng.dirichlet(np.full(CODES, 5.0))[:, None] * shares
    return counts + rng.normal(0, STD, counts.shape)


def estimates(classes, spread, rng, n=200):
    """Signals of so many tables."""
    classes = np.array(classes)
    expected, variance = np.tile(classes, (CODES, 1)), np.full(CODES, STD**2)
    one = np.zeros(CODES, np.int64)
    return np.array(
        [signal_of(table(classes, spread, rng), variance, expected, one) for _ in range(n)]
    )


@pytest.mark.parametrize("classes", [(0.5, 0.5), (0.97, 0.03), (0.7, 0.2, 0.07, 0.03)])
@pytest.mark.same_draws
def test_the_signal_is_that_of_log_odds_however_rare_a_class(classes, rng):
    found = estimates(classes, 0.3, rng)
    assert 0.5 * 0.3**2 < found.mean() < 1.3 * 0.3**2


@pytest.mark.same_draws
def test_noise_alone_has_hardly_any_signal(rng):
    found = estimates((0.9, 0.1), 0.0, rng)
    assert (found > 0).mean() < 0.3
    assert found.mean() < 0.02 * estimates((0.9, 0.1), 0.5, rng).mean()


def test_a_code_that_is_all_of_its_block_has_no_signal_of_its_own(rng):
    """Its expected shares are its own, up to noise."""
    counts = table(np.array([0.9, 0.1]), 1.0, rng)
    shares = counts / counts.sum(axis=1, keepdims=True)
    found = signal_of(counts, np.full(CODES, STD**2), shares, np.arange(CODES))
    assert found == 0


def test_one_class_has_no_signal():
    found = signal_of(np.full((3, 1), 5.0), np.ones(3), np.ones((3, 1)), np.zeros(3, np.int64))
    assert found == 0


def ill(n, rng):
    """Age, a dose and a day that tell nothing, and an illness of 8 in 100 that goes with age."""
    age, dose = rng.integers(20, 90, n), rng.normal(50, 10, n).clip(0, 100)
    has = rng.random(n) < 1 / (1 + np.exp(7.8 - 0.08 * age))
    return np.stack([age, dose], axis=1), np.stack([rng.integers(0, 900, n), has], axis=1)


@pytest.mark.same_draws
def test_a_rare_label_goes_with_what_predicts_it(rng):
    """A column without signal must not outweigh one that has some."""
    clinic, registry = ill(12_000, rng)
    new = np.hstack(ill(20_000, rng))
    whole = {"whole": True}
    for seed in range(3):
        made = dpsumm.synthesize(
            {"clinic": clinic, "registry": registry},
            schema={
                "clinic": {"age": whole | {"bounds": (20, 90)}, "dose": (0, 100)},
                "registry": {"day": whole | {"bounds": (0, 900)}, "ill": [0, 1]},
            },
            label="ill",
            seed=seed,
        )
        risk = made.label_model.predict_proba(new[:, :3])[:, 1]
        by_decade = [risk[new[:, 0] // 10 == decade].mean() for decade in range(2, 9)]
        assert by_decade[-1] > 4 * by_decade[0]
        by_day = [risk[new[:, 2] // 100 == hundred].mean() for hundred in range(9)]
        assert max(by_day) < 2 * min(by_day)
