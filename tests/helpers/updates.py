"""Private updates for tests: roles over made-up records, and a slow twin of a party's vector."""

import math

import numpy as np

from dpsumm.ensemble.inputs import read_parties
from dpsumm.ensemble.terms import Terms
from dpsumm.ensemble.updates.curator import UpdateCurator
from dpsumm.ensemble.updates.party import Updater
from dpsumm.ensemble.updates.recipe import Recipe
from dpsumm.privacy import Unit

LEVELS = 2**20


def people(rng, n, n_classes=3, d=2):
    x = rng.normal(size=(n, d))
    return x, (np.abs(3 * x[:, 0]).astype(int) + (x[:, 1] > 0)) % n_classes


def roles(owners, points, n_classes, book, *, unit=Unit.WHOLE_OWNER, epsilon=1.0, rounds=8):
    """The curator, and a party for each (points, labels)."""
    given = read_parties(owners, points)
    terms = Terms.of(given.points, range(n_classes), len(owners))
    n = sum(map(len, given.tables.values())) if unit is Unit.REPLACE_RECORD else 10 * len(owners)
    recipe = Recipe(unit.value, epsilon, 1e-5, max(n, 1), rounds)
    curator = UpdateCurator(given.points, terms, recipe, given.names, ledger=book)
    return curator, {name: Updater(table) for name, table in given.tables.items()}


def carried(curator, parties, absent=()):
    """Carry all rounds; return the requests of each. `absent`: (round, name)."""
    asked = []
    while requests := curator.send():
        asked.append(next(iter(requests.values())))
        for name, request in requests.items():
            if (request.step.number, name) in absent:
                curator.drop(name)
            else:
                curator.receive(name, parties[name].answer(request))
    return asked


def slow_vector(a, places, step, gains, unit):
    """What leaves a party in a round, record by record and number by number.

    Parameters
    ----------
    a : (n, m + 1)
        Features, the constant first.
    places
        Of the labels; -1 for one that is not listed.
    """
    weights, k = step.weights.tolist(), step.weights.shape[1]
    total = [[0.0] * k for _ in gains]
    known = [i for i in range(len(a)) if places[i] >= 0 and all(map(math.isfinite, a[i]))]
    own = [sum(places[i] == c for i in known) / max(len(known), 1) for c in range(k)]
    heavy = {i: math.sqrt(max(step.shares[places[i]], 1e-4) / own[places[i]]) for i in known}
    for i in known:
        scores = [math.fsum(x * w[c] for x, w in zip(a[i], weights, strict=True)) for c in range(k)]
        powers = [math.exp(s - max(scores)) for s in scores]
        missed = [(places[i] == c) - p / math.fsum(powers) for c, p in enumerate(powers)]
        one = [[g * x * r for r in missed] for g, x in zip(gains, a[i], strict=True)]
        if unit is Unit.REPLACE_RECORD:
            factor = LEVELS / max(step.clip, _length(one))
        else:
            factor = heavy[i] / math.fsum(heavy.values())
        for row, mine in zip(total, one, strict=True):
            for c in range(k):
                row[c] += factor * mine[c]
    if unit is Unit.REPLACE_RECORD:
        return np.rint(total).astype(np.int64)
    return np.trunc(np.array(total) * (LEVELS / max(step.clip, _length(total)))).astype(np.int64)


def _length(matrix):
    return math.sqrt(math.fsum(x * x for row in matrix for x in row))


def with_constant(task, points):
    return np.hstack([np.ones((len(points), 1)), task.basis.of(np.asarray(points, float))])
