"""Points: sums of features of a target, and of bids."""

import math

import numpy as np
from path import LEVELS, Left, alone, multiplier

from dpsumm import Column, Offers, Schema
from dpsumm.papers import Auction
from dpsumm.privacy import Ledger
from dpsumm.summary.kernel import RBF
from dpsumm.summary.protocols.features import features_of, random_features
from dpsumm.summary.protocols.messages import BidRequest
from helpers import transcripts
from helpers.settings import setting_of

BOX = Schema([Column("c0", bounds=(0, 1)), Column("c1", bounds=(0, 1))])


def offers(kind, columns=2):
    """An owner of Offers sees the noisy average of the target."""

    def run(rng, epsilon, n):
        with Ledger() as book:
            schema = BOX if kind == "landmarks" else None
            target = rng.uniform(0, 1, (n, columns))
            more = {"schema": schema, "kernel": RBF.for_schema(BOX)} if schema else {}
            setting = setting_of(target, {"a": 50, "b": 60}, book, epsilon=epsilon, **more)
            protocol = Offers(features=kind, n_features=128)
            request = protocol.curator(setting).send()["a"]
            features = features_of(request.feature_map, schema)
            exact = alone(features, target)
            # A replaced record turns a vector round, or goes from one corner of the box to another,
            # between which the kernel is exp(-gamma D^2).
            least = math.exp(-2 * RBF.for_schema(BOX).gamma)
            moved = LEVELS * (2 if kind == "random" else math.sqrt(2 * (1 - least)))
            std = multiplier(epsilon) * moved
            found = request.target.steps - exact
            mu = {"curator": 1 / multiplier(epsilon)}
            return Left(found, np.full(len(found), std), {"curator": book.charges()}, mu)

    return run


def auction(rng, epsilon, n):
    """An owner of the Auction sees the target once, and the summary so far in every round."""
    owners = {name: rng.normal(size=(max(n // 3, 6), 3)) for name in "abc"}
    target = rng.normal(size=(n, 3))
    roles = transcripts.roles_of(owners, target)
    seen = []
    with Ledger() as book:
        sizes = {name: len(points) for name, points in owners.items()}
        setting = transcripts.setting_of(target, sizes, book, size=6, epsilon=epsilon)
        protocol = Auction(n_features=32, batch=2, reselect=False, epsilon_owners=epsilon)
        made = protocol.curator(setting)
        while requests := made.send():
            for name, request in requests.items():
                if name == "a" and isinstance(request, BidRequest):
                    seen.append(request)
                made.receive(name, roles[name].answer(request))
        chosen = made.result()
        charges = book.charges()
    features = random_features(seen[0].feature_map)
    points = np.asarray(chosen.scaled)
    found = [seen[0].target - alone(features, target)]
    stds = [np.full(len(found[0]), multiplier(epsilon) * 2 * LEVELS)]
    (noise,) = {charge.event.noise_multiplier for charge in charges if "summary" in charge.message}
    for k, request in enumerate(seen[1:], 1):
        found.append(request.summary - alone(features, points[: 2 * k]))
        # One record of an owner changes two points of the summary: two vectors leave, two come.
        stds.append(np.full(len(found[-1]), noise * 4 * LEVELS))
    both = {
        "target": tuple(c for c in charges if c.protected == "target"),
        "owners": tuple(c for c in charges if "summary" in c.message),
    }
    mu = {"target": 1 / multiplier(epsilon), "owners": math.sqrt(len(seen) - 1) / noise}
    return Left(np.concatenate(found), np.concatenate(stds), both, mu)
