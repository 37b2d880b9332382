"""What the rounds of updates show of the public points."""

import numpy as np
import pytest

import dpsumm
from dpsumm.ensemble.students.whitened import whitened
from dpsumm.ensemble.terms import Terms
from dpsumm.ensemble.updates.course import Course
from dpsumm.ensemble.updates.recipe import Recipe
from dpsumm.privacy import Unit


@pytest.mark.parametrize(("part", "seen"), [(0.15, None), (0.35, 5), (0.8, 1)])
def test_rounds_that_differ_show_strange_points_in_time(rng, part, seen):
    """Each differs from those before by a part of the signal; six sigma are three quarters."""
    points = rng.normal(size=(200, 3))
    recipe = Recipe(Unit.WHOLE_OWNER.value, 1.0, 1e-5, 1000)
    course = Course(whitened(points, dimensions=3), points, Terms.of(points, [0, 1], 50), recipe)
    signal, rows = float(course._expected.sum()), len(course._expected)
    variance = np.full(rows, 0.75 * signal / 6 / np.sqrt(2 * rows))
    # Nothing was seen before a round that is not as noisy as it.
    course._precision = np.full(rows, 1e12 / signal)
    apart = np.sqrt(part * signal + rows * (variance[0] + signal / 1e12))
    moments = np.zeros(course.shape)
    moments[0] = apart * np.array([1, -1]) / np.sqrt(2)
    told = []
    for number in range(1, 8):
        course.rounds = number
        if course._strange(moments, variance):
            told.append(number)
    assert (told[0] if told else None) == seen


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
