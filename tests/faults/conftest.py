"""Every world's undisturbed run, made once for the file that asks for it."""

import pytest
from worlds import WORLDS

from helpers.crashes import Whole
from helpers.disk import Disk


@pytest.fixture(scope="module")
def disk():
    """The disk of all trials of a file."""
    with Disk() as disk:
        yield disk


@pytest.fixture(scope="module")
def whole(tmp_path_factory, disk):
    """Return a subsystem's undisturbed run by its name."""
    made = {}

    def of(name):
        if name not in made:
            made[name] = Whole.of(WORLDS[name](), disk, tmp_path_factory.mktemp(name) / "whole")
        return made[name]

    return of
