"""Noisy votes: the one release, after which everything is post-processing.

Claim
    Towards the consumer, and anyone who sees anything computed from the noisy votes: (epsilon,
    delta)- differential privacy for all records of a party, with its classifier, its coins and
    whether it takes part (unit: one whole owner); or for one record, if parties train shards (unit:
    replace one record). For every set of public points, even one that the consumer chose to attack.
Assumes
    The points, classes, grid, shards and the *registered* parties are fixed before anybody votes. A
    party's votes depend on its own records, its own coins and the task alone: nothing that parties
    share was fitted on private data. The curator, who sees the votes, is trusted.
Argument
    Given the other parties' coins, one classifier replaced moves each row of the counts by at most
    `Terms.unit_squared` ** 0.5, an absent one being the zero row. All N rows by sqrt(N) times that.
    A party's J classifiers by J times that. Integer counts plus rounded normal noise are the
    rounded sum: post-processing of the Gaussian mechanism. A mixture over the others' coins of
    pairs that are (epsilon, delta)-close is (epsilon, delta)-close. ``docs/privacy/votes.md``.
Numerics
    Integers throughout. Exact noise, charged as `dpsumm.privacy.release` says.
Tested by
    tests/ensemble/test_release.py
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from dpsumm.ensemble.messages import NoisyVotes
from dpsumm.ensemble.terms import Terms
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy.events import Observer, Protected, Unit
from dpsumm.privacy.ledger import Ledger
from dpsumm.privacy.release import Bound, Query, Sums, multiplier_for, release
from dpsumm.privacy.seeds import derived_seed

UNITS = (Unit.WHOLE_OWNER, Unit.REPLACE_RECORD)
# Its name in the ledger.
RELEASE = "noisy votes"


def unit_of(unit: Unit | str) -> Unit:
    """Return a unit that votes have a guarantee for."""
    if unit in UNITS:
        return Unit(unit)
    known = " or ".join(repr(known.value) for known in UNITS)
    raise InvalidParameterError(f"unit must be {known}, got {unit!r}")


def classifiers_of(unit: Unit, terms: Terms) -> int:
    """Return how many classifiers one unit of the data changes, with each record in one shard."""
    return terms.shards if unit is Unit.WHOLE_OWNER else 1


def bound_of(unit: Unit, terms: Terms) -> Bound:
    """Return by how much one unit of the data moves all counts together."""
    return Bound(classifiers_of(unit, terms) * terms.sensitivity, unit)


def release_votes(
    counts: NDArray[np.int64],
    terms: Terms,
    *,
    parties: tuple[str, ...],
    unit: Unit,
    epsilon: float,
    delta: float,
    ledger: Ledger,
    seed: int | None = None,
) -> NoisyVotes:
    """Charge the votes to the ledger and return them with noise. A resumed run gets the same.

    Parameters
    ----------
    counts : (N, columns) int64
        Sums of the votes, as `NoisyVotes.counts` without noise.
    unit, epsilon, delta
        Unit and budget of the guarantee.
    ledger
        Charged before anything is returned.
    seed
        Tests and experiments only. The charge is then infinite.
    """
    coins = None if seed is None else derived_seed(seed, RELEASE)
    query = Query.at(bound_of(unit, terms), multiplier_for(epsilon, delta), seed=coins)
    sums = Sums(
        [query],
        Protected.OWNERS,
        message=f"noisy votes ({terms.n_points} points, {terms.n_classes} classes, "
        f"{terms.n_parties} parties)",
        observer=Observer.CONSUMER,
    )
    released = release(
        ledger,
        RELEASE,
        sums,
        lambda noise: noise.on(counts).astype("<i8").tobytes(),
        binding=hashlib.sha256("\0".join((terms.digest, *parties)).encode()).hexdigest(),
    )
    return NoisyVotes(
        run=ledger.run,
        terms=terms,
        unit=unit.value,
        noise_multiplier=query.multiplier,
        noise_std=query.noise_std,
        counts=np.frombuffer(released, dtype="<i8").astype(np.int64).reshape(counts.shape),
    )
