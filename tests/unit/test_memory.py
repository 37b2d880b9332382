"""Sizes that no machine can hold are an exception, never the end of the process."""

import numpy as np
import pytest

from dpsumm import _core


def huge_map():
    _core.RandomFeatures("paired", False, 1.0, 10, 2**40, 1)


def wrapping_map():
    _core.RandomFeatures("paired", False, 1.0, 16, 2**62, 1)


def huge_rows():
    features = _core.RandomFeatures("paired", False, 1.0, 1, 2**20, 1)
    features.transform(np.zeros((2**24, 1)))


def huge_noise():
    _core.rounded_normal(1.0, 2**50)


def huge_laplace():
    _core.discrete_laplace(1.0, 2**62)


@pytest.mark.parametrize("call", [huge_map, wrapping_map, huge_rows, huge_noise, huge_laplace])
def test_what_does_not_fit_the_memory_is_refused(call):
    with pytest.raises(MemoryError, match="does not fit the memory"):
        call()
    assert len(_core.rounded_normal(1.0, 3)) == 3
