"""The warning of points that lie where nobody else has any: found, and quiet otherwise."""

import numpy as np
import pytest

import dpsumm
from dpsumm.report.notes import Severity
from dpsumm.summary.notes.space import LEAST_POINTS, nearest, remoteness

KERNEL = dpsumm.RBF(0.025)


def notes(summary):
    return [note for note in summary.notes if "no other owner has any" in note]


def sites(rng, shift, d=20):
    """Four owners, each moved in a direction of its own, and a target."""
    moved = rng.normal(size=(4, d))
    moved *= shift / np.linalg.norm(moved, axis=1, keepdims=True)
    owners = {name: rng.normal(one, 1, (500, d)) for name, one in zip("abcd", moved, strict=True)}
    return owners, rng.normal(0, 1, (500, d))


@pytest.mark.parametrize("shift", [0, 3, 30])
def test_data_that_are_only_shifted_are_no_reason_for_a_note(rng, shift):
    owners, target = sites(rng, shift)
    assert not notes(dpsumm.summarize(owners, target, size=60, kernel=KERNEL))


def test_rows_drawn_evenly_in_many_columns_are_named(rng):
    owners, target = sites(rng, 3)
    owners["x"] = rng.uniform(-5, 5, (5000, 20))
    (note,) = notes(dpsumm.summarize(owners, target, size=60, kernel=KERNEL))
    assert note.startswith("Most points of 'x' lie")
    assert note.severity is Severity.WARNING


def test_the_figure_is_what_it_is_said_to_be(rng):
    pool = rng.normal(size=(120, 3))
    owner, target = np.repeat([0, 1, 2], 40), rng.normal(size=(40, 3))
    pool[owner == 2] *= 3

    def slow(i):
        def gaps(points):
            return [min(np.linalg.norm(x - y) for y in points if x is not y) for x in points]

        parts = [list(pool[owner == j]) for j in range(3)]
        usual = [np.quantile(gaps(part), 0.9) for j, part in enumerate(parts) if j != i]
        unit = max(np.median(usual), np.quantile(gaps(list(target)), 0.9))
        every = [*pool, *target]
        alone = [
            min(np.linalg.norm(x - y) for k, y in enumerate(every) if k != own)
            for own, x in enumerate(pool)
            if owner[own] == i
        ]
        return np.median(alone) / unit

    found = remoteness(pool, owner, target, 3)
    np.testing.assert_allclose(found, [slow(i) for i in range(3)], rtol=1e-9)
    assert found[2] == max(found)


def test_owners_are_compared_at_as_many_points(rng):
    """An owner of fewer points has them further apart, and so have as many of another one."""
    pool, owner = rng.normal(size=(200, 3)), np.repeat([0, 1, 2], [20, 60, 120])
    target, parts = rng.normal(size=(150, 3)), [pool[owner == i] for i in range(3)]

    def usual(points, count):
        few = points[np.linspace(0, len(points) - 1, min(count, len(points))).astype(int)]
        return np.quantile(nearest(few), 0.9)

    for i, (own, found) in enumerate(zip(parts, remoteness(pool, owner, target, 3), strict=True)):
        others = [usual(part, len(own)) for j, part in enumerate(parts) if j != i]
        unit = max(usual(target, len(own)), np.median(others))
        rest = np.concatenate([pool[owner != i], target])
        alone = np.median(np.minimum(nearest(own), nearest(own, rest)))
        assert found == pytest.approx(alone / unit, rel=1e-9)


def test_few_points_equal_points_and_single_owners_are_not_judged(rng):
    few = LEAST_POINTS - 1
    pool, target = rng.normal(size=(few + 30, 2)), rng.normal(size=(50, 2))
    owner = np.repeat([0, 1], [few, 30])
    found = remoteness(pool, owner, target, 3)
    assert np.isnan(found).tolist() == [True, False, True]
    same = remoteness(np.zeros((40, 2)), np.repeat([0, 1], 20), np.zeros((30, 2)), 2)
    assert np.isnan(same).all()
    alone = remoteness(pool[-30:], np.zeros(30, np.int64), target, 1)
    assert alone[0] < 1


def test_nearest_of_equal_points_is_at_distance_nothing():
    points = np.full((3, 2), 1e8)
    assert nearest(points).tolist() == nearest(points, points).tolist() == [0, 0, 0]


def test_nearest_is_exact_far_from_nothing(rng):
    points, others = rng.normal(size=(30, 4)), rng.normal(size=(20, 4))
    far = np.array([1e9, 0, -1e9, 5])
    np.testing.assert_allclose(nearest(points + far), nearest(points), rtol=1e-5)
    expected = [min(np.linalg.norm(x - y) for y in others) for x in points]
    np.testing.assert_allclose(nearest(points + far, others + far), expected, rtol=1e-5)


def test_all_records_are_no_choice_of_their_owner(rng):
    owners, target = sites(rng, 3)
    owners["x"] = rng.uniform(-5, 5, (500, 20))
    made = dpsumm.summarize(
        owners, target, size=60, kernel=KERNEL, protocol=dpsumm.summary.Greedy()
    )
    assert not notes(made)
