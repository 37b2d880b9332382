"""The search would find a bug: each of these it finds, from any seed, in seconds."""

import pytest

from simulator.oracles import Violation
from simulator.planted import BUGS, MOST, find


@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_is_found(name, seed):
    found = find(name, seed, MOST)
    assert isinstance(found.error, Violation), found.error
