"""What the rounds of updates show of the public points, and of rare classes."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import dpsumm
from dpsumm.ensemble.students.plain import softmax_of
from dpsumm.ensemble.students.whitened import whitened
from dpsumm.ensemble.terms import Terms
from dpsumm.ensemble.updates.agreement import Agreement
from dpsumm.ensemble.updates.clipping import LEVELS, owner_vector, records_vector
from dpsumm.ensemble.updates.corrected import left_by_clip, unweighted
from dpsumm.ensemble.updates.course import Course
from dpsumm.ensemble.updates.recipe import Recipe
from dpsumm.privacy import Unit
from dpsumm.report.notes import Severity

RECORD = Unit.REPLACE_RECORD


@pytest.mark.parametrize("loud", [False, True])
@pytest.mark.parametrize(("part", "seen"), [(0.4, None), (0.55, 2), (1.2, 1)])
def test_rounds_that_differ_show_strange_points_in_time(part, seen, loud):
    """Each differs from those before by a part of the signal; six sigma are three quarters.

    A function that is lost in noise hides none of it.
    """
    # Of the last row, which is lost in noise, next to nothing is expected.
    expected, noise = np.full(5, 0.03), np.full(5, 0.75 * 0.12 / 6 / np.sqrt(8))
    expected[-1], noise[-1] = 1e-12, 1e4 if loud else 1e-9
    apart = noise.copy()
    apart[0] += part * 0.12
    apart[-1] *= 0.9
    agreement = Agreement(expected)
    told = [number for number in range(1, 8) if agreement.broken(number, apart, noise, 1)]
    assert (told[0] if told else None) == seen


@pytest.mark.parametrize("classes", [2, 3])
def test_what_the_clip_takes_is_what_it_takes_of_records_drawn_from_the_model(rng, classes):
    """The mean by the party's own code, of records that are as the points."""
    points = rng.normal(size=(2000, 4))
    recipe = Recipe(Unit.REPLACE_RECORD.value, 3.0, 1e-5, 2000)
    terms = Terms.of(points, list(range(classes)), 10)
    course = Course(whitened(points, dimensions=4), points, terms, recipe)
    weights = np.random.default_rng(1).normal(size=course.shape)
    weights[0, 0] += 3  # the others are rare
    course.weights, course._p = weights, softmax_of(course._a @ weights)
    course.step = replace(course.step, clip=0.3 * course._radius)
    kept, mean = left_by_clip(course._a, course._squares, course._p, course.step.clip)
    total, draws = np.zeros(course.shape), 200
    for _ in range(draws):
        drawn = (rng.random((2000, 1)) > course._p.cumsum(1)).sum(1)
        y = np.eye(classes)[drawn]
        vector = records_vector(course._a, y, weights, course.gains, course.step.clip)
        total += vector * (course.step.clip / LEVELS) / 2000
    seen = total / draws / course.gains[:, None]
    shown = slice(None) if classes == 2 else slice(1)
    # Five standard deviations of a mean of 400,000 records, each at most the clip long.
    np.testing.assert_allclose(seen[shown], mean[shown], atol=5 * course.step.clip / 400_000**0.5)
    assert np.abs(mean[0]).max() > 0.01  # without a clip it is 0
    assert kept < 0.95 if classes == 2 else (mean[1:] == 0).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_moments_of_parties_that_weigh_classes_are_made_those_of_all_records(rng, classes):
    """By the party's own code, for one party of records whose features have mean 0."""
    points = rng.normal(size=(2500, 4))
    recipe = Recipe(Unit.WHOLE_OWNER.value, 3.0, 1e-5, 2500)
    terms = Terms.of(points, list(range(classes)), 2)
    course = Course(whitened(points, dimensions=4), points, terms, recipe)
    course._a[:, 1:] -= course._a[:, 1:].mean(0)
    places = np.minimum((points[:, 0] + rng.normal(size=2500) > 1.5) * 1 + (points[:, 1] > 1), 2)
    y = np.eye(3)[places][:, :classes]
    y[:, -1] += 1 - y.sum(1)
    even = np.full(classes, 1 / classes)
    given = (course._a, y, course.weights, course.gains, 1.0, even)
    seen = owner_vector(*given) / LEVELS / course.gains[:, None]
    seen -= seen.mean(1, keepdims=True)
    weighted = course._a.T @ course._p / len(y) + seen
    true = course._a.T @ y / len(y)
    assert np.abs(weighted - true)[0].max() > 0.05
    np.testing.assert_allclose(unweighted(weighted, 1.0), true, atol=1e-3)


