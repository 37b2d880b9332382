"""Every act of a run fails, one by one, or the process ends there; resumed, the run is right."""

import pytest
from show import WHOLE_RUN
from worlds import WORLDS

from dpsumm.errors import InvalidParameterError
from helpers.crashes import RUN, Whole, charges, live, make, plans, recorded, sampled, trial

IN_PARTS = [name for name in WORLDS if name not in WHOLE_RUN]


def check(whole: Whole, disk, faults, folder):
    """Try faults; return how often the run was killed, told, or went on."""
    wrong, ways = [], []
    for number, (act, what, plan) in enumerate(faults):
        way, found = trial(whole, disk, plan, folder / str(number))
        # A lock file that cannot be removed stays, and one that cannot be locked is tried again.
        if not (way == "went on" and f"{act.path or act.what}".endswith(".lock")):
            ways.append(way)
        wrong += [f"{what} at {act}: {text}" for text in found]
    assert not wrong, "\n".join(wrong)
    return ways


@pytest.mark.parametrize("name", WHOLE_RUN)
def test_whatever_fails_the_resumed_run_is_right(name, whole, disk, tmp_path):
    one = whole(name)
    ways = check(one, disk, plans(one.life.acts), tmp_path)
    # Each fault befell the run: it was killed or an error was told, with few exceptions.
    assert min(ways.count("killed"), ways.count("told")) > 50
    assert "went on" not in ways


@pytest.mark.parametrize("name", IN_PARTS)
def test_whatever_is_tried_fails_and_the_resumed_run_is_right(name, whole, disk, tmp_path):
    """Each kind of act, the first and the last time; all of them are for `make faults`."""
    one = whole(name)
    ways = check(one, disk, sampled(one.life.acts), tmp_path)
    assert min(ways.count("killed"), ways.count("told")) > 5


@pytest.mark.parametrize("name", WORLDS)
def test_a_run_that_has_ended_asks_nobody(name, whole, disk, tmp_path):
    world, folder = whole(name).world, tmp_path / "run"
    make(world, folder)
    first = live(world, disk, folder)
    spent = {book: charges(folder / book) for book in world.books}
    again = live(world, disk, folder)
    assert first.wire.sent
    assert again.wire.sent == []
    if name in ("Votes", "Updates"):  # the ledger has all that it is made of
        assert again.result == first.result
    else:
        assert isinstance(again.error, InvalidParameterError)
        assert f"{RUN!r} has ended, its result was saved as {folder / 'out.csv'}" in str(
            again.error
        )
    assert {book: charges(folder / book) for book in world.books} == spent
    assert recorded(folder) == {}


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", IN_PARTS)
def test_whatever_fails_a_long_run_that_is_resumed_is_right(name, whole, disk, tmp_path):
    one = whole(name)
    check(one, disk, plans(one.life.acts), tmp_path)
