"""The paper's student: golden minimisers, sensitivities, noise; and that it claims nothing."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from sklearn.naive_bayes import GaussianNB

from dpsumm.ensemble.students.bases import inside
from dpsumm.errors import InvalidParameterError
from dpsumm.papers import published
from dpsumm.papers.hamm import minimise, perturbation, sensitivity_of
from dpsumm.privacy import NonPrivate
from dpsumm.privacy.accounting import gaussian_noise_multiplier
from helpers.chance import FALSE_ALARM

ONE = np.ones((20, 1))


def solve(share, lam):
    share = np.atleast_1d(np.asarray(share, dtype=float))
    w, tau = minimise(ONE, np.tile(share, (20, 1)), lam)
    assert 0 < tau < 1e-8 * (1 + np.linalg.norm(w))
    return w.ravel()


def test_golden_logistic():
    assert solve(0.5, 1)[0] == pytest.approx(0, abs=1e-9)
    assert solve(0.6, 1)[0] == pytest.approx(0.0800085306, abs=1e-9)
    assert solve(1, 10)[0] - solve(0, 10)[0] == pytest.approx(0.0975614474, abs=1e-8)
    assert solve(1, 0.01)[0] - solve(0, 0.01)[0] == pytest.approx(6.71855, abs=1e-4)
    # Published, exact, and the cap at small lam.
    assert sensitivity_of(10, None, 2, exact=False) == pytest.approx(0.2)
    assert sensitivity_of(10, None, 2, exact=True) == pytest.approx(0.1)
    assert sensitivity_of(0.01, None, 2, exact=True) == pytest.approx(23.548200, abs=1e-5)
    assert sensitivity_of(0.01, None, 2, exact=False) == 200


def test_golden_softmax():
    a, b = solve([0.5, 0.3, 0.2], 1), solve([0.4, 0.4, 0.2], 1)
    np.testing.assert_allclose(a, [0.12422767, -0.024003, -0.10022467], atol=1e-7)
    np.testing.assert_allclose(b, [0.05033158, 0.05033158, -0.10066316], atol=1e-7)
    assert np.linalg.norm(a - b) == pytest.approx(0.10481629, abs=1e-7)
    assert np.linalg.norm(a - b) <= sensitivity_of(1, 10, 3, exact=True) < 0.1415


def test_golden_spectral_bound():
    """Of the statistic S = X'A/N; why noise on votes is shaped like X'X."""
    x = np.array([[0.6, 0.8], [0.6, -0.8], [1, 0], [0, 0.5]])
    assert np.linalg.norm(x, 2) / 2 == pytest.approx(0.65574385, abs=1e-8)
    most = max(np.linalg.norm(x.T @ v) / 4 for v in itertools.product((-1, 1), repeat=4))
    assert most == pytest.approx(0.58148517, abs=1e-8)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("majority", [False, True])
def test_no_party_moves_the_minimiser_by_more(n_classes, majority, rng):
    n_parties, lam = 5, 0.3
    worst = 0.0
    for _ in range(15):
        x = inside(rng.normal(size=(30, 2)), 1.0)
        assert (np.linalg.norm(x, axis=1) <= 1 + 1e-12).all()
        votes = np.eye(n_classes)[rng.integers(n_classes, size=(n_parties, 30))]
        other = votes.copy()
        other[0] = np.eye(n_classes)[rng.integers(n_classes, size=30)]
        found = []
        for held in (votes, other):
            shares = held.mean(0)
            if majority:
                shares = np.eye(n_classes)[shares.argmax(1)]
            found.append(minimise(x, shares[:, 1:] if n_classes == 2 else shares, lam)[0])
        worst = max(worst, float(np.linalg.norm(found[0] - found[1])))
    assert 0 < worst <= sensitivity_of(lam, None if majority else n_parties, n_classes, exact=True)


def test_objective_perturbation_beats_it_draw_by_draw(rng):
    """The theorem of docs/privacy/votes.md, for the same noise b."""
    x = inside(rng.normal(size=(100, 3)), 1.0)
    lam, targets = 0.05, rng.uniform(size=(100, 1))

    def value(w):
        z = (x @ w)[:, 0]
        return np.logaddexp(0, z).mean() - (z * targets[:, 0]).mean() + lam / 2 * (w * w).sum()

    best, _ = minimise(x, targets, lam)
    for _ in range(20):
        b = rng.normal(0, 0.05, best.shape)
        # S + b: as targets whose statistic is that.
        moved, _ = minimise(x, targets + x @ np.linalg.solve(x.T @ x / 100, b), lam)
        size = np.linalg.norm(b)
        assert np.linalg.norm(moved - best) <= size / lam + 1e-9
        assert value(moved) - value(best) <= size**2 / 2 / lam + 1e-9
        assert size**2 / 2 / lam <= value(best + b / lam) - value(best) + 1e-9


def test_the_noise_has_its_law(rng):
    drawn = np.array([perturbation((5, 2), 0.3, 2.0, None, rng) for _ in range(2000)])
    radius = np.linalg.norm(drawn, axis=(1, 2))
    assert stats.kstest(radius, "gamma", (10, 0, 0.15)).pvalue > FALSE_ALARM
    assert stats.kstest(radius, "gamma", (10, 0, 0.13)).pvalue < FALSE_ALARM
    assert abs((drawn / radius[:, None, None]).mean(0)).max() < 6 / math.sqrt(10 * 2000)
    normal = perturbation((4000,), 0.3, 2.0, 1e-5, rng) / gaussian_noise_multiplier(2, 1e-5) / 0.3
    assert stats.kstest(normal, "norm").pvalue > FALSE_ALARM


@pytest.fixture
def given(rng):
    x = rng.normal(size=(60, 30, 2))
    parties = [(points, (points[:, 0] > 0).astype(int)) for points in x]
    return {
        "parties": parties,
        "public_points": rng.normal(size=(500, 2)),
        "classes": [0, 1],
        "learner": GaussianNB(),
        "epsilon": 1000.0,
        "lam": 0.01,
    }


@pytest.mark.same_draws
@pytest.mark.parametrize("change", [{}, {"majority": True}, {"exact": True}, {"delta": 1e-5}])
def test_the_call(given, change, rng):
    made = published(**given, **change, seed=1)
    again = published(**given, **change, seed=1)
    assert (made.weights == again.weights).all()
    x = rng.normal(size=(400, 2))
    assert (made.predict(x) == (x[:, 0] > 0)).mean() > 0.8
    np.testing.assert_allclose(made.predict_proba(x).sum(1), 1)
    assert isinstance(made.event, NonPrivate)
    wanted = sensitivity_of(
        0.01,
        None if change.get("majority") else 60,
        2,
        exact=bool(change.get("exact")),
        tau=made.tau,
    )
    assert made.sensitivity == wanted


def test_several_classes(given, rng):
    parties = [(x, y + (x[:, 1] > 1)) for x, y in given["parties"]]
    made = published(**{**given, "parties": parties, "classes": [0, 1, 2]}, seed=0)
    assert made.weights.shape == (3, 3)
    assert made.predict_proba(rng.normal(size=(5, 2))).shape == (5, 3)


@pytest.mark.parametrize("change", [{"epsilon": 0}, {"lam": 0}, {"lam": 1e-9}, {"seed": -1}])
def test_what_is_refused(given, change):
    with pytest.raises(InvalidParameterError, match=next(iter(change))):
        published(**{**given, **change})
