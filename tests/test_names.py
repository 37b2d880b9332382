"""Names of owners that could be taken for options, folders or other files are refused."""

import numpy as np
import pytest

import dpsumm
from dpsumm.errors import InvalidParameterError
from dpsumm.names import check_name

UNSAFE = [
    "",
    "-rf",
    ".",
    "..",
    ".x",
    "a/b",
    "a\\b",
    "a\nb",
    "a\x1b[2J",
    "a\u202eb",
    "nul",
    "COM1.csv",
    "a" * 101,
    " a",
    "a.",
    "c:x",
]


@pytest.mark.parametrize("name", UNSAFE)
def test_an_unsafe_name_is_refused(name):
    with pytest.raises(InvalidParameterError):
        check_name(name, "owners")
    points = np.zeros((10, 2))
    with pytest.raises(InvalidParameterError, match="owners"):
        dpsumm.summarize({name: points}, points, bounds=(0, 1), size=2)


@pytest.mark.parametrize("name", ["north", "north 2", "Z\u00fcrich", "a.b_c-d", "owner (1)"])
def test_other_names_are_taken(name):
    check_name(name, "owners")
