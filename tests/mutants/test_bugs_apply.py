"""The planted bugs of `make mutants` are bugs of today's code."""

import ast
from collections import Counter
from pathlib import Path

import plant
import pytest
from bugs import BUGS, GONE

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.id)
def test_its_old_text_occurs_once_and_the_new_one_is_code(bug):
    ast.parse(plant.planted(bug, (ROOT / bug.file).read_text()))


def test_names_are_given_once_and_rooms_have_tests():
    assert not [name for name, n in Counter([*(b.id for b in BUGS), *GONE]).items() if n > 1]
    assert {bug.room for bug in BUGS} <= plant.TESTS.keys()
    for tests in plant.TESTS.values():
        assert all((ROOT / test.split("::")[0]).exists() for test in tests)
