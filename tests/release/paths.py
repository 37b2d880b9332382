"""Every way by which a number that depends on records leaves a party, as a real run.

A path runs the real roles over records, takes what left from the messages, and takes off what a
slow twin adds up record by record. Expected noise is computed here, by mpmath and from the records'
worst neighbours, and not by the package.
"""

import math
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache, partial
from types import SimpleNamespace
from unittest import mock

import numpy as np
from mpmath import mp

from dpsumm import Column, Offers, Schema
from dpsumm.audit.changed_noise import ChangedNoise, share_of
from dpsumm.ensemble.export import GRID, noisy_sums, queries_of
from dpsumm.ensemble.messages import NoisyVotes
from dpsumm.ensemble.terms import Terms
from dpsumm.ensemble.updates.apart import _SURE, Apart
from dpsumm.ensemble.updates.course import Course
from dpsumm.papers import Auction
from dpsumm.privacy import Ledger, Protected, Unit
from dpsumm.privacy.release import PaidNoise, Sums
from dpsumm.summary.kernel import RBF
from dpsumm.summary.models import sgd
from dpsumm.summary.models.noise import SMOOTHING, calibrated
from dpsumm.summary.models.objective import Objective
from dpsumm.summary.models.perturbation import Grid, Perturbed
from dpsumm.summary.models.training import Examples
from dpsumm.summary.protocols.features import features_of, random_features
from dpsumm.summary.protocols.messages import BidRequest
from dpsumm.vertical.messages import CountColumns, Finish
from dpsumm.vertical.owner import Owner
from dpsumm.vertical.trees import Tree
from dpsumm.vertical.wire import CODEC
from helpers import transcripts
from helpers.columns import World
from helpers.settings import setting_of
from helpers.updates import carried, people, roles, slow_vector, with_constant
from helpers.votes import answers, curator, exact_counts, one_hot

LEVELS = 2**20
DELTA = 1e-5


@dataclass(frozen=True)
class Left:
    """What one run released.

    Attributes
    ----------
    residuals : (numbers,) int64
        Released minus exact.
    stds : (numbers,)
        Of the noise that the budget asks for.
    charges
        By each ledger that was charged.
    mu
        What each of these must have been charged for at least: of independent releases, the root
        of the sum of (moved / noise)**2.
    """

    residuals: np.ndarray
    stds: np.ndarray
    charges: dict[str, tuple]
    mu: dict[str, float]


@dataclass(frozen=True)
class Path:
    """A release path.

    Attributes
    ----------
    name
        Observer included.
    run
        Maps a generator, epsilon and a number of records to `Left`.
    charged
        How the texts of its charges begin.
    epsilon
        What the run is made with: noise is then wide, so that equal numbers are no chance.
    records
        Numbers of records to try.
    of_records
        That what left is a sum over records; else it is noise alone.
    """

    name: str
    run: Callable[[np.random.Generator, float, int], Left]
    charged: tuple[str, ...]
    epsilon: float = 1.0
    records: tuple[int, ...] = (10, 60, 400)
    of_records: bool = True


def delta_of(mu, epsilon):
    """Balle & Wang 2018, Theorem 8."""
    a, b = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    return mp.ncdf(a) - mp.exp(epsilon) * mp.ncdf(b)


@cache
def multiplier(epsilon, delta=DELTA):
    """The least noise over sensitivity at (epsilon, delta), by bisection."""
    with mp.workdps(40):
        low, high = mp.mpf(10) ** -6, mp.mpf(10) ** 6
        while high / low > 1 + mp.mpf(10) ** -9:
            middle = mp.sqrt(low * high)
            enough = delta_of(1 / middle, epsilon) <= delta
            low, high = (low, middle) if enough else (middle, high)
        return float(high)


def alone(features, records):
    """The slow twin of a sum of features: each record by itself, in Python's integers."""
    total = [0] * features.n_features
    for record in records:
        for j, step in enumerate(features.sum_on_grid(record[None], LEVELS).tolist()):
            total[j] += step
    return np.array(total, np.int64)


# --- points -------------------------------------------------------------------------------------

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


# --- votes --------------------------------------------------------------------------------------


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


# --- updates ------------------------------------------------------------------------------------


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


# --- rows ---------------------------------------------------------------------------------------


# 1,300 values in 68 cells, of which the first, one in the middle and the last are points.
CELLS = tuple(sorted({0, 1, *range(20, 1299, 20), 641, 1299}))
WIDE = Tree.of_cells(1300, CELLS, (0, CELLS.index(640), len(CELLS) - 1), missing=True)


