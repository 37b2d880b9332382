"""Draws of a key: each number by its place, sets that are all equally likely."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsumm.errors import InvalidParameterError
from dpsumm.kernels import Draws

KEYS = st.binary(min_size=32, max_size=32)


@given(KEYS, st.lists(st.integers(0, 40), max_size=6))
def test_numbers_belong_to_their_places(key, cuts):
    draws, parts = Draws(key), [0, *sorted(cuts), 50]
    pieces = [draws.units(start, stop - start) for start, stop in pairwise(parts)]
    np.testing.assert_array_equal(np.concatenate(pieces), draws.units(0, 50))


@given(KEYS, st.integers(0, 2**60), st.integers(0, 60))
def test_a_set_has_different_numbers_in_order(key, more, count):
    drawn = Draws(key).subset(more + count, count)
    assert len(drawn) == count
    assert (np.diff(drawn) > 0).all()
    assert not count or 0 <= drawn[0] <= drawn[-1] < more + count


def test_the_numbers_are_those_of_the_first_version():
    """An owner that is asked again years later answers the same."""
    draws = Draws(bytes(32))
    assert draws.units(0, 2).tolist() == [0.5634451882632473, 0.15914191768880792]
    assert draws.units(2**62, 1).tolist() == [0.5963110896861495]
    assert draws.subset(1000, 5).tolist() == [195, 237, 499, 671, 978]


def test_numbers_and_members_are_uniform():
    units = np.concatenate([Draws(bytes([i] * 32)).units(i, 4000) for i in range(25)])
    counts = np.histogram(units, 20, (0, 1))[0]
    assert abs(counts - 5000).max() < 5.5 * 5000**0.5  # 1e-6 for all twenty together
    drawn = [Draws(i.to_bytes(32, "little")).subset(50, 7) for i in range(5000)]
    members = np.bincount(np.concatenate(drawn), minlength=50)
    assert abs(members - 700).max() < 5.7 * (700 * (1 - 7 / 50)) ** 0.5


@pytest.mark.parametrize(
    ("key", "name", "numbers", "wrong"),
    [
        (b"short", "units", (0, 1), "key"),
        (bytes(32), "units", (-1, 1), "first"),
        (bytes(32), "units", (0, 1.5), "count"),
        (bytes(32), "subset", (3, 4), "count"),
        (bytes(32), "subset", (-1, 0), "total"),
    ],
)
def test_what_is_out_of_range_is_refused(key, name, numbers, wrong):
    with pytest.raises(InvalidParameterError, match=wrong):
        getattr(Draws(key), name)(*numbers)
