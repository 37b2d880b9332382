"""The paper's figures and parameters, and its non-private baseline."""

import math
import re

import numpy as np
import pytest
from sklearn.datasets import load_digits

import dpsumm
from dpsumm import RBF
from dpsumm.errors import InvalidParameterError
from dpsumm.papers import Auction, Mwem, Requests
from dpsumm.papers.auction.published import published_epsilon
from dpsumm.privacy import NonPrivate, Protected, accounting
from dpsumm.summary.mechanisms import Exact, Gaussian
from dpsumm.summary.protocols.features import features_of
from dpsumm.summary.protocols.messages import FeatureMap
from dpsumm.summary.release import LEVELS, SUMMARY, TARGET
from helpers.transcripts import setting_of

SIZE = 6


def test_figures_of_section_4():
    assert published_epsilon(0.01, 1656, 0.01) == pytest.approx(1.4014, abs=5e-5)
    for p in (100, 400, 2000):
        figure = published_epsilon(0.01 / math.sqrt(5 * p), 5 * p, 1e-4)
        assert figure == pytest.approx(0.0430, abs=5e-5)


@pytest.mark.parametrize(
    ("epsilon", "iterations", "delta"), [(0.01, 1656, 1e-2), (0.2, 7, 1e-6), (1.0, 1, 0.5)]
)
def test_figure_is_advanced_composition(epsilon, iterations, delta):
    expected = epsilon * math.sqrt(2 * iterations * math.log(1 / delta)) + iterations * epsilon * (
        math.exp(epsilon) - 1
    )
    assert published_epsilon(epsilon, iterations, delta) == pytest.approx(expected, rel=1e-12)


def test_parameters_of_section_4():
    auction = Auction.published(400)
    assert auction.target_release == Mwem(1656, 0.01, 0.01)
    assert auction.target_release.iterations == int(140**1.5)
    small = 0.01 / math.sqrt(2000)
    assert auction.summary_release == Mwem(5, small, small)
    assert auction.seed_release == Mwem(1656, 0.05, 0.05)
    assert (auction.n_features, auction.feature_kind) == (140, "phase")
    assert (auction.batch, auction.requests) == (1, Requests.published(1.0, tau=None))
    assert auction == Auction.published(400, epsilon_auction=1.0)
    assert auction.seed_points is None
    with pytest.raises(InvalidParameterError, match="size"):
        Auction.published(0)


def of_size(size):
    """A run's setting, as far as the published figures depend on it."""
    return setting_of(np.zeros((2, 2)), {"a": size}, None, size=size)


def figures_in(sentence):
    """The paper's epsilon and the sound one."""
    found = re.search(r"epsilon = (\S+) at .* is (\S+) \(", sentence)
    return [float(number) for number in found.groups()]


def test_both_figures_stand_side_by_side():
    auction = Auction.published(400)
    target, summary = auction.published_figures(of_size(400))
    sound_target = accounting.compose(auction.target_release.cost(TARGET), 1e-2)
    cost = [(event, 400 * n) for event, n in auction.summary_release.cost(SUMMARY)]
    sound_summary = accounting.compose(cost, 1e-4)
    assert figures_in(target) == [1.4014, round(sound_target, 4)]
    assert figures_in(summary) == [0.0430, round(sound_summary, 4)]
    assert sound_target > 2 * 1.4014
    assert sound_summary > 3 * 0.0430
    for sentence in (target, summary):
        assert "replace one record" in sentence
        assert "requests not counted" in sentence


def test_only_the_papers_mechanisms_have_published_figures():
    assert Auction().published_figures(of_size(100)) == ()
    assert Auction.exact().published_figures(of_size(100)) == ()
    other = Auction(target_release=Mwem(10, 0.1, 0.2), summary_release=Gaussian(3.0))
    assert other.published_figures(of_size(100)) == ()


@pytest.fixture(scope="module")
def digits():
    """Handwritten digits, 64 pixels: owners by skewed labels, a target of two digits."""
    images, labels = load_digits(return_X_y=True)
    images = images / 16
    wanted = np.isin(labels, (3, 8))
    target, rest, kinds = images[wanted][:150], images[~wanted], labels[~wanted]
    owners = [rest[kinds % 3 == i][:120] for i in range(3)]
    return [*owners, images[wanted][150:250]], target


