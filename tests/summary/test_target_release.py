"""The target's release: sensitivity by neighbours, the noise that is added, what is charged."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import dpsumm
from dpsumm import kernels
from dpsumm.errors import InvalidDataError, InvalidParameterError
from dpsumm.papers import Mwem
from dpsumm.privacy import Charge, Ledger, Protected, Pure, Seeded, Unit
from dpsumm.privacy import Gaussian as GaussianEvent
from dpsumm.privacy import release as kernel
from dpsumm.privacy.seeds import derived_seed
from dpsumm.summary.kernel import RBF
from dpsumm.summary.mechanisms import Exact, Gaussian
from dpsumm.summary.release import (
    LEVELS,
    SUMMARY,
    TARGET,
    Mechanism,
    Release,
    release,
)
from helpers.chance import FALSE_ALARM
from reference import laws

KINDS = [("paired", 1), ("phase", 2)]


def draw_map(rng, kind="paired", columns=3, n_features=16, gamma=0.3):
    return kernels.RandomFeatures(
        columns, n_features, gamma=gamma, seed=int(rng.integers(2**62)), kind=kind
    )


def squared_norm(steps):
    return sum(int(s) ** 2 for s in steps)


def send(mechanism, features, points, ledger, **more):
    given = {
        "key": "target",
        "message": "m",
        "protected": Protected.TARGET,
        "sensitivity": TARGET,
        "seed": None,
    }
    return release(mechanism, features, points, ledger=ledger, **{**given, **more})


# --- sensitivity ------------------------------------------------------------------------------


@given(
    st.integers(0, 2**32),
    st.sampled_from(KINDS),
    st.sampled_from([np.float32, np.float64]),
    st.integers(1, 40),
    st.sampled_from([1e-6, 1.0, 1e3, 1e9]),
    st.sampled_from([2, 6, 64, 140]),
)
def test_neighbours_differ_by_at_most_two_unit_vectors(seed, kind, dtype, n, spread, d):
    rng = np.random.default_rng(seed)
    features = draw_map(rng, kind[0], n_features=d)
    points = rng.normal(0, spread, (n, 3)).astype(dtype)
    neighbour = points.copy()
    neighbour[rng.integers(n)] = (rng.normal(size=3) * 10 ** rng.uniform(-9, 9)).astype(dtype)
    moved = features.sum_on_grid(points, LEVELS) - features.sum_on_grid(neighbour, LEVELS)
    assert squared_norm(moved) <= kind[1] * (2 * LEVELS) ** 2
    # Adding a record: half.
    added = (
        features.sum_on_grid(points, LEVELS) - features.sum_on_grid(points[1:], LEVELS)
        if (n > 1)
        else features.sum_on_grid(points, LEVELS)
    )
    assert squared_norm(added) <= kind[1] * LEVELS**2


@pytest.mark.parametrize("pairs", [1, 4, 16, 64])
def test_antipodal_records_reach_the_sensitivity(pairs, rng):
    # All frequencies 1: moving a record by pi turns every feature round.
    features = kernels.RandomFeatures.from_parts("paired", np.ones((pairs, 1)), np.empty(0))
    unchanged = rng.normal(size=(9, 1))
    sums = [features.sum_on_grid(np.vstack([unchanged, [[x]]]), LEVELS) for x in (0.0, math.pi)]
    distance = math.sqrt(squared_norm(sums[0] - sums[1]))
    assert 2 * LEVELS * (1 - 1e-5) <= distance <= 2 * LEVELS
    # So a mechanism that counts one vector for a replaced record would be wrong.
    assert distance > 1.99 * LEVELS


def test_phase_features_reach_root_two_times_that():
    features = kernels.RandomFeatures.from_parts("phase", np.ones((8, 1)), np.zeros(8))
    assert features.max_norm == math.sqrt(2)
    sums = [features.sum_on_grid(np.array([[x]]), LEVELS) for x in (0.0, math.pi)]
    distance = math.sqrt(squared_norm(sums[0] - sums[1]))
    assert 2 * math.sqrt(2) * LEVELS * (1 - 1e-5) <= distance <= 2 * math.sqrt(2) * LEVELS


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_absurd_records_stay_in_the_ball_or_are_refused(kind, dtype, rng):
    features = draw_map(rng, kind[0], n_features=140)
    limit = np.finfo(dtype).max
    for value in (limit, -limit, limit / 4, 1e30, 1e20, 1e15, -1e7, np.finfo(dtype).tiny):
        for row in ([value] * 3, [value, 0, 0], [value, -value, 1]):
            points = np.array([row], dtype=dtype)
            try:
                total = features.sum_on_grid(points, LEVELS)
            except InvalidParameterError:
                continue  # its angles overflow: refused
            assert squared_norm(total) <= kind[1] * LEVELS**2
    for value in (np.nan, np.inf, -np.inf):
        with pytest.raises((InvalidDataError, InvalidParameterError)):
            features.sum_on_grid(np.array([[value, 0, 0]], dtype=dtype), LEVELS)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_record_gives_the_same_integers_wherever_it_stands(dtype, rng):
    """Else one replaced record could move others' contributions too."""
    features = draw_map(rng, n_features=66)
    record = rng.normal(size=(1, 3)).astype(dtype)
    alone = features.sum_on_grid(record, LEVELS)
    for n in (1, 7, 63, 64, 300, 2049):
        others = rng.normal(size=(n, 3)).astype(dtype)
        rest = features.sum_on_grid(others, LEVELS)
        for place in {0, n // 2, n}:
            table = np.insert(others, place, record[0], axis=0)
            np.testing.assert_array_equal(features.sum_on_grid(table, LEVELS) - rest, alone)


# --- noise ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sensitivity", [TARGET, SUMMARY])
def test_the_noise_has_the_std_that_was_charged(kind, sensitivity, rng, monkeypatch):
    used = []
    honest = kernel.noise.rounded_normal

    def spy(noise_std, size, seed=None):
        used.append(noise_std)
        return honest(noise_std, size, seed)

    monkeypatch.setattr(kernel.noise, "rounded_normal", spy)
    with Ledger() as book:
        send(
            Gaussian(3.5),
            draw_map(rng, kind[0]),
            rng.normal(size=(5, 3)),
            book,
            sensitivity=sensitivity,
        )
        (charge,) = book.charges()
    moved = sensitivity.vectors * math.sqrt(kind[1]) * LEVELS
    assert used[0] / moved == pytest.approx(charge.event.noise_multiplier, rel=1e-15)
    assert charge.event == GaussianEvent(3.5)


def test_a_release_is_the_sum_plus_a_rounded_normal_and_the_test_sees_a_tenth(rng):
    features = draw_map(rng, n_features=2000)
    points = rng.normal(size=(4, 3))
    multiplier = 3.7306
    total = features.sum_on_grid(points, LEVELS)
    noise = []
    with Ledger() as book:
        for i in range(100):
            made = send(Gaussian(multiplier), features, points, book, key=f"k{i}")
            noise.append(made.steps - total)
    noise = np.concatenate(noise)
    noise_std = multiplier * 2 * LEVELS
    edges = np.floor(stats.norm.ppf(np.linspace(0.002, 0.998, 60)) * noise_std)
    assert laws.integer_fits(noise, laws.rounded_normal_cdf(noise_std), edges, FALSE_ALARM)
    for wrong in (0.9, 1.1):
        law = laws.rounded_normal_cdf(noise_std * wrong)
        assert not laws.integer_fits(noise, law, edges, FALSE_ALARM)
    # Independent between coordinates and between releases: no correlation, no repeated draw.
    table = noise.reshape(100, -1) / noise_std
    assert len(np.unique(noise)) > 0.95 * len(noise)
    for a, b in ((table[:, :-1], table[:, 1:]), (table[:-1], table[1:])):
        assert abs(float((a * b).sum())) < 5.3 * math.sqrt(a.size)


def test_a_fresh_key_draws_fresh_noise_and_an_old_one_none(rng):
    features, points = draw_map(rng), rng.normal(size=(4, 3))
    with Ledger() as book:
        a, b = (send(Gaussian(1.0), features, points, book, key=k).steps for k in "ab")
        assert (a != b).any()
        np.testing.assert_array_equal(send(Gaussian(1.0), features, points, book, key="a").steps, a)


# --- charges ----------------------------------------------------------------------------------


def run(rng, **more):
    owners = [rng.normal(size=(40, 3)) for _ in range(2)]
    given = {"size": 5, "kernel": RBF(0.3), "epsilon": 1.0, "delta": 1e-5}
    return dpsumm.summarize(owners, rng.normal(size=(50, 3)), **{**given, **more})


def test_offers_charge_the_analytic_gaussian_exactly(rng):
    privacy = run(rng).privacy
    (charge,) = privacy.charges
    assert charge.protected is Protected.TARGET
    assert charge.unit is Unit.REPLACE_RECORD
    assert charge.count == 1
    assert charge.event.noise_multiplier == 3.73064  # 3.730631632, rounded up
    assert 0.99999 < privacy.epsilon() <= 1.0
    assert privacy.epsilon(protected="owners") == 0


@dataclasses.dataclass(frozen=True)
class Laplaced(Mechanism):
    """A mechanism of a user's own: integer Laplace noise for the sum's L1 sensitivity."""

    epsilon: float
    dtype: type = np.int64

    def cost(self, sensitivity):
        return [(Pure(self.epsilon), 1)]

    def draw(self, given):
        d = given.features.n_features
        moved = given.sensitivity.vectors * given.features.max_norm * math.sqrt(d) * LEVELS
        noise = kernels.discrete_laplace(moved / self.epsilon, d, given.seed)
        total = given.features.sum_on_grid(given.points, LEVELS) + noise
        return Release(total.astype(self.dtype), given.count)


def test_a_mechanism_of_ones_own_is_charged_what_it_says(rng):
    privacy = run(rng, protocol=dpsumm.Offers(release=Laplaced(0.5))).privacy
    assert [c.event for c in privacy.charges] == [Pure(0.5)]
    assert privacy.epsilon() == pytest.approx(0.5)
    assert run(rng, protocol=dpsumm.Offers(release=Laplaced(0.5)), seed=3).privacy.seeded


def test_a_draw_that_is_no_release_is_refused_and_not_charged(rng):
    with Ledger() as book:
        with pytest.raises(InvalidParameterError, match=r"Laplaced\.draw must return a Release"):
            send(Laplaced(0.5, np.float64), draw_map(rng), rng.normal(size=(6, 3)), book)
        assert book.charges() == ()


def test_a_seeded_run_has_no_guarantee(rng):
    privacy = run(rng, seed=3).privacy
    assert [c.event for c in privacy.charges] == [Seeded()]
    assert privacy.epsilon() == math.inf
    assert privacy.seeded
    assert any("infinite" in s and "seed" in s for s in privacy.statements())


@pytest.mark.parametrize("mechanism", [Gaussian(2.0), Mwem(3, 0.1, 0.1), Exact()])
def test_a_seed_is_charged_as_infinite_for_every_mechanism_and_repeats(mechanism, rng):
    features, points = draw_map(rng), rng.normal(size=(6, 3))
    made = []
    for _ in range(2):
        with Ledger() as book:
            made.append(send(mechanism, features, points, book, seed=11).to_bytes())
            assert all(c.event == Seeded() for c in book.charges())
            assert book.charges()
    assert made[0] == made[1]
    assert derived_seed(11, "a") != derived_seed(11, "b")


def test_the_exact_mean_is_charged_as_infinite(rng):
    privacy = run(rng, protocol=dpsumm.Offers(release=Exact())).privacy
    assert privacy.epsilon() == math.inf
    assert any("exact mean" in s for s in privacy.statements())


def test_an_uncalibrated_gaussian_cannot_be_released(rng):
    with Ledger() as book:
        with pytest.raises(InvalidParameterError, match="noise_multiplier"):
            send(Gaussian(), draw_map(rng), rng.normal(size=(4, 3)), book)
        assert book.charges() == ()
    assert Gaussian(5.0).calibrated(1.0, 1e-5) == Gaussian(5.0)
    with pytest.raises(InvalidParameterError):
        Gaussian().calibrated(0.0, 1e-5)


def test_bytes_of_a_release_are_all_of_it(rng):
    made = Release(rng.integers(-(2**62), 2**62, 6), 9, rng.normal(size=6))
    back = Release.from_bytes(made.to_bytes(), 6, 9)
    np.testing.assert_array_equal(back.steps, made.steps)
    np.testing.assert_array_equal(back.state, made.state)
    np.testing.assert_allclose(back.mean, made.steps / (LEVELS * 9))


def test_the_charge_names_protected_party_and_public_sizes(rng):
    with Ledger() as book:
        send(Gaussian(2.0), draw_map(rng), rng.normal(size=(6, 3)), book)
        (charge,) = book.charges()
    assert isinstance(charge, Charge)
    assert "16 features" in charge.message
    assert "6 points" in charge.message
