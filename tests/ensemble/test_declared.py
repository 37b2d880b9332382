"""Classifiers as numbers: they vote as their originals, and no number makes them do more."""

import dataclasses
import pickle
import tracemalloc
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import (
    LogisticRegression,
    Perceptron,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

import dpsumm
from dpsumm import Voting
from dpsumm.ensemble import Spectral
from dpsumm.ensemble.ballots import ballot_of, train
from dpsumm.ensemble.conversion import declare
from dpsumm.ensemble.curator import ClassifierCurator
from dpsumm.ensemble.declared import MOST_BYTES, MOST_STEPS, Forest
from dpsumm.ensemble.messages import CODEC, Classifiers, ClassifierTask
from dpsumm.ensemble.party import Declarer
from dpsumm.ensemble.terms import Terms
from dpsumm.errors import InvalidParameterError, ProtocolError
from dpsumm.exchange.messages import Describe
from dpsumm.privacy import Ledger, Unit
from helpers.votes import by_votes

SOFT = [
    LogisticRegression(),
    LinearDiscriminantAnalysis(),
    GaussianNB(),
    BernoulliNB(binarize=0.2),
    MultinomialNB(),
    DecisionTreeClassifier(max_depth=4, random_state=0),
    DecisionTreeClassifier(max_leaf_nodes=6, random_state=0),
    ExtraTreeClassifier(random_state=0),
    RandomForestClassifier(5, random_state=0),
    ExtraTreesClassifier(5, max_leaf_nodes=9, random_state=0),
]
HARD = [RidgeClassifier(), LinearSVC(), Perceptron(), SGDClassifier(random_state=0)]


def made(rng, n_classes, n=120):
    x = np.abs(rng.normal(size=(n, 3)))
    y = (x @ np.arange(3) * 1.3).astype(int) % n_classes
    return x, y


def apart(classifier, points):
    """Whether the two largest chances of each point differ, (n,)."""
    chances = np.sort(classifier.predict_proba(points), axis=1)
    return chances[:, -1] - chances[:, -2] > 1e-9


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("grid", [1, 20])
@pytest.mark.parametrize("kind", [*SOFT, *HARD], ids=lambda kind: repr(kind)[:30])
def test_numbers_vote_as_the_classifier(kind, grid, n_classes, rng):
    """With a class more and one less than the public ones, and across the wire."""
    if grid > 1 and kind in HARD:
        return
    x, y = made(rng, n_classes)
    points = np.abs(rng.normal(size=(200, 3)))
    shards = [
        clone(kind).fit(x, y),
        clone(kind).fit(x, y[::-1] + 1),
        -1,
        1,
    ]
    classes = (*range(n_classes), -5)
    terms = Terms.of(points, classes, 2, grid=grid, shards=4)
    numbers = declare(shards, terms.classes, "p", 3)
    message = Classifiers("r", 3, numbers)
    read = CODEC.decode(CODEC.encode(message))
    # The class that only the second shard knows is not listed: there it takes the next best, in
    # numbers as with probabilities; a predicted label alone would abstain.
    total = read.classifiers.votes(points, terms)
    assert (total >= 0).all()
    assert set(total.sum(1)) <= {2 * grid, 3 * grid}
    certain = ballot_of(shards[0])(points, terms) + ballot_of(1)(points, terms)
    second = ballot_of(shards[1])(points, terms)
    if grid > 1:  # equal remainders may be rounded otherwise, by one in each shard
        assert abs(total - certain - second).max() <= 2
    else:
        listed = second.sum(1) == 1
        if kind in SOFT:  # of equal chances the last bit decides
            listed &= np.all([apart(one, points) for one in shards[:2]], axis=0)
        assert (total[listed] == (certain + second)[listed]).all()


def test_what_cannot_be_numbers_is_refused(rng, monkeypatch):
    x, y = made(rng, 2)

    class Own(LogisticRegression):
        def predict(self, points):
            raise AssertionError("code of a party was run")

    tree, line = DecisionTreeClassifier().fit(x, y), LogisticRegression().fit(x, y)
    for given in (
        [KNeighborsClassifier().fit(x, y)],
        [make_pipeline(GaussianNB()).fit(x, y)],
        [Own().fit(x, y)],
        [tree, line],
    ):
        with pytest.raises(InvalidParameterError, match="cannot be sent as plain numbers"):
            declare(given, (0, 1), "p", 3)
    for one in (tree, line, GaussianNB().fit(x, y)):
        with pytest.raises(InvalidParameterError, match="columns"):
            declare([one], (0, 1), "p", 4)
    monkeypatch.setattr("dpsumm.ensemble.conversion.MOST_BYTES", 60)
    with pytest.raises(InvalidParameterError, match="bytes, at most"):
        declare([line], (0, 1), "p", 3)


def declared(one, two):
    return declare([one, two], (0, 1), "p", 2)


def test_a_record_that_makes_a_classifier_unfit_to_send_moves_its_shard_alone(rng, monkeypatch):
    """Infinite numbers, or a forest that grew too large: an error would tell everybody."""
    points = rng.normal(size=(30, 2))
    terms = Terms.of(points, (0, 1), 2, shards=2)
    x, y = np.ones((8, 2)), np.arange(8) % 2
    odd = x.copy()
    odd[0] = 3
    other = GaussianNB().fit(rng.normal(size=(8, 2)), y)
    one = declared(GaussianNB().fit(odd, y), other)
    with np.errstate(all="ignore"):
        two = declared(GaussianNB().fit(x, y), other)  # no variance
    assert one.known.all()
    assert two.known.tolist() == [[False, False], [True, True]]
    assert (two.votes(points, terms).sum(1) == 1).all()
    small = DecisionTreeClassifier(max_depth=1).fit(points, points[:, 0] > 0)
    large = DecisionTreeClassifier().fit(points, np.arange(30) % 2)
    monkeypatch.setattr("dpsumm.ensemble.conversion.MOST_BYTES", 2 * 200)
    assert declared(small, small).known.all()
    assert declared(large, small).known.tolist() == [[False, False], [True, True]]


def test_softmax_is_said_by_the_public_classes_not_by_those_met(rng):
    """The grid needs probabilities; a third class among a party's records must not refuse them."""
    x, y = made(rng, 2)
    line = LogisticRegression(solver="liblinear").fit(x, y)
    assert declare([line], (0, 1), "p", 3).probabilities
    assert not declare([line], (0, 1, 2), "p", 3).probabilities


def test_damaged_numbers_are_neither_written_nor_read(rng):
    x, y = made(rng, 3)
    tree = declare([DecisionTreeClassifier(max_depth=3).fit(x, y)], (0, 1, 2), "p", 3)
    line = declare([LogisticRegression().fit(x, y)], (0, 1, 2), "p", 3)
    bayes = declare([GaussianNB().fit(x, y)], (0, 1, 2), "p", 3)
    n = len(tree.left)
    circle = tree.left.copy()
    circle[np.flatnonzero(circle > 0)[-1]] = 0
    beyond = tree.right.copy()
    beyond[0] = n
    column = tree.feature.copy()
    column[0] = 3
    shared = tree.left.copy()
    shared[0] = tree.right[0]
    twice = {name: np.repeat(getattr(tree, name), 2) for name in ("roots", "tree_shard")}
    for numbers, change in (
        (tree, {"left": circle}),
        (tree, {"right": beyond}),
        (tree, {"feature": column}),
        (tree, {"feature": column.astype(np.int64)}),
        (tree, {"left": shared}),
        (tree, {"roots": np.array([n], np.int32)}),
        (tree, twice),
        # A second tree in the midst of the first one.
        (tree, {"roots": np.array([0, 2], np.int32), "tree_shard": twice["tree_shard"]}),
        (tree, {"tree_shard": np.array([1], np.int32)}),
        (tree, {"values": -tree.values}),
        (tree, {"threshold": tree.threshold * np.nan}),
        (line, {"weights": line.weights * np.inf}),
        (line, {"bias": line.bias[:, :2]}),
        (line, {"above": float("nan")}),
        (line, {"softmax": 1}),
        (bayes, {"variance": bayes.variance * 0}),
        (bayes, {"mean": bayes.mean[:, :2]}),
        (bayes, {"known": bayes.known.astype(np.int8)}),
        (bayes, {"known": None}),
    ):
        with pytest.raises(ProtocolError, match="Classifiers is malformed"):
            CODEC.encode(Classifiers("r", 3, dataclasses.replace(numbers, **change)))
    with pytest.raises(ProtocolError, match="Classifiers is malformed"):
        CODEC.encode(Classifiers("r", 3, LogisticRegression()))
    assert len(CODEC.encode(Classifiers("r", 3, tree))) < 10_000


def test_a_value_at_which_learners_freeze_moves_its_shard_alone(rng):
    x, y = made(rng, 2)
    x[1, 0] = 1e99  # LinearSVC never ends
    known = np.arange(len(x))
    one, other = train(x, y, known, learner=LinearSVC(), classes=(0, 1), shards=2, name="p")
    assert other == -1
    alone = LinearSVC().fit(x[::2], y[::2])
    assert (one.predict(x[::2]) == alone.predict(x[::2])).all()


def a_chain(levels):
    """A forest of one tree with a leaf at every level."""
    n = 2 * levels - 1
    left, right = np.full((2, n), -1, np.int32)
    inner = np.arange(0, n - 2, 2)
    left[inner], right[inner] = inner + 1, inner + 2
    one = np.zeros(1, np.int32)
    values = np.ones((n, 2))
    return Forest(
        np.ones((1, 2), bool), one, one, left, right, np.zeros(n, np.int32), values[:, 0], values
    )


def test_a_forest_that_takes_too_long_is_not_read():
    for levels, deep in ((5, False), (MOST_STEPS, False), (MOST_STEPS + 1, True)):
        message = Classifiers("r", 1, a_chain(levels))
        if deep:
            with pytest.raises(ProtocolError, match="Classifiers is malformed"):
                CODEC.encode(message)
        else:
            assert CODEC.decode(CODEC.encode(message)).n_columns == 1


def test_forests_of_levels_times_points_abstain_each_for_its_shard(monkeypatch, rng):
    x, y = made(rng, 2)
    points, deep = rng.normal(size=(40, 3)), DecisionTreeClassifier()
    terms = Terms.of(points, (0, 1), 2, shards=2)
    kinds = [deep.fit(x, y), DecisionTreeClassifier(max_depth=1).fit(x, y)]
    numbers = declare(kinds, (0, 1), "p", 3)
    assert [numbers.steps(shard) for shard in (0, 1)] == [deep.get_depth() + 1, 2]
    assert (numbers.votes(points, terms).sum(1) == 2).all()
    monkeypatch.setattr("dpsumm.ensemble.declared.MOST_WORK", 2 * 40 * 2)
    quick = kinds[1].predict(points)
    np.testing.assert_array_equal(numbers.votes(points, terms), np.eye(2, dtype=int)[quick])


def test_votes_in_blocks_are_those_of_all_points(monkeypatch, rng):
    x, y = made(rng, 3)
    points = rng.normal(size=(50, 3))
    terms = Terms.of(points, (0, 1, 2), 2, grid=5)
    for kind in (LogisticRegression(), GaussianNB(), DecisionTreeClassifier()):
        numbers = declare([kind.fit(x, y)], (0, 1, 2), "p", 3)
        whole = numbers.votes(points, terms)
        with monkeypatch.context() as patch:
            patch.setattr("dpsumm.ensemble.declared._ROWS", 7)
            np.testing.assert_array_equal(numbers.votes(points, terms), whole)


def test_a_forest_that_is_too_large_is_not_made(rng):
    """Of two known classes and a thousand listed ones the numbers are 500 times the forest."""
    x = rng.normal(size=(3000, 2))
    tree = DecisionTreeClassifier().fit(x, rng.integers(0, 2, 3000))
    tracemalloc.start()
    try:
        numbers = declare([tree], tuple(range(1000)), "p", 2)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 8 * 1000 * tree.tree_.node_count > MOST_BYTES
    assert not numbers.known.any()
    assert most < 2**20


def test_numbers_that_overflow_still_vote_within_the_grid(rng):
    x, y = made(rng, 3)
    points = rng.normal(size=(30, 3)) * 1e200
    terms = Terms.of(points, (0, 1, 2), 2, grid=5)
    for kind in (LogisticRegression(), GaussianNB(), DecisionTreeClassifier()):
        numbers = declare([kind.fit(x, y)], (0, 1, 2), "p", 3)
        arrays = {
            name: np.sign(value) * 1e300 if value.dtype == np.float64 else value
            for name, value in vars(numbers).items()
            if isinstance(value, np.ndarray)
        }
        arrays.pop("variance", None)
        votes = dataclasses.replace(numbers, **arrays).votes(points, terms)
        assert set(votes.sum(1)) <= {0, 5}
        assert (votes >= 0).all()


def curator_of(points, terms, book):
    names = [f"p{i}" for i in range(terms.n_parties)]
    return ClassifierCurator(
        points,
        terms,
        names,
        unit=Unit.WHOLE_OWNER,
        epsilon=1,
        delta=1e-5,
        ledger=book,
    )


def test_parties_receive_nothing_that_depends_on_the_points(rng):
    """The bytes they are sent, for other points and other answers of others."""
    x, y = made(rng, 3)
    numbers = declare([GaussianNB().fit(x, y)], (0, 1, 2), "p", 3)
    sent = []
    for points in (rng.normal(size=(30, 3)), rng.normal(size=(50, 3)) + 9):
        terms = Terms.of(points, (0, 1, 2), 2)
        with Ledger(run="r") as book:
            curator = curator_of(points, terms, book)
            tasks = curator.send()
            sent.append({name: CODEC.encode(task) for name, task in tasks.items()})
            curator.receive("p0", Declarer(numbers, (0, 1, 2), 3).answer(tasks["p0"]))
            if len(sent) > 1:
                curator.drop("p1")
            else:
                curator.receive("p1", Declarer(numbers, (0, 1, 2), 3).answer(tasks["p1"]))
            assert curator.send() == {}
            assert curator.result().counts.shape == (len(points), 3)
    assert sent[0] == sent[1]


def test_roles_refuse_what_does_not_fit(rng):
    x, y = made(rng, 3)
    points = rng.normal(size=(30, 3))
    terms = Terms.of(points, (0, 1, 2), 2, grid=4)
    numbers = declare([GaussianNB().fit(x, y)], (0, 1, 2), "p", 3)
    party = Declarer(numbers, (0, 1, 2), 3)
    task = ClassifierTask("r", (0, 1, 2), 4, 1, 3)
    assert party.answer(task).classifiers is numbers
    for change in ({"classes": (0, 1)}, {"shards": 2}, {"n_columns": 4}):
        with pytest.raises(ProtocolError, match="other classes, shards or columns"):
            party.answer(dataclasses.replace(task, **change))
    with pytest.raises(ProtocolError, match="no answer to a Describe"):
        party.answer(Describe())
    hard = declare([RidgeClassifier().fit(x, y)], (0, 1, 2), "p", 3)
    two = declare([GaussianNB().fit(x, y)] * 2, (0, 1, 2), "p", 3)
    with Ledger(run="r") as book:
        curator = curator_of(points, terms, book)
        curator.send()
        for answer, match in (
            (Classifiers("s", 3, numbers), "another run"),
            (Classifiers("r", 3, hard), "no probabilities"),
            (Classifiers("r", 3, two), "are not 1 of 3 classes"),
            (Describe(), "asked for classifiers"),
        ):
            with pytest.raises(ProtocolError, match=match):
                curator.receive("p0", answer)
        curator.receive("p0", Classifiers("r", 3, numbers))


def people(rng, n):
    x = rng.normal(size=(n, 2))
    return x, (x[:, 0] + x[:, 1] > 0).astype(int)


@pytest.mark.same_draws
def test_learning_from_classifiers_keeps_the_model_here(rng):
    parties = {f"p{i}": people(rng, 25) for i in range(50)}
    fitted = {f"c{i}": DecisionTreeClassifier().fit(*people(rng, 25)) for i in range(10)}
    usual = {"learner": GaussianNB(), "student": Spectral(("linear",))}
    given = {"classes": [0, 1], "epsilon": 4, "protocol": Voting(**usual)}
    x, y = people(rng, 2000)
    hidden = {**given, "protocol": Voting(**usual, points_are="consumer")}
    model = dpsumm.learn(parties | fitted, x[:1500], **hidden)
    assert (model.predict(x[1500:]) == y[1500:]).mean() > 0.85
    assert "parties receive nothing that depends on them" in model.privacy.statements()[2]
    with pytest.raises(
        InvalidParameterError, match="would show these points without any guarantee"
    ):
        pickle.dumps(model)
    public = dpsumm.learn(parties, x[:1500], **given)
    again = pickle.loads(pickle.dumps(public))
    assert (again.predict(x[1500:]) == public.predict(x[1500:])).all()
    votes = np.eye(2, dtype=int)[y[:1500]]
    for change, match in (
        ({"parties": {**parties, "v": votes}}, "no party sees the points"),
        ({"learner": KNeighborsClassifier(1)}, "cannot be sent as plain numbers"),
        ({"learner": RidgeClassifier(), "grid": 3}, "predict_proba"),
        ({"parties": {**parties, "v": RidgeClassifier().fit(x, y)}, "grid": 3}, "predict_proba"),
    ):
        call = by_votes({"parties": parties, **change}, **usual, points_are="consumer")
        with pytest.raises(InvalidParameterError, match=match):
            dpsumm.learn(public_points=x[:1500], classes=[0, 1], epsilon=4, **call)


def test_a_forest_of_no_tree_abstains():
    numbers = declare([-1], (0, 1), "p", 2)
    empty = np.zeros(0, np.int32)
    forest = Forest(
        np.ones((1, 2), bool), empty, empty, empty, empty, empty, np.zeros(0), np.zeros((0, 2))
    )
    points = np.zeros((20, 2))
    terms = Terms.of(points, (0, 1), 2)
    assert (numbers.votes(points, terms) == 0).all()
    assert set(forest.votes(points, terms).sum(1)) <= {0, 1}


def test_the_form_hangs_on_the_learner_not_on_what_a_shard_knows():
    constant = declare([1, 0], (0, 1), "p", 3, kind="DecisionTreeClassifier")
    assert isinstance(constant, Forest)
    # 100 classes, 10 shards, 2,200 columns: linear ones would not be sent.
    declare([0] * 10, range(100), "p", 2200, kind="DecisionTreeClassifier")
    with pytest.raises(InvalidParameterError, match="bytes, at most"):
        declare([0] * 10, range(100), "p", 2200, kind="RidgeClassifier")


def test_a_logarithm_of_zero_says_nothing(recwarn):
    points = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 1.0]])
    one = BernoulliNB(alpha=0, force_alpha=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one.fit(points, [0, 0, 1])
    declare([one], (0, 1), "p", 2)
    assert not recwarn.list


def test_a_shard_of_one_class_has_its_share_of_bytes_too():
    classes = range(10_000)
    for known in (177, 178, 255):
        ints = [0] * known + [-1] * (255 - known)
        assert isinstance(declare(ints, classes, "p", 2, kind="DecisionTreeClassifier"), Forest)


@pytest.mark.parametrize("kind", ["LogisticRegression", "GaussianNB", "RandomForestClassifier"])
def test_shards_of_one_class_vote_for_it(kind):
    made = declare([1, -1, 0], (0, 1), "p", 2, kind=kind)
    assert made.known.tolist() == [[False, True], [False, False], [True, False]]