def test_published_protocol_runs_and_says_what_it_is_worth(digits):
    owners, target = digits
    summary = dpsumm.summarize(
        owners,
        target,
        size=SIZE,
        kernel=RBF(0.1),
        protocol=Auction.published(SIZE),
        allow_weak_privacy=True,
    )
    assert len(summary) == SIZE
    about_target, about_owners, _, *figures = summary.privacy.statements()
    assert figures_in(figures[0])[0] == 1.4014
    assert figures_in(figures[1])[0] == 0.0430
    assert figures == list(Auction.published(SIZE).published_figures(of_size(SIZE)))
    forced = 1 - math.exp(-1)
    assert f"forces delta >= {forced:.3g} in a single round" in about_owners
    assert "epsilon is infinite" in about_owners
    assert summary.privacy.epsilon(protected="owners") == math.inf
    assert "infinite" not in about_target
    sound = accounting.compose(Mwem.published(0.01, 1656).cost(TARGET), 1e-5)
    assert summary.privacy.epsilon() == pytest.approx(sound, rel=1e-12)


def test_forced_delta_follows_the_papers_parameter(digits):
    owners, target = digits
    protocol = Auction(requests=Requests.published(0.05), n_features=16)
    summary = dpsumm.summarize(
        owners, target, size=2, kernel=RBF(0.1), protocol=protocol, allow_weak_privacy=True
    )
    forced = 1 - math.exp(-0.05)
    assert f"{forced:.3g} in a single round" in summary.privacy.statements()[1]


# --- the non-private greedy of section 4 --------------------------------------------------------


def greedy_on_grid(features, points, target, size):
    """Add the row with the greatest m (t+1) (mu_V.h(y) - t/(t+1) mu_S.h(y)), in exact integers.

    The first of equal rows, as the order of owners and rows has it.
    """
    rows = features.on_grid(points).astype(object)
    attraction = rows @ features.sum_on_grid(target, LEVELS).astype(object)
    repulsion, chosen = 0, []
    for t in range(size):
        scores = (t + 1) * attraction - len(target) * repulsion
        scores[chosen] = -(2**200)
        chosen.append(int(np.argmax(scores)))
        newest = features.sum_on_grid(points[chosen[-1:]], LEVELS).astype(object)
        repulsion = repulsion + rows @ newest
    return chosen


def test_exact_auction_is_the_greedy_on_features(rng, seed):
    owners = [rng.normal(shift, 1, (70, 4)) for shift in (-1, 0, 2)]
    target = rng.normal(0, 1, (50, 4))
    summary = dpsumm.summarize(
        owners, target, size=25, kernel=RBF(0.2), protocol=Auction.exact(), seed=seed
    )
    picked = 70 * summary.owner + summary.index
    points = np.concatenate(owners)
    features = features_of(FeatureMap(0.2, 4, 512, seed))
    assert picked.tolist() == greedy_on_grid(features, points, target, 25)

    # In real numbers: every pick is the best, up to the grid of a bid's features.
    h, goal = features.transform(points), features.transform(target)
    inner, attraction = h @ h.T, (h @ goal.T).mean(axis=1)
    on_grid = features.on_grid(points)
    step = np.abs(h).max() / np.abs(on_grid).max()
    for t, pick in enumerate(picked):
        gain = attraction - inner[:, picked[:t]].sum(axis=1) / (t + 1)
        gain[picked[:t]] = -np.inf
        # Half a step in 512 coordinates, against two means of norm at most 1, for two points.
        assert gain[pick] >= gain.max() - 2 * step * np.sqrt(512)


def test_exact_auction_promises_nothing(rng):
    owners = [rng.normal(size=(20, 2)) for _ in range(3)]
    summary = dpsumm.summarize(
        owners,
        rng.normal(size=(20, 2)),
        size=5,
        kernel=RBF(0.5),
        protocol=Auction.exact(),
        allow_weak_privacy=True,
    )
    assert summary.privacy.epsilon() == math.inf
    assert summary.privacy.epsilon(protected="owners") == math.inf
    assert any(
        charge.protected is Protected.OWNERS
        and isinstance(charge.event, NonPrivate)
        and "only the winner" in charge.event.reason
        for charge in summary.privacy.charges
    )
    assert Auction.exact().target_release == Exact()
