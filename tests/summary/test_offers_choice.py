"""What an owner offers: a public number of its rows, some picked, the others drawn by the tilt."""

from fractions import Fraction

import numpy as np
import pytest

import dpsumm
from dpsumm import kernels
from dpsumm.data.marks import Marks
from dpsumm.data.table import read_table
from dpsumm.errors import InvalidParameterError
from dpsumm.papers import Mwem
from dpsumm.privacy.ledger import Ledger
from dpsumm.summary.mechanisms import Exact
from dpsumm.summary.protocols.features import features_of
from dpsumm.summary.protocols.messages import FeatureMap, OfferRequest
from dpsumm.summary.protocols.owner import Owner, offers
from dpsumm.summary.protocols.wire import decode, encode
from dpsumm.summary.release import LEVELS, Release
from helpers import transcripts

GAMMA = 0.2


def request(points, target, count=20, spread=0.5, noise=0.01, d=256, coins=0):
    """A release of the target with some noise, of which the coins are the test's own."""
    features = FeatureMap(gamma=GAMMA, n_columns=points.shape[1], n_features=d, seed=0)
    mean = features_of(features).transform(target).mean(axis=0)
    mean = mean + noise * np.random.default_rng(coins).normal(size=d)
    steps = np.rint(mean * len(target) * LEVELS).astype(np.int64)
    return OfferRequest(features, Release(steps, len(target)), noise, count, spread)


def offered(points, asked, name="a"):
    return Owner(read_table(points, name=name)).answer(asked).rows


@pytest.fixture
def data(rng):
    return rng.normal(0, 1, (400, 3)), rng.normal(0.7, 0.7, (200, 3))


@pytest.mark.parametrize("spread", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("count", [1, 2, 31, 399, 400, 2**40])
def test_the_number_is_the_one_asked_for_or_all(data, spread, count):
    rows = offered(data[0], request(*data, count, spread))
    assert len(set(rows)) == len(rows) == min(count, 400)


def test_without_spread_all_are_the_greedys(data):
    asked = request(*data, spread=0.0)
    scores = features_of(asked.feature_map).scores(data[0], asked.target.mean)
    greedy = kernels.greedy(data[0], scores, GAMMA, 20).rows
    assert offered(data[0], asked).tolist() == sorted(greedy)


def test_half_are_the_greedys_and_then_come_the_first_to_arrive(rng, data):
    asked = request(*data)
    scores = features_of(asked.feature_map).scores(data[0], asked.target.mean)
    marks = Marks(np.arange(400), scores, rng.integers(0, 50, 400).astype(float))
    picked = offers(data[0], marks, asked, 21)
    greedy = kernels.greedy(data[0], scores, GAMMA, 11).rows.tolist()
    assert picked[:11].tolist() == greedy
    others = sorted((marks.keys[row], row) for row in range(400) if row not in greedy)
    assert picked[11:].tolist() == [row for _, row in others[:10]]


@pytest.mark.same_draws
def test_drawn_rows_are_like_the_target_unless_noise_hides_it(data):
    points, target = data

    def chances(noise):
        counts = np.zeros(400)
        for coins in range(150):
            counts[offered(points, request(points, target, 20, 1.0, noise, coins=coins))] += 1
        return counts / 150

    near = np.linalg.norm(points - 0.7, axis=1) < 0.8
    clear, hidden = chances(0.01), chances(30.0)
    assert clear[near].mean() > 2.5 * clear[~near].mean()
    # 20 of 400, from a uniform draw; 6 standard deviations of the mean of the near ones' counts.
    assert abs(hidden[near].mean() - 0.05) < 6 * np.sqrt(0.05 * 0.95 / 150 / near.sum())


def test_the_same_release_gives_the_same_offers_and_names_differ(data):
    one, other = request(*data, coins=1), request(*data, coins=2)
    assert offered(data[0], one).tolist() == offered(data[0], one).tolist()
    assert offered(data[0], one).tolist() != offered(data[0], other).tolist()
    assert offered(data[0], one).tolist() != offered(data[0], one, name="b").tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "points",
    [
        np.full((1, 3), 0.5),
        np.full((300, 3), 0.5),
        np.tile(np.eye(3), (40, 1)),
        np.outer(np.arange(90), [1, 0, 0]),
        np.random.default_rng(0).normal(90, 1, (200, 3)),
        np.random.default_rng(0).normal(0, 1, (2, 3)),
    ],
    ids="one equal duplicates constant far two".split(),
)
@pytest.mark.parametrize("noise", [0.0, 0.02, 1e6])
def test_degenerate_rows_are_offered_all_the_same(points, noise, dtype):
    points = points.astype(dtype)
    target = np.random.default_rng(1).normal(0, 1, (50, 3))
    rows = offered(points, request(points, target, 30, noise=noise))
    assert len(set(rows)) == len(rows) == min(30, len(points))


def test_few_owners_use_all_reads(rng):
    points = rng.normal(size=(600, 2))
    for n_owners in (1, 2, 3, 7):
        parts = list(np.array_split(points, n_owners))
        summary = dpsumm.summarize(parts, points[:50] / 2, size=25, kernel=dpsumm.RBF(0.3))
        assert summary.accesses == n_owners * -(-100 // n_owners)


@pytest.mark.parametrize("release", [Exact(), Mwem(20, 0.1, 0.1)])
def test_any_release_has_a_noise_that_can_be_sent(rng, release):
    setting = {"kernel": dpsumm.RBF(0.3), "protocol": dpsumm.Offers(n_features=32, release=release)}
    points = rng.normal(size=(60, 2))
    assert len(dpsumm.summarize([points, points + 1], points[:20], size=9, **setting)) == 9


@pytest.mark.parametrize("wrong", [-0.1, 1.1, np.nan, True, "a", None, 1j, Fraction(1, 3), [0.1]])
def test_spread_is_a_share(wrong):
    with pytest.raises(InvalidParameterError, match="spread"):
        dpsumm.Offers(spread=wrong)


@pytest.mark.parametrize("wrong", ["4", 1e300, 0.9, np.nan])
def test_what_could_not_be_sent_is_refused_before_anything_is_charged(wrong):
    with pytest.raises(InvalidParameterError, match="reads_per_record"):
        dpsumm.Offers(reads_per_record=wrong)


def test_numbers_of_numpy_can_be_sent(rng):
    protocol = dpsumm.Offers(spread=np.float32(0.3), reads_per_record=np.int64(3))
    with Ledger() as book:
        setting = transcripts.setting_of(rng.normal(size=(60, 2)), {"a": 50, "b": 50}, book)
        for asked in protocol.curator(setting).send().values():
            assert decode(encode(asked)).spread == np.float32(0.3)
