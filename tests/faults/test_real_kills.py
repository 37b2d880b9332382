"""What the system kills leaves the same as what the other tests kill, and is resumed."""

import multiprocessing
import os
import signal
from itertools import pairwise
from pathlib import Path

import pytest
import worlds

from helpers.crashes import left_by, live, make, plans, resumed
from helpers.disk import Fault, once
from helpers.patience import PATIENCE


@pytest.fixture(scope="module")
def forks():
    """Processes from a server that has the package loaded already: quick to start."""
    folders = [str(Path(worlds.__file__).parent), str(Path(worlds.__file__).parents[1])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(folders), prepend=os.pathsep)
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["worlds"])
        yield context


@pytest.mark.parametrize("name", ["Offers", "Auction"])
def test_a_process_that_the_system_kills_is_resumed(name, whole, disk, tmp_path, forks):
    one = whole(name)
    kills = [act for act, what, _ in plans(one.life.acts) if what == "kill after"]
    # All over the run, the last ones too.
    for act in [*kills[3 : -2 : len(kills) // 6], *kills[-2:]]:
        folder, twin = tmp_path / str(act.number), tmp_path / f"twin {act.number}"
        make(one.world, folder)
        process = forks.Process(
            target=worlds.die, args=(name, folder, act.number, Fault.KILL_AFTER)
        )
        process.start()
        process.join(PATIENCE)
        assert process.exitcode == -signal.SIGKILL
        make(one.world, twin)
        assert live(one.world, disk, twin, once(act.number, Fault.KILL_AFTER)).killed
        assert left_by(one.world, folder) == left_by(one.world, twin), act
        assert resumed(one, disk, folder) == [], act


def test_the_comparison_sees_one_act_more(whole, disk, tmp_path):
    """Control: a process that was killed at another answer or commit leaves something else."""
    one = whole("Offers")
    found = []
    for act, what, plan in plans(one.life.acts):
        if what == "kill after" and act.what.startswith(("INSERT OR REPLACE INTO a", "COMMIT")):
            make(one.world, tmp_path / str(act.number))
            live(one.world, disk, tmp_path / str(act.number), plan)
            found.append(left_by(one.world, tmp_path / str(act.number)))
    assert len(found) > 8
    assert all(one != other for one, other in pairwise(found))
