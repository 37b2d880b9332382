"""Votes, an exported model, and rounds of updates."""

import math
from contextlib import ExitStack
from dataclasses import replace
from unittest import mock

import numpy as np
from path import DELTA, LEVELS, Left, multiplier

from dpsumm.audit.changed_noise import share_of
from dpsumm.ensemble.export import GRID, noisy_sums, queries_of
from dpsumm.ensemble.messages import NoisyVotes
from dpsumm.ensemble.terms import Terms
from dpsumm.ensemble.updates.apart import _SURE, Apart
from dpsumm.ensemble.updates.course import Course
from dpsumm.privacy import Ledger, Protected, Unit
from dpsumm.privacy.release import PaidNoise, Sums
from helpers.updates import carried, people, roles, slow_vector, with_constant
from helpers.votes import answers, curator, exact_counts, one_hot


def votes(n_classes, unit=Unit.WHOLE_OWNER, shards=1, grid=1):
    """The consumer sees noisy sums of votes."""

    def run(rng, epsilon, n):
        points = rng.normal(size=(n, 2))
        terms = Terms.of(points, range(n_classes), 5, shards=shards, grid=grid)
        given = [
            grid * sum(one_hot(rng.integers(n_classes, size=n), n_classes) for _ in range(shards))
            for _ in range(5)
        ]
        with Ledger() as book:
            noisy = answers(curator(points, terms, book, unit=unit, epsilon=epsilon), given)
            found = (noisy.result().counts - exact_counts(given, terms)).ravel()
            charges = book.charges()
        # One classifier takes a vote from one class and gives it to another, at every point.
        row = 2.0 if n_classes == 2 else math.sqrt(2)
        changed = shards if unit is Unit.WHOLE_OWNER else 1
        std = multiplier(epsilon) * row * changed * grid * math.sqrt(n)
        mu = {"curator": 1 / multiplier(epsilon)}
        return Left(found, np.full(len(found), std), {"curator": charges}, mu)

    return run


def export(rng, epsilon, n, classes=("no", "yes")):
    """Everybody sees sums of the public points, of an exported model."""
    d, queries = 6, queries_of(epsilon, DELTA)
    terms = Terms(classes, n, 10, 1, 1, "0" * 64)
    counts = rng.integers(-10, 10, (n, terms.columns))
    votes_ = NoisyVotes("r", terms, "one whole owner", 1.0, 3.0, counts)
    points = rng.normal(size=(n, d))
    noisy = noisy_sums(points, votes_, 2.0, PaidNoise(queries))
    # Record by record, without noise: nothing but that record's own part.
    exact = sum(
        noisy_sums(
            points[i : i + 1],
            replace(votes_, counts=counts[i : i + 1]),
            2.0,
            share_of(PaidNoise(queries), 0.0),
        )
        for i in range(n)
    )
    each = multiplier(epsilon) * math.sqrt(2) * GRID**2
    n_sums = (d + 1) * terms.columns
    stds = np.r_[np.full(n_sums, 2 * each), np.full(len(noisy) - n_sums, math.sqrt(2) * each)]
    charges = Sums(queries, Protected.TARGET, "sums and products").charges
    mu = {"consumer": 1 / multiplier(epsilon)}
    return Left(noisy - exact, stds, {"consumer": charges}, mu)


def updates(n_classes, unit, rounds=3, n_parties=4, apart=False):
    """The consumer sees a noisy sum of clipped vectors in each of some rounds.

    `apart`: from the third on of the rounds for points that are unlike the records.
    """

    def run(rng, epsilon, n):
        points = rng.normal(size=(40, 2))
        x, y = people(rng, n, n_classes)
        y[::7] = n_classes  # not listed: left out
        x[1] *= 1e5
        owners = {f"p{i}": (x[i::n_parties], y[i::n_parties]) for i in range(n_parties)}
        asked_for = {"unit": unit, "epsilon": epsilon, "rounds": rounds}
        with Ledger() as book, ExitStack() as patched:
            if apart:
                patched.enter_context(mock.patch.object(Course, "_strange", return_value=True))
                patched.enter_context(mock.patch.object(Apart, "pays", return_value=True))
                # With a class that hardly anyone has, it would be a round later.
                patched.enter_context(mock.patch.object(Course, "_narrowed", return_value=False))
            curator_, parties = roles(owners, points, n_classes, book, **asked_for)
            asked = carried(curator_, parties)
            noisy = curator_.result()
            charges = book.charges()
            # Rounds that were released are not drawn again.
            again, _ = roles(owners, points, n_classes, book, **asked_for)
            assert not again.send()
            assert np.array_equal(again.result().sums, noisy.sums)
            assert book.charges() == charges
        assert len(asked) == rounds
        sure = [request.step.number for request in asked if request.step.weights.max() == _SURE]
        assert sure == ([3] if apart else [])
        found = []
        for request, released in zip(asked, noisy.sums, strict=True):
            exact = 0
            for own, labels in owners.values():
                places = np.where(labels < n_classes, labels, -1).tolist()
                # Later rounds may be on another basis than the first.
                features = with_constant(request, own).tolist()
                exact += slow_vector(features, places, request.step, request.gains.tolist(), unit)
            found.append(released - exact.ravel())
        found = np.concatenate(found)
        # A vector of length LEVELS turns round, a party's or a record's, in each round.
        std = multiplier(epsilon) * math.sqrt(rounds) * 2 * LEVELS
        mu = {"curator": 1 / multiplier(epsilon)}
        return Left(found, np.full(len(found), std), {"curator": charges}, mu)

    return run
