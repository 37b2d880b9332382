"""What the rounds of updates show of the public points."""

import numpy as np
import pytest

from dpsumm.ensemble.students.whitened import whitened
from dpsumm.ensemble.terms import Terms
from dpsumm.ensemble.updates.course import Course
from dpsumm.ensemble.updates.recipe import Recipe
from dpsumm.privacy import Unit


@pytest.mark.parametrize(("part", "seen"), [(0.3, None), (0.7, 5), (1.6, 1)])
def test_rounds_that_differ_show_strange_points_in_time(rng, part, seen):
    """Each differs from those before by a part of the signal; six sigma are one and a half."""
    points = rng.normal(size=(200, 3))
    recipe = Recipe(Unit.WHOLE_OWNER.value, 1.0, 1e-5, 1000)
    course = Course(whitened(points, dimensions=3), points, Terms.of(points, [0, 1], 50), recipe)
    signal, rows = float(course._expected.sum()), len(course._expected)
    variance = np.full(rows, 1.5 * signal / 6 / np.sqrt(2 * rows))
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
