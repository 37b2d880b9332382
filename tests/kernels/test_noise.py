"""Noise: seeds and shapes; its laws are held against others in test_noise_laws.py."""

import numpy as np
import pytest

from dpsumm import kernels


@pytest.mark.parametrize("draw", [kernels.rounded_normal, kernels.discrete_laplace])
def test_draws_are_repeatable_with_a_seed_only(draw):
    np.testing.assert_array_equal(draw(1e6, 50, 3), draw(1e6, 50, 3))
    assert (draw(1e6, 50, 3) != draw(1e6, 50, 4)).any()
    assert (draw(1e6, 50) != draw(1e6, 50)).any()
    assert draw(np.float32(0.5), np.int64(0)).shape == (0,)


def test_one_seed_gives_two_laws_coins_of_their_own():
    # From one stream, the signs would mostly agree.
    normal, laplace = kernels.rounded_normal(1e6, 2000, 3), kernels.discrete_laplace(1e6, 2000, 3)
    assert 0.4 < (np.sign(normal) == np.sign(laplace)).mean() < 0.6