def by_hand(tree, values):
    """The slow twin of a tree's tables: each record by itself, the nodes that it is in."""
    tables = [np.zeros(length, np.int64) for length in tree.lengths]
    starts = tree.starts or range(tree.size)
    inner = [cell for cell in range(len(starts)) if cell not in tree.apart]
    for value in values.tolist():
        cell = max(k for k, start in enumerate(starts) if start <= value)
        for k, table in enumerate(tables[tree.by_value :]):
            if cell in tree.apart:
                table[len(table) - len(tree.apart) + tree.apart.index(cell)] += 1
            else:
                table[inner.index(cell) // 4**k] += 1
        if tree.by_value:
            tables[0][value] += 1
    return tables


def rows(observer, sizes=((4, 3), (5, 3)), trees=None, again=()):
    """One owner sees the tables, and knows its own noise in those of its columns.

    Without an observer: the analyst, who knows neither. Pairs to be counted `again` are those of a
    second round.
    """
    sizes = sizes if trees is None else [[tree.size for tree in owner] for owner in trees]

    class Watching(Owner):
        """Sends what it would send without its noise: what it knows is taken off."""

        def _with_noise(self, product, k, exact, noise):
            known = ChangedNoise(noise, np.zeros_like) if self.name == observer else noise
            return super()._with_noise(product, k, exact, known)

    def run(rng, epsilon, n):
        world = World(rng, [list(owner) for owner in sizes], n, trees=trees)
        world.owner_kind = Watching
        world.budget = replace(world.budget, noise_multiplier=multiplier(epsilon))
        if again:
            world.in_two_rounds(*again)
        released = world.run()
        plan, names = released.plan, world.layout.owners
        owner, counted = plan.owner_of, world.layout.counted_by
        exact = [by_hand(*both) for both in zip(counted, np.hstack(world.codes).T, strict=True)]
        found = [released.one_way - np.concatenate([table for tables in exact for table in tables])]
        # The tables of a column share its budget.
        stds = [
            np.full(sum(map(len, tables)), plan.single_std * math.sqrt(len(tables)))
            for tables in exact
        ]
        # By a tree, codes follow from noise: two-way tables have another size in every run.
        noise = [] if trees else zip(world.noise(released), plan.every, strict=True)
        for table, (pair, std) in noise:
            both_add = plan.is_cross(pair) and observer not in [names[owner[j]] for j in pair]
            found.append(table.ravel())
            stds.append(np.full(table.size, std * (math.sqrt(2) if both_add else 1)))
        charges = {name: book.charges() for name, book in world.books.items()}
        # One record leaves a cell and comes to another in every table that an owner adds noise to.
        squares = {
            name: sum(2 / plan.single_std**2 for j in range(len(counted)) if owner[j] == p)
            + sum(2 / std**2 for (i, j), std in plan.every if p in (owner[i], owner[j]))
            for p, name in enumerate(charges)
        }
        mu = {name: math.sqrt(square) for name, square in squares.items()}
        return Left(np.concatenate(found), np.concatenate(stds), charges, mu)

    return run


def rows_of_same_columns(rng, epsilon, n, sizes=(4, 3, 5), owners=3):
    """The coordinator sees the tables of each owner before it adds them up."""
    world = World(rng, [list(sizes)] * owners, n, same_columns=True)
    world.budget = replace(world.budget, noise_multiplier=multiplier(epsilon))
    plan = world.run().plan
    found, stds = [], []
    sent = {(name, type(request)): CODEC.decode(raw) for name, request, raw in world.sent}
    for name, codes in zip(world.layout.owners, world.codes, strict=True):
        counts = sent[name, CountColumns].counts
        exact = [np.bincount(codes[:, j], minlength=size) for j, size in enumerate(sizes)]
        found.append(counts - np.concatenate(exact))
        stds.append(np.full(len(counts), plan.single_std))
        starts = np.cumsum([0, *sizes])
        within = sent[name, Finish].within
        for (i, j), std in plan.every:
            table = np.zeros((sizes[i], sizes[j]), np.int64)
            np.add.at(table, (codes[:, i], codes[:, j]), 1)
            block = within[starts[i] : starts[i + 1], starts[j] : starts[j + 1]]
            found.append((block - table).ravel())
            stds.append(np.full(table.size, std))
    charges = {name: book.charges() for name, book in world.books.items()}
    square = len(sizes) * 2 / plan.single_std**2 + sum(2 / std**2 for _, std in plan.every)
    mu = dict.fromkeys(charges, math.sqrt(square))
    return Left(np.concatenate(found), np.concatenate(stds), charges, mu)


# --- models -------------------------------------------------------------------------------------


def dp_sgd(rng, epsilon, n):
    """Everybody may see the sums of all steps: of rows without gradients they are noise alone."""
    taken, steps = [], 12

    class Network:
        def __init__(self, shapes, rows_, labels, clip):
            self.rows = rows_

        def gradients(self, weights):
            yield np.zeros((len(self.rows), 4))

    class Steps:
        mean = np.zeros(4)
        weights = None

        def __init__(self, *given):
            pass

        def take(self, gradient):
            taken.append(gradient * n * sgd.GRID)

    name = "dpsumm.summary.models.network"
    before = sys.modules.get(name)
    sys.modules[name] = SimpleNamespace(Network=Network, Steps=Steps)
    try:
        examples = Examples(np.zeros((n, 4)), np.full(n, -1), 2, 2, epsilon, DELTA)
        trainer = sgd.SgdTrainer(examples, sgd.DpSgd(hidden=0, steps=steps))
        with Ledger(delta=1e-3) as book:
            trainer.release(book, "model", "weights of a model of", "")
            charges = book.charges()
    finally:
        sys.modules.pop(name)
        if before is not None:
            sys.modules[name] = before
    found = np.rint(np.concatenate(taken)).astype(np.int64)
    # Two points out and two in, each of length 1, in each of the steps.
    std = multiplier(epsilon) * math.sqrt(steps) * 4 * sgd.GRID
    return Left(found, np.full(len(found), std), {"consumer": charges}, {})


def _flat(n, d=60, changed=2, epsilon=1.0, classes=2):
    """An objective without losses, whose minimiser is the slope over lambda."""
    noise = calibrated(
        epsilon, DELTA, changed=changed, n=n, classes=classes, dimension=d, regularization=0.5
    )
    return noise, Objective(np.zeros((n, d)), np.full(n, -1), classes, noise.regularization)


def slope(rng, epsilon, n, classes=2):
    """Everybody sees the weights of a private model: without losses, its slope's noise."""
    noise, _ = _flat(n, epsilon=epsilon, classes=classes)
    examples = Examples(np.zeros((n, 60)), np.full(n, -1), classes, 2, epsilon, DELTA)
    trainer = Perturbed(examples, 0.5)
    with Ledger(delta=1e-3) as book:
        _, drawn = trainer.release(book, "model", "weights of a model of", "")
        charges = book.charges()
    weights = trainer.layers(drawn)[0].ravel()
    # In steps of a thousandth of the noise.
    step = slope_std(n, epsilon, classes=classes) / 1000
    found = np.rint(weights * noise.regularization / step).astype(np.int64)
    return Left(found, np.full(len(found), 1000.0), {"consumer": charges}, {})


@cache
def slope_std(n, epsilon, changed=2, regularization=0.5, classes=2):
    """The slope's noise by the theorem of docs/privacy/private-models.md, computed anew."""
    with mp.workdps(40):
        small = mp.mpf(DELTA) / 100
        low, smoothing = mp.mpf(0), mp.mpf(1)
        while smoothing - low > mp.mpf(10) ** -12:
            middle = (low + smoothing) / 2
            enough = delta_of(1 / mp.mpf(SMOOTHING), middle) <= small
            low, smoothing = (low, middle) if enough else (middle, smoothing)
        each = (epsilon - smoothing) / (2 * changed)
        chain = sum(mp.exp(i * each) for i in range(2 * changed))
        left = (mp.mpf(DELTA) - small) / chain
        if classes == 2:
            curvature, moved = mp.log(1 + 1 / (mp.mpf(4) * n * regularization)), 1.0
        else:  # the largest of K - 1 Gaussians, each of which moves by the root of 2
            bent = 1 + 1 / (mp.mpf(classes) * n * regularization)
            curvature, moved = (classes - 1) * mp.log(bent), math.sqrt(2)
            left /= classes - 1
        return multiplier(float(each - curvature), float(left)) * moved / n


def on_weights(rng, epsilon, n):
    """The second noise of a private model, on the weights, which hides solver and grids."""
    noise, objective = _flat(n, epsilon=epsilon)
    grid = Grid.of(objective, noise)
    # Without a slope the minimiser is 0.
    found = replace(grid, slope_noise=2.0**-18).draw(objective)
    off = (grid.tolerance + grid.slope_step * math.sqrt(60) / 2) / noise.regularization
    off += grid.weight_step * math.sqrt(60) / 2
    std = SMOOTHING * 2 * off / grid.weight_step
    return Left(found, np.full(len(found), std), {}, {})


TARGET = "target's noisy mean embedding"
OF_ROWS = ("one-way", "two-way")
# The first adds noise to two tables of one shape, each with another peer.
THREE = ((4,), (3,), (3,))
TWO = ((2, 2), (2, 2))
# A table of the first owner's own columns and one of both owners' are counted again.
SMALL, AGAIN = ((4, 3), (4, 2)), ((0, 1), (1, 2))
IN_TWO = (*OF_ROWS, "two-way")
TREES = ((WIDE, Tree(3)), (Tree(4), WIDE))
PATHS = [
    Path("Offers, random features, towards owners", offers("random"), (TARGET,)),
    Path("Offers, landmarks, towards owners", offers("landmarks"), (TARGET,)),
    Path("Auction, towards owners", auction, (TARGET, "noisy mean embedding"), 20.0, (30, 90)),
    Path("votes of two classes", votes(2), ("noisy votes",), 0.3, (20, 300)),
    Path("votes of four classes", votes(4), ("noisy votes",), 0.3, (20, 300)),
    Path("votes on a grid", votes(2, grid=7), ("noisy votes",), 0.3, (20,)),
    Path("votes of four classes on a grid", votes(4, grid=3), ("noisy votes",), 0.3, (20,)),
    Path(
        "votes of shards, a record as the unit",
        votes(3, Unit.REPLACE_RECORD, shards=4),
        ("noisy votes",),
        0.3,
        (20, 300),
    ),
    Path("votes of shards, an owner as the unit", votes(3, shards=4), ("noisy votes",), 0.3, (60,)),
    Path(
        "updates of three classes, an owner as the unit",
        updates(3, Unit.WHOLE_OWNER),
        ("noisy moments",),
        1.0,
        (40,),
    ),
    Path(
        "updates of three classes, a record as the unit",
        updates(3, Unit.REPLACE_RECORD),
        ("noisy moments",),
        1.0,
        (40,),
    ),
    Path(
        "updates with points unlike the records, a record as the unit",
        updates(2, Unit.REPLACE_RECORD, rounds=8, apart=True),
        ("noisy moments",),
        1.0,
        (20,),
    ),
    Path("exported model, towards everybody", export, ("sums and products",), 1.0, (10, 60)),
    Path(
        "exported model of three classes",
        partial(export, classes=("a", "b", "c")),
        ("sums and products",),
        1.0,
        (10, 60),
    ),
    Path("rows, towards the analyst", rows(None), OF_ROWS, 0.1),
    Path("rows of two levels, towards the analyst", rows(None, TWO), OF_ROWS, 0.1, (60,)),
    Path("rows of two levels, towards an owner", rows("bank", TWO), OF_ROWS, 0.1, (60,)),
    Path("rows, towards the first owner", rows("bank"), OF_ROWS, 0.1),
    Path("rows, towards the second owner", rows("clinic"), OF_ROWS, 0.1),
    *(
        Path(f"rows in two rounds, towards {who}", rows(of, SMALL, again=AGAIN), IN_TWO, 0.1, (60,))
        for who, of in (("the analyst", None), ("the first owner", "bank"))
    ),
    Path("rows of the same columns, towards everybody", rows_of_same_columns, OF_ROWS, 0.1),
    Path("rows with trees, towards the analyst", rows(None, trees=TREES), OF_ROWS, 0.1),
    Path("rows with trees, towards the first owner", rows("bank", trees=TREES), OF_ROWS, 0.1),
    Path("rows of three owners, towards the analyst", rows(None, THREE), OF_ROWS, 0.1, (60,)),
    Path("rows of three owners, towards the last", rows("registry", THREE), OF_ROWS, 0.1, (60,)),
    Path("DP-SGD, towards everybody", dp_sgd, ("weights of a model of",), 1.0, (60,), False),
    Path(
        "private model's slope, towards everybody",
        slope,
        ("weights of a model of",),
        1.0,
        (400,),
        False,
    ),
    Path(
        "private model's slope, three classes",
        partial(slope, classes=3),
        ("weights of a model of",),
        1.0,
        (400,),
        False,
    ),
    Path("private model's weights", on_weights, (), 1.0, (400,), False),
]
