"""What an owner offers: herded points and points drawn among those the target has room for."""

from fractions import Fraction

import numpy as np
import pytest

import dpsumm
from dpsumm import kernels
from dpsumm.data.table import read_table
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy.ledger import Ledger
from dpsumm.summary.protocols.messages import FeatureMap, OfferRequest
from dpsumm.summary.protocols.owner import Owner, offers
from dpsumm.summary.protocols.wire import decode, encode
from dpsumm.summary.release import Release
from helpers import transcripts

GAMMA = 0.2


def draws():
    return np.random.default_rng(0)


def request(mass, fine_mass, spread, at_least, at_most, released=0):
    features = FeatureMap(gamma=GAMMA, n_columns=3, n_features=4, seed=0)
    return OfferRequest(
        features,
        Release(np.full(4, 2**20 * released), 1),
        mass,
        fine_mass,
        spread,
        at_least,
        at_most,
    )


@pytest.fixture
def data(rng):
    points = rng.normal(0, 1, (400, 3))
    target = rng.normal(0.7, 0.7, (200, 3))
    return points, kernels.kernel_means(points, target, GAMMA)


def herded(data, mass, at_least, at_most):
    return kernels.herd(*data, GAMMA, mass, at_least, at_most).rows


@pytest.mark.parametrize("spread", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize(("at_least", "at_most"), [(0, 30), (10, 10), (1, 1), (350, 400), (5, 900)])
def test_offers_are_different_points_within_the_bounds(data, spread, at_least, at_most):
    picked = offers(*data, request(0.04, 0.01, spread, at_least, at_most), draws())
    assert len(set(picked)) == len(picked)
    assert min(at_least, 400) <= len(picked) <= min(at_most, 400)


def test_without_spread_all_are_herded(data):
    picked = offers(*data, request(0.04, 0.01, 0.0, 3, 20), draws())
    assert picked.tolist() == herded(data, 0.04, 3, 20).tolist()


def test_half_are_the_best_of_the_coarse_herding_and_half_come_from_the_fine_one(data):
    picked = offers(*data, request(0.04, 0.01, 0.5, 2, 20), draws())
    coarse = herded(data, 0.04, 2, 10).tolist()
    assert picked[: len(coarse)].tolist() == coarse
    assert len(picked) == 20
    assert set(picked[len(coarse) :]) <= set(herded(data, 0.01, 2, 150)) - set(coarse)


def test_the_drawn_half_is_uniform(data):
    fine = herded(data, 0.01, 0, 150)
    counts = np.zeros(400)
    for seed in range(2000):
        picked = offers(*data, request(0.04, 0.01, 1.0, 0, 20), np.random.default_rng(seed))
        counts[picked] += 1
    assert set(np.flatnonzero(counts)) == set(fine)
    expected = 2000 * 20 / len(fine)  # a hypergeometric count each; 6 sigma
    assert np.abs(counts[fine] - expected).max() < 6 * np.sqrt(expected)


def test_the_same_release_gives_the_same_offers(data):
    owner, again = (Owner(read_table(data[0], name="a")) for _ in range(2))
    one, same, other = (
        one.answer(request(0.04, 0.01, 1.0, 0, 20, released)).rows.tolist()
        for one, released in ((owner, 7), (again, 7), (again, 8))
    )
    assert one == same == owner.answer(request(0.04, 0.01, 1.0, 0, 20, 7)).rows.tolist()
    assert one != other


def test_tiny_masses_ask_for_no_more_than_there_is(data):
    assert len(offers(*data, request(1e-300, 1e-300, 0.5, 0, 2**40), draws())) == 400


@pytest.mark.parametrize("wrong", [-0.1, 1.1, np.nan, True, "a", None, 1j, Fraction(1, 3), [0.1]])
def test_spread_is_a_share(wrong):
    with pytest.raises(InvalidParameterError, match="spread"):
        dpsumm.Offers(spread=wrong)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("parsimony", "4"),
        ("parsimony", 1e300),
        ("weight", Fraction(3, 2)),
        ("weight", np.array([1.0, 2.0])),
        ("at_most", 10**20),
        ("at_least", 2**62),
    ],
)
def test_what_could_not_be_sent_is_refused_before_anything_is_charged(name, wrong):
    with pytest.raises(InvalidParameterError, match=name):
        dpsumm.Offers(**{name: wrong})


def test_numbers_of_numpy_can_be_sent(rng):
    protocol = dpsumm.Offers(
        spread=np.float32(0.3), parsimony=np.int64(3), weight=np.float32(1), at_most=np.int64(9)
    )
    with Ledger() as book:
        setting = transcripts.setting_of(rng.normal(size=(60, 2)), {"a": 50, "b": 50}, book)
        for request in protocol.curator(setting).send().values():
            assert decode(encode(request)).spread == np.float32(0.3)