@pytest.mark.same_draws
@pytest.mark.parametrize(("share", "epsilon", "most"), [(0.03, 1, 20), (0.1, 3, 200)])
def test_a_rare_class_is_ranked_and_seems_as_rare_as_it_is(rng, share, epsilon, most):
    def drawn(n):
        x = rng.normal(size=(n, 8))
        return x, x @ [1, 0.8, -0.6, 0.4, 0, 0, 0, 0] + 0.8 * rng.logistic(size=n)

    def patients(n):
        x, scores = drawn(n)
        return x, (scores > edge).astype(int)

    edge = np.quantile(drawn(100_000)[1], 1 - share)
    parties, points = [patients(300) for _ in range(20)], patients(1500)[0]
    model = dpsumm.learn(parties, points, classes=[0, 1], unit=RECORD, epsilon=epsilon, seed=1)
    x, y = patients(20_000)
    chances = model.predict_proba(x)[:, 1]
    assert roc_auc_score(y, chances) > 0.8
    # The noise of a share has a standard deviation of .006 and .003.
    assert abs(chances.mean() - y.mean()) < 0.02
    assert (np.abs(model._course.weights[1:]).sum(1) > 1e-6).sum() <= most
    assert model.verdict.severity is not Severity.ALARM


@pytest.mark.parametrize("rounds", [1, 2])
def test_a_rare_class_in_one_round_leaves_a_model_that_can_be_judged(rng, rounds):
    points = rng.normal(size=(500, 8))
    recipe = Recipe(RECORD.value, 3.0, 1e-5, 6000, rounds)
    terms = Terms.of(points, [0, 1], 20)
    course = Course(whitened(points, **recipe.features(8, terms)), points, terms, recipe)
    sums = np.zeros(course.shape, dtype=np.int64)
    sums[0] = np.array([1, -1]) * int(0.47 * course.gains[0] / (course.step.clip * course._unit))
    course.take(sums)
    for _ in range(1, rounds):
        course.take(0 * sums)
    assert 0 <= course.chance() <= 1
    assert course.fitted.softmax


def clusters(rng, centres, classes, n):
    """Return n points around centres that belong to classes by turns, and their labels."""
    which = rng.integers(0, len(centres), n)
    return centres[which] + rng.normal(size=(n, centres.shape[1])), which % classes


def share_right(rng, centres, classes, n_parties, n_records, moved=0.0, **options):
    parties = [clusters(rng, centres + moved, classes, n_records) for _ in range(n_parties)]
    points = clusters(rng, centres, classes, 2000)[0]
    updates = dpsumm.Updates(records_per_owner=n_records)
    model = dpsumm.learn(
        parties, points, classes=range(classes), protocol=updates, seed=1, **options
    )
    x, y = clusters(rng, centres, classes, 3000)
    return float((model.predict(x) == y).mean()), model


def test_classes_that_are_far_apart_do_not_look_like_other_people():
    """Few vectors are cut then, and what was taken to be cut made the first model too sure."""
    centres = np.random.default_rng(508).normal(size=(5, 8)) * 2
    right, model = share_right(np.random.default_rng(1), centres, 5, 1000, 20, epsilon=1)
    assert not model.unlike
    assert right > 0.98


@pytest.mark.same_draws
@pytest.mark.parametrize("classes", [2, 3])
def test_other_people_whose_classes_are_far_apart_are_seen_and_learnt(rng, classes):
    """A step that went on too far once ended with all labels exchanged."""
    centres = np.random.default_rng(508).normal(size=(classes, 6)) * 1.5
    moved = np.r_[1.5, 1.5, 0, 0, 0, 0]
    right, model = share_right(rng, centres, classes, 1000, 20, moved=moved, epsilon=1)
    assert model.unlike
    assert right > 0.85


@pytest.mark.same_draws
def test_two_classes_of_several_clusters_are_parted(rng):
    """Columns alone, in a linear model, are right for nine in ten of such points."""
    centres = np.random.default_rng(2).normal(size=(6, 10)) * 1.5
    right, _ = share_right(rng, centres, 2, 100, 100, epsilon=1)
    assert right > 0.95


def test_the_smoothest_functions_on_the_graph_weigh_most(rng):
    points = clusters(rng, rng.normal(size=(4, 6)) * 3, 4, 400)[0]

    def graph(leading):
        basis = whitened(points, dimensions=9, eigenvectors=20, leading=leading)
        return basis.blocks[1].vectors

    flat, steep = graph(10**9), graph(5)
    np.testing.assert_allclose(steep, flat / (1 + np.arange(20) / 5), rtol=1e-6, atol=1e-9)
