"""A model that also protects the consumer's points, so that the consumer may show it.

Claim
    What `exported` returns is (epsilon, delta)-DP for one point of the consumer towards
    everybody, and post-processing of the noisy votes towards the parties.
Assumes
    The points were the consumer's own: parties' classifiers do not depend on them. N, the columns
    and every parameter are public.
Argument
    ``docs/privacy/votes.md``, "A model that may leave". A record is a point with its row of noisy
    counts. The noise of another row does not depend on it. So one record replaced is one row
    replaced, however large its counts. Rows are shortened, their sums and products added up in
    integers, with exact noise. Everything else follows from these.
Numerics
    Integers, of lengths that are measured exactly (`_whole`).
Tested by
    tests/ensemble/test_export.py
"""

from __future__ import annotations

import hashlib
import math
import os

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.checks import check_number, plain
from dpsumm.ensemble.certainty import FULL
from dpsumm.ensemble.inputs import Space
from dpsumm.ensemble.messages import NoisyVotes
from dpsumm.ensemble.saved import SavedModel, saved_model
from dpsumm.ensemble.students.bases import CONSTANT, Linear, inside
from dpsumm.ensemble.students.plain import Plain
from dpsumm.ensemble.students.student import Array
from dpsumm.privacy import accounting
from dpsumm.privacy.events import Observer, Protected
from dpsumm.privacy.facts import rounded_up
from dpsumm.privacy.ledger import Ledger
from dpsumm.privacy.release import Bound, PaidNoise, Query, Sums, multiplier_for, release
from dpsumm.privacy.weak import check_budget, warn_unrecorded

# Steps of the integers in a length of 1.
GRID = 2**16
# Length at which rows of counts are cut, in standard deviations of their noise: little more than
# their signs is used, since the noise that protects points grows with the length.
_CUT = 0.5


def exported(
    points: Array,
    votes: NoisyVotes,
    space: Space,
    said: list[str],
    *,
    epsilon: float,
    delta: float,
    norm: float,
    key: str,
    ledger: str | os.PathLike[str] | None,
    allow_weak_privacy: bool,
) -> SavedModel:
    """Charge a linear model to the consumer's points and return it. See `Model.export`."""
    epsilon, delta = plain(epsilon), plain(delta)
    accounting.check_epsilon(epsilon)
    accounting.check_delta(delta)
    check_budget(epsilon, delta, votes.terms.n_points, allowed=allow_weak_privacy)
    warn_unrecorded(ledger, None, epsilon)
    check_number(norm, "norm", 1e-12, 1e12, "the length that no point exceeds")
    queries = queries_of(epsilon, delta)
    sums = Sums(
        queries,
        Protected.TARGET,
        message=f"sums and products of {votes.terms.n_points} points ({key})",
        observer=Observer.PUBLIC,
    )
    facts = (votes.terms.n_points, votes.terms.classes, norm, space.schema.fingerprint)
    # A run of its own: it was decided on in view of the votes and of what was exported before.
    run = f"{votes.run[:60]} {hashlib.sha256(f'{votes.run}/{key}'.encode()).hexdigest()[:32]}"
    with Ledger(ledger, run=run, delta=delta) as book:
        book.hold_to("export")
        drawn = release(
            book,
            f"exported model ({key})",
            sums,
            lambda noise: noisy_sums(points, votes, norm, noise).astype("<i8").tobytes(),
            binding=hashlib.sha256(repr(facts).encode()).hexdigest(),
        )
    means = np.frombuffer(drawn, dtype="<i8").astype(np.float64) / (GRID**2 * len(points))
    weights = weights_of(means, votes.terms.columns, queries[0].multiplier, len(points))
    (charge,) = sums.charges
    spent = rounded_up(accounting.compose([(charge.event, charge.count)], delta))
    protects = (
        f"The consumer's points towards everybody who sees this model: ({spent}, "
        f"{delta:g})-differential privacy for one record; unit: {charge.unit.value}. Whatever "
        "else is shown of these points, another exported model too, adds to it."
    )
    # Of two classes the share of the second is above a half where its score is above 0.
    even = 0.5 if votes.terms.columns == 1 else 1 / votes.terms.n_classes
    scale = math.sqrt(1 - CONSTANT**2) / norm
    numbers = np.vstack([CONSTANT * weights[-1:] + even, scale * weights[:-1]])
    name = "linear, protects the points"
    learnt = Plain(Linear(), numbers, softmax=False)
    # In place of what is said of a model that must not leave.
    said = [protects if "consumer's points towards" in text else text for text in said]
    return saved_model(votes.run, votes.terms.classes, space, name, learnt, FULL, said)


def queries_of(epsilon: float, delta: float) -> tuple[Query, Query]:
    """Return the sums and the products of `noisy_sums`, which cost (epsilon, delta) together.

    In steps of `GRID**2`, a record's part of the first has the length ``|x| |row|``, of the second
    at most ``|x|**2``: not above 1 each. Replaced, it moves the first by 2, the second by sqrt 2,
    since two such matrices, being positive semidefinite, have an inner product from 0 up. Of
    products each pair of columns counts once.
    """
    multiplier = multiplier_for(epsilon, delta, 2)
    sums, products = (
        Query.at(Bound(moved * GRID**2 * (1 + 1e-12)), multiplier) for moved in (2.0, math.sqrt(2))
    )
    return sums, products


def noisy_sums(
    points: Array, votes: NoisyVotes, norm: float, noise: PaidNoise
) -> NDArray[np.int64]:
    """Return noisy sums of points times rows, then of products of points. See `queries_of`."""
    x = whole(inside(points, norm))
    rows = whole(_cut(votes))
    above = np.triu_indices(x.shape[1])
    sums, products = (x.T @ rows).ravel(), (x.T @ x)[above]
    return np.concatenate([noise.on(sums), noise.on(products)])


def whole(rows: Array) -> NDArray[np.int64]:
    """Return rows as integers, each no longer than `GRID`. One that would be counts as 0."""
    made = np.trunc(rows * GRID).astype(np.int64)
    made[np.einsum("ij,ij->i", made, made) > GRID**2] = 0
    return made


def _cut(votes: NoisyVotes) -> Array:
    """Return rows of counts, centred, shortened to 1. Each by itself and by public numbers."""
    counts = votes.counts.astype(np.float64)
    columns = votes.terms.columns
    if columns > 1:
        counts = counts - counts.mean(1, keepdims=True)
    length = max(_CUT * votes.noise_std * math.sqrt(max(columns - 1, 1)), 1.0)
    norms = np.linalg.norm(counts, axis=1, keepdims=True)
    return np.asarray(counts / np.maximum(norms, length) * (1 - 1e-9))


def weights_of(sums: Array, columns: int, multiplier: float, n_points: int) -> Array:
    """Return a ridge regression's weights, (d, columns), from noisy means: post-processing."""
    # columns d + d (d + 1) / 2 numbers.
    d = round((math.sqrt((2 * columns + 1) ** 2 + 8 * len(sums)) - (2 * columns + 1)) / 2)
    wanted, flat = sums[: columns * d].reshape(d, columns), sums[columns * d :]
    second = np.zeros((d, d))
    second[np.triu_indices(d)] = flat
    second = second + np.triu(second, 1).T
    values, vectors = np.linalg.eigh(second)
    # About the largest eigenvalue of the noise.
    ridge = 2 * multiplier * math.sqrt(2) / n_points * math.sqrt(d)
    inverse = vectors / (np.maximum(values, 0.0) + ridge) @ vectors.T
    return np.asarray(inverse @ wanted)
