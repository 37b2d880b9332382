"""What a distance is compared with: the expectations are those of draws."""

import numpy as np
import pytest

from dpsumm import kernels
from dpsumm.summary.scale import MOST_POOL, scale_of

GAMMA = 0.4


def distance(points, target):
    return kernels.mmd2(np.ascontiguousarray(points), target, GAMMA)


@pytest.mark.same_draws
def test_the_scale_is_what_draws_give_on_average(rng):
    target, pool = rng.normal(0, 1, (200, 2)), rng.normal(1, 1, (80, 2))
    own = kernels.mean_kernel_self(target, GAMMA)
    scale = scale_of(target, own, pool, 10, GAMMA)
    fresh = [distance(target[rng.integers(0, 200, 10)], target) for _ in range(600)]
    drawn = [distance(pool[rng.integers(0, 80, 10)], target) for _ in range(600)]
    # Standard errors are some 3 % of the means.
    assert scale.fresh == pytest.approx(np.mean(fresh), rel=0.2)
    assert scale.random == pytest.approx(np.mean(drawn), rel=0.2)
    assert scale.pool == pytest.approx(distance(pool, target), abs=1e-9)
    assert scale.sampling == pytest.approx(scale.fresh / 20)
    assert scale_of(target, own, pool, 80, GAMMA).random is None


@pytest.mark.same_draws
def test_a_large_pool_is_stood_for_by_some(rng):
    target, pool = rng.normal(0, 1, (50, 2)), rng.normal(1, 1, (3 * MOST_POOL + 1, 2))
    own = kernels.mean_kernel_self(target, GAMMA)
    assert scale_of(target, own, pool, 10, GAMMA).pool == pytest.approx(
        distance(pool, target), rel=0.2
    )
