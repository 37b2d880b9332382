"""A second opinion on the samplers: OpenDP's, which are exact too, written by other people.

OpenDP's discrete Laplace law is ours. Its discrete Gaussian is not our rounded normal: at scale s
their variances differ by a relative 1 / (12 s**2). At scale 1/2 the test sees that; from 1000 on no
number of draws that anybody makes would, so there they must agree.
"""

import numpy as np
import opendp.prelude as dp
import pytest

from dpsumm import kernels
from helpers.chance import FALSE_ALARM
from reference import laws

# OpenDP draws some 40,000 a second. A scale off by a tenth then gets p-values near 1e-30.
THEIRS, OURS = 30_000, 400_000


@pytest.fixture(scope="module", autouse=True)
def contrib():
    dp.enable_features("contrib")
    yield
    dp.disable_features("contrib")


def opendp_laplace(scale):
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    return np.array(dp.m.make_laplace(*space, scale=scale)([0] * THEIRS))


def opendp_gaussian(scale):
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=int)
    return np.array(dp.m.make_gaussian(*space, scale=scale)([0] * THEIRS))


@pytest.mark.parametrize(
    ("theirs", "ours", "scale"),
    [
        (opendp_laplace, kernels.discrete_laplace, 0.7),
        (opendp_laplace, kernels.discrete_laplace, 3.0),
        (opendp_laplace, kernels.discrete_laplace, 2.0**20),
        (opendp_gaussian, kernels.rounded_normal, 1000.0),
        (opendp_gaussian, kernels.rounded_normal, 2.0**20),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_opendp_draws_from_the_same_law_and_the_test_sees_a_scale_off_by_a_tenth(
    theirs, ours, scale
):
    sample = theirs(scale)
    assert laws.same_integer_law(sample, ours(scale, OURS), FALSE_ALARM)
    for wrong in (0.9, 1 / 0.9):
        assert not laws.same_integer_law(sample, ours(scale * wrong, OURS), FALSE_ALARM)


def test_at_scale_one_half_a_rounded_normal_is_not_a_discrete_gaussian_and_the_test_sees_it():
    sample = opendp_gaussian(0.5)
    rounded = kernels.rounded_normal(0.5, OURS)
    assert not laws.same_integer_law(sample, rounded, FALSE_ALARM)
    # The noise charged is never the smaller one.
    assert sample.var() < rounded.var()


def test_the_helper_takes_one_law_for_one_law(rng):
    for draw in (
        lambda n: rng.integers(-3, 4, n),
        lambda n: rng.geometric(0.4, n),
        lambda n: np.rint(rng.normal(0, 1e6, n)).astype(int),
    ):
        assert laws.same_integer_law(draw(THEIRS), draw(OURS), FALSE_ALARM)
        assert not laws.same_integer_law(draw(THEIRS), draw(OURS) + 10**5, FALSE_ALARM)
