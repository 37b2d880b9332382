"""MWEM releases: what they charge, sensitivity of the sums, what a warm start may read."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsumm import kernels
from dpsumm.errors import InvalidParameterError
from dpsumm.papers import Auction, Mwem
from dpsumm.privacy import Ledger, Protected, Pure
from dpsumm.privacy.accounting import compose
from dpsumm.privacy.events import BoundedRange
from dpsumm.privacy.release import annex
from dpsumm.summary.kernel import RBF
from dpsumm.summary.mechanisms import Gaussian
from dpsumm.summary.release import SUMMARY, TARGET, Release, release
from helpers import transcripts


def draw_map(rng, kind="paired", n_features=8):
    return kernels.RandomFeatures(
        3, n_features, gamma=0.3, seed=int(rng.integers(2**62)), kind=kind
    )


def send(mechanism, features, points, book, key="k", **more):
    given = {
        "message": "m",
        "protected": Protected.OWNERS,
        "sensitivity": SUMMARY,
        "seed": None,
        "previous": None,
    }
    return release(mechanism, features, points, key=key, ledger=book, **{**given, **more})


@pytest.mark.parametrize(("sensitivity", "moved"), [(TARGET, 2), (SUMMARY, 4)])
def test_each_iteration_pays_for_selection_and_measurement(sensitivity, moved, rng):
    with Ledger() as book:
        points = rng.normal(size=(5, 3))
        send(Mwem(7, 0.03, 0.02), draw_map(rng), points, book, sensitivity=sensitivity)
        charges = book.charges()
    assert [(c.event, c.count) for c in charges] == [
        (BoundedRange(2 * moved * 0.03), 7),
        (Pure(moved * 0.02), 7),
    ]
    assert Mwem.published(0.01, 9) == Mwem(9, 0.01, 0.01)


def test_releases_of_a_run_add_up(rng):
    mechanism = Mwem(5, 0.01, 0.01)
    previous = None
    with Ledger() as book:
        for i in range(4):
            previous = send(
                mechanism, draw_map(rng), rng.normal(size=(6, 3)), book, f"k{i}", previous=previous
            )
        events = [(c.event, c.count) for c in book.charges()]
    together = [(event, 4 * n) for event, n in mechanism.cost(SUMMARY)]
    assert compose(events, 1e-5) == pytest.approx(compose(together, 1e-5), rel=1e-6)


@given(
    st.integers(0, 2**32),
    st.sampled_from(["paired", "phase"]),
    st.integers(1, 300),
    st.sampled_from([1, 2, 20, 1001]),
    st.sampled_from([1e-3, 1.0, 1e6]),
)
def test_neighbours_move_every_quantised_sum_by_at_most_two(seed, kind, n, steps, spread):
    """With the coins of the unchanged records kept: that is the coupling of the proof."""
    rng = np.random.default_rng(seed)
    features = draw_map(rng, kind)
    points = rng.normal(0, spread, (n, 3))
    neighbour = points.copy()
    neighbour[rng.integers(n)] = rng.normal(size=3) * 10 ** rng.uniform(-6, 6)
    a, b = (features.quantized_sum(p, steps, 5) for p in (points, neighbour))
    assert np.abs(a - b).max() <= 2 * steps
    assert np.abs(a).max() <= n * steps


def test_the_bound_of_the_sums_is_reached():
    features = kernels.RandomFeatures.from_parts("paired", np.ones((1, 1)), np.empty(0))
    a, b = (features.quantized_sum(np.array([[x], [1.0]]), 20, 5) for x in (0.0, math.pi))
    # In units of 1 / 20: the cosine goes from 1 to -1.
    assert abs(int(a[0] - b[0])) == 40


def spy_on_mwem(monkeypatch):
    starts, runs = [], []
    honest = annex.mwem

    def spy(sums, count, *, theta, **more):
        starts.append(theta)
        runs.append((sums.copy(), count, more))
        return honest(sums, count, theta=theta, **more)

    monkeypatch.setattr(annex, "mwem", spy)
    return starts, runs


def test_a_warm_start_is_the_released_state_and_nothing_else(rng, monkeypatch):
    starts, runs = spy_on_mwem(monkeypatch)
    features = draw_map(rng)
    with Ledger() as book:
        first = send(Mwem(3, 0.1, 0.1), features, rng.normal(size=(6, 3)), book, "a")
        second = send(
            Mwem(3, 0.1, 0.1), features, rng.normal(size=(9, 3)), book, "b", previous=first
        )
    assert starts[0] is None
    np.testing.assert_array_equal(starts[1], first.state)
    assert runs[1][1] == second.count == 9
    assert runs[0][2]["seed"] is None  # coins of the operating system


def test_the_state_is_in_the_books_so_a_resumed_run_goes_on_from_it(rng, tmp_path):
    Ledger.create(tmp_path / "books").close()
    features, points = draw_map(rng), rng.normal(size=(6, 3))
    made = []
    for _ in range(2):
        with Ledger(tmp_path / "books", run="r") as book:
            first = send(Mwem(3, 0.1, 0.1), features, points, book, "a")
            second = send(Mwem(3, 0.1, 0.1), features, points, book, "b", previous=first)
            made.append((first.to_bytes(), second.to_bytes()))
    assert made[0] == made[1]


def test_after_another_mechanism_it_starts_anew(rng, monkeypatch):
    """A release without a state, of public seed points say: there is nothing to start from."""
    starts, _ = spy_on_mwem(monkeypatch)
    features, points = draw_map(rng), rng.normal(size=(6, 3))
    with Ledger() as book:
        gaussian = send(Gaussian(1.0), features, points, book, "a")
        send(Mwem(3, 0.1, 0.1), features, points, book, "b", previous=gaussian)
    assert starts == [None]


def test_an_auction_with_mwem_charges_every_round_and_starts_warm(rng, monkeypatch):
    starts, runs = spy_on_mwem(monkeypatch)
    owners = {name: rng.normal(size=(15, 3)) for name in "abc"}
    target = rng.normal(size=(30, 3))
    protocol = Auction(
        batch=1,
        n_features=8,
        target_release=Mwem(20, 0.1, 0.1),
        summary_release=Mwem(4, 0.05, 0.05),
    )
    received, _ = transcripts.run(protocol, owners, target, size=5, kernel=RBF(0.3))
    assert len(runs) == 1 + 4
    assert len(received["a"]) == 10
    # Target and summary start at zero; every later summary where the last one ended.
    assert starts[:2] == [None, None]
    assert all(start.any() for start in starts[2:])
    # Sums are over the summary as it was: 1, 2, 3, 4 points.
    assert [run[1] for run in runs] == [30, 1, 2, 3, 4]


@pytest.mark.same_draws
def test_a_mean_is_a_mean_of_features(rng):
    """Many precise iterations come close to the truth: the scale of the release is right."""
    features, points = draw_map(rng, n_features=6), rng.normal(size=(400, 3))
    with Ledger() as book:
        made = send(Mwem(600, 1.0, 1.0, steps=200), features, points, book)
    exact = features.transform(points).mean(axis=0)
    assert isinstance(made, Release)
    assert np.abs(made.mean - exact).max() < 0.05


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((0, 0.1, 0.1), "iterations"),
        ((1, 0.0, 0.1), "epsilon_select"),
        ((1, 0.1, math.inf), "epsilon_measure"),
        ((1, 0.1, 0.1, 0), "steps"),
    ],
)
def test_wrong_parameters_are_refused(arguments, name):
    with pytest.raises(InvalidParameterError, match=name):
        Mwem(*arguments)
