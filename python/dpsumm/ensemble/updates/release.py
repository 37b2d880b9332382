"""A round's release: the charge, then the noise, then the sum.

Claim
    Towards the consumer, and anyone who sees models, rounds or anything computed from them: all
    rounds together are (epsilon, delta)-differentially private for all records of a party (unit:
    one whole owner), or for one record (unit: replace one record).
Assumes
    The points, classes, recipe and the *registered* parties are fixed before the first round. A
    party's vector depends on its own records and the request alone. The curator, who sees vectors,
    is trusted.
Argument
    Given the rounds before, a request is fixed, and one unit of the data moves the sum of integers
    by at most `clipping.bound_of`, for every model and clip, even ones chosen to attack. So each
    round is a Gaussian release of a multiplier that was fixed before the first, and T of them of
    multiplier z sqrt(T), each chosen after the last, are one of multiplier z (Dong, Roth & Su
    2022, Corollary 3.3): no round costs more than its share. A party that does not come in a round
    is the zero vector of it, and stays charged. ``docs/privacy/updates.md``.
Numerics
    Integers throughout. Exact noise, charged as `dpsumm.privacy.release` says.
Tested by
    tests/ensemble/test_update_roles.py, tests/release
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import astuple

import numpy as np
from numpy.typing import NDArray

from dpsumm.ensemble.terms import Terms
from dpsumm.ensemble.updates.clipping import bound_of
from dpsumm.ensemble.updates.recipe import Recipe
from dpsumm.privacy.events import Observer, Protected, Unit
from dpsumm.privacy.ledger import Ledger
from dpsumm.privacy.release import Query, Sums, multiplier_for, release
from dpsumm.privacy.seeds import derived_seed


def key_of(number: int) -> str:
    """Return the name in the ledger of a round, from 0."""
    return f"noisy moments, round {number + 1}"


def query_of(recipe: Recipe, size: int, number: int, seed: int | None = None) -> Query:
    """Return the sum of a round, with the noise that all rounds together need."""
    coins = None if seed is None else derived_seed(seed, key_of(number))
    multiplier = multiplier_for(recipe.epsilon, recipe.delta, recipe.rounds)
    return Query.at(bound_of(Unit(recipe.unit), size), multiplier, seed=coins)


def sums_of(query: Query, terms: Terms, recipe: Recipe, number: int) -> Sums:
    """Return the queries of a round, for its charge."""
    return Sums(
        [query],
        Protected.OWNERS,
        message=f"noisy moments, round {number + 1} of {recipe.rounds} ({terms.n_classes} classes, "
        f"{terms.n_parties} parties)",
        observer=Observer.CONSUMER,
    )


def check_room(
    terms: Terms, recipe: Recipe, size: int, ledger: Ledger, seed: int | None = None
) -> None:
    """Refuse a run that the ledger's cap would stop in a later round, before the first."""
    left = [t for t in range(recipe.rounds) if not ledger.has(key_of(t))]
    queries = [(query_of(recipe, size, t, seed), t) for t in left]
    ledger.check_room([c for q, t in queries for c in sums_of(q, terms, recipe, t).charges])


def release_round(
    exact: NDArray[np.int64],
    terms: Terms,
    recipe: Recipe,
    number: int,
    *,
    parties: Sequence[str],
    ledger: Ledger,
    seed: int | None = None,
) -> NDArray[np.int64]:
    """Charge a round to the ledger and return its sum with noise. Asked again, the same one.

    Parameters
    ----------
    exact : (m + 1, K) int64
        The sum of the parties' vectors.
    number
        Of the round, from 0.
    seed
        Tests and experiments only. The charge is then infinite.
    """
    query = query_of(recipe, exact.size, number, seed)
    bound = json.dumps([terms.digest, astuple(recipe), list(exact.shape), list(parties)])
    released = release(
        ledger,
        key_of(number),
        sums_of(query, terms, recipe, number),
        lambda noise: noise.on(exact).astype("<i8").tobytes(),
        binding=hashlib.sha256(bound.encode()).hexdigest(),
    )
    return np.frombuffer(released, dtype="<i8").astype(np.int64).reshape(exact.shape)
