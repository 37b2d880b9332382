"""What `learn` is compared with in the evidence: each baseline against a slow twin."""

import math

import numpy as np
import pytest
from evidence.ensemble import baselines
from evidence.ensemble.baselines import Held

from dpsumm.ensemble.students.bases import inside
from dpsumm.ensemble.students.spectral import Spectral
from dpsumm.ensemble.terms import Terms
from dpsumm.privacy.accounting import gaussian_noise_multiplier
from helpers.votes import one_hot


def held(rng, n_classes=3, n=60, n_parties=50):
    """Points on a line, of which every party knows the class."""
    points = np.sort(rng.uniform(-1, 1, (n, 1)), axis=0)
    places = np.minimum(((points[:, 0] + 1) * n_classes / 2).astype(int), n_classes - 1)
    votes = one_hot(places, n_classes) * n_parties
    terms = Terms.of(points, range(n_classes), n_parties)
    counts = votes[:, 1:] - votes[:, :1] if n_classes == 2 else votes
    return Held(terms, points, counts, points, places, votes, 1.0)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_answers_of_pate_have_the_noise_of_a_release_of_so_many_points(n_classes, rng):
    given = held(rng, n_classes)
    for n in (20, 50):
        votes = given.release(1.0, 1e-5, rng.permutation(60)[:n])
        unit = 2 if n_classes == 2 else math.sqrt(2)
        multiplier = gaussian_noise_multiplier(1.0, 1e-5)
        assert votes.noise_std == pytest.approx(multiplier * unit * math.sqrt(n))
        assert votes.counts.shape == (n, 1 if n_classes == 2 else n_classes)
    assert given.release(1.0, 1e-5).terms.n_points == 60


@pytest.mark.same_draws
@pytest.mark.parametrize("n_classes", [2, 3])
def test_pate_learns_from_its_answers_and_only_from_them(n_classes, rng):
    given = held(rng, n_classes)
    bases = Spectral(("linear", "features")).made(given.points)
    at = [basis.at(given.test) for basis in bases]
    found = baselines.pate(given, bases, at, 1000.0, 1e-5, rng)
    assert {int(name.split()[0]) for name in found} == {20, 50}
    assert max(found.values()) > 0.9
    noise = baselines.pate(given, bases, at, 1e-3, 1e-5, rng)
    assert np.mean(list(noise.values())) < 0.75


def test_averaged_parameters_are_the_parties_mean_no_longer_than_allowed(rng, monkeypatch):
    scored = []
    monkeypatch.setattr(Held, "accuracy", lambda self, scores: scored.append(scores) or 0.0)
    given = held(rng, 2)
    fitted = rng.normal(3, 2, (50, 2, 1))
    assert list(baselines.averaged(given, fitted, 1e4, 1e-5)) == [
        "length 1",
        "length 3",
        "length 10",
    ]
    x = inside(given.test, given.radius)
    for scores, length in zip(scored, (1.0, 3.0, 10.0), strict=True):
        norms = np.linalg.norm(fitted, axis=(1, 2), keepdims=True)
        mean = (fitted * np.minimum(1, length / norms)).mean(0)
        # Rows of x are no longer than 1: 8 standard deviations of the noise on a score.
        allowed = 8 * 2 * length / 50 * gaussian_noise_multiplier(1e4, 1e-5)
        np.testing.assert_allclose(scores, x @ mean, atol=allowed)
        assert allowed < 0.1 * np.abs(x @ mean).max()


def test_noise_on_averaged_parameters_covers_a_party_that_turns_round(rng, monkeypatch):
    drawn = []

    def nothing(std, size, seed):
        drawn.append(std)
        return np.zeros(size, dtype=np.int64)

    sums = []
    monkeypatch.setattr("dpsumm.privacy.release.noise.rounded_normal", nothing)
    monkeypatch.setattr(Held, "accuracy", lambda self, scores: sums.append(scores) or 0.0)
    given = held(rng, 3)
    given = Held(given.terms, np.eye(2), given.counts, np.eye(2), given.places, given.counts, 1.0)
    fitted = rng.normal(size=(50, 3, 3))
    for sign in (1, -1):
        fitted[0] = 100 * sign
        baselines.averaged(given, fitted, 1.0, 1e-5)
    multiplier = gaussian_noise_multiplier(1.0, 1e-5)
    # Of unit rows the scores' distance is the parameters', but for the constant's row.
    steps = 2**20
    for i, length in enumerate((1.0, 3.0, 10.0)):
        moved = np.linalg.norm(sums[i] - sums[i + 3]) * 50 / length
        assert moved <= 2.4
        assert drawn[i] == pytest.approx(2 * steps * multiplier)


@pytest.mark.same_draws
def test_the_published_method_is_the_papers_at_its_own_noise(rng):
    given = held(rng, 3)
    fitted = baselines.minimisers(given, [0.1])
    assert baselines.published(given, fitted, 1e6, rng)["lam 0.1"] > 0.6
    noisy = [baselines.published(given, fitted, 0.01, rng)["lam 0.1"] for _ in range(20)]
    assert np.mean(noisy) < 0.55
