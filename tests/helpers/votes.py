"""Made-up votes for the tests of this room."""

from dataclasses import fields

import numpy as np

from dpsumm.ensemble.curator import VoteCurator
from dpsumm.ensemble.messages import NoisyVotes, Votes
from dpsumm.ensemble.party import Voter
from dpsumm.ensemble.protocols import Voting
from dpsumm.ensemble.terms import Terms
from dpsumm.privacy import Unit


def voters(votes):
    """A party for each array of votes, (N, K)."""
    return {f"p{i}": Voter([lambda points, terms, v=v: v]) for i, v in enumerate(votes)}


def by_votes(given, **usual):
    """Return arguments of `learn` with those of votes, or else usual ones, in a protocol."""
    names = [field.name for field in fields(Voting)]
    said = {name: given[name] for name in names if name in given}
    others = {name: value for name, value in given.items() if name not in names}
    return {"protocol": Voting(**(usual | said))} | others


def one_hot(places, n_classes, grid=1):
    votes = np.zeros((len(places), n_classes), dtype=np.int64)
    votes[np.arange(len(places)), places] = grid
    return votes


def curator(points, terms, book, *, unit=Unit.WHOLE_OWNER, epsilon=1.0, seed=None):
    names = [f"p{i}" for i in range(terms.n_parties)]
    return VoteCurator(
        points, terms, names, unit=unit, epsilon=epsilon, delta=1e-5, ledger=book, seed=seed
    )


def exact_counts(votes, terms):
    """The slow twin: what is released, without noise."""
    total = np.zeros((terms.n_points, terms.n_classes), dtype=object)
    for one in votes:
        for i in range(terms.n_points):
            for k in range(terms.n_classes):
                total[i, k] += int(one[i, k])
    if terms.n_classes == 2:
        total = total[:, 1:] - total[:, :1]
    return total.astype(np.int64)


def answers(curator, votes):
    """Ask, and give each party's votes; None for a party that does not come."""
    tasks = curator.send()
    for (name, task), one in zip(tasks.items(), votes, strict=True):
        if one is None:
            curator.drop(name)
        else:
            answer = Votes(task.run, task.terms.digest, one.astype(np.uint16))
            curator.receive(name, answer)
    return curator


def noisy(shares, n_parties, noise_std, rng):
    """Noisy votes around shares, (N, K), not through a ledger: for students alone."""
    n, k = shares.shape
    terms = Terms(tuple(range(k)), n, n_parties, 1, 1, "0" * 64)
    counts = np.rint(shares * n_parties)
    if k == 2:
        counts = counts[:, 1:] - counts[:, :1]
    counts = counts + np.rint(rng.normal(0, noise_std, counts.shape))
    return NoisyVotes("r", terms, "one whole owner", 1.0, noise_std, counts.astype(np.int64))
