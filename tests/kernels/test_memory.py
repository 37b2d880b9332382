"""Sizes that no machine can hold are an exception, never the end of the process."""

import numpy as np
import pytest

from dpsumm import kernels


def huge_map():
    kernels.RandomFeatures(2**40, 2**17, gamma=1.0, seed=1, orthogonal=False)


def wrapping_map():
    kernels.RandomFeatures(2**62, 2**17, gamma=1.0, seed=1, orthogonal=False)


def huge_rows():
    features = kernels.RandomFeatures(1, 2**18, gamma=1.0, seed=1, orthogonal=False)
    features.transform(np.zeros((2**24, 1)))


def huge_noise():
    kernels.rounded_normal(1.0, 2**50)


def huge_laplace():
    kernels.discrete_laplace(1.0, 2**62)


@pytest.mark.parametrize("call", [huge_map, wrapping_map, huge_rows, huge_noise, huge_laplace])
def test_what_does_not_fit_the_memory_is_refused(call):
    with pytest.raises(MemoryError, match="does not fit the memory"):
        call()
    assert len(kernels.rounded_normal(1.0, 3)) == 3
