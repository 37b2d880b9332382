"""All systems under faults drawn from seeds: a fixed one, and a fresh one in every run."""

import sqlite3
from pathlib import Path

import pytest

from simulator.oracles import Violation
from simulator.plan import CHOICES, Fault, How, Life, Plan
from simulator.planted import BUGS, find
from simulator.search import search
from simulator.systems import SYSTEMS
from simulator.torn import tear
from simulator.world import simulate

# Plans of each search; the default run has two searches of each system.
PLANS = {
    "toy": 40,
    "offers": 20,
    "auction": 12,
    "votes": 30,
    "rows": 8,
    "rows of the same columns": 8,
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_nothing_is_broken_by_the_faults_of_a_fixed_seed(name):
    search(SYSTEMS[name], 1, PLANS[name]).check()


@pytest.mark.parametrize("name", SYSTEMS)
def test_nothing_is_broken_by_the_faults_of_a_fresh_seed(name, seed):
    search(SYSTEMS[name], seed, PLANS[name]).check()


def test_one_seed_is_one_run():
    """Whatever happens, and every byte that is sent."""
    faults = (Fault("letter", 4, How.LOST), Fault("sql", 9, How.TORN, much=9))
    plan = Plan((Life(0, faults), Life(1)))
    worlds = [simulate(SYSTEMS["offers"], plan, seed) for seed in (3, 3, 4)]
    first, again, other = [(world.received, world.sent) for world in worlds]
    assert first == again
    assert first != other


@pytest.mark.parametrize("how", How)
def test_a_fault_makes_a_difference(how):
    """What a plan says of an act, the world does."""
    system, calm = SYSTEMS["toy"], simulate(SYSTEMS["toy"], Plan((Life(0),)))
    sort = next(sort for sort, hows in CHOICES.items() if how in hows)
    faults = tuple(Fault(sort, at, how, "a" if sort == "reply" else "curator", 8) for at in (4, 5))
    if sort == "reply":
        faults = (Fault(sort, 1, how, "a", 8),)
    struck = simulate(system, Plan((Life(0, faults),)))
    assert struck.seen != calm.seen


@pytest.mark.parametrize("share", [0, 0.3, 0.5, 0.99])
def test_half_a_commit_is_undone_by_who_opens_the_file_next(tmp_path, share):
    path = tmp_path / "books.db"
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("CREATE TABLE t (x)")
    db.executemany("INSERT INTO t VALUES (?)", [(b"a" * 3000,)] * 5)
    before = path.read_bytes()
    db.execute("UPDATE t SET x = ?", (b"b" * 5000,))
    db.close()
    assert tear(path, before, share)
    torn = path.read_bytes()
    if share:
        assert torn not in (before, b"")
    db = sqlite3.connect(path)
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert {x for (x,) in db.execute("SELECT x FROM t")} == {b"a" * 3000}
    db.close()


@pytest.mark.slow
def test_a_failure_shrinks_to_a_few_steps():
    found = find("bytes behind the end of an answer are passed over", 1, 300, shrink=True)
    assert isinstance(found.error, Violation)
    (life,) = found.plan.lives
    assert len(life.faults) == 1
    with pytest.raises(Violation, match=f"--system toy --seed {found.number}"):
        found.check()


def test_the_page_says_how_much_is_searched():
    page = " ".join((Path(__file__).parents[2] / "docs" / "faults.md").read_text("utf-8").split())
    assert f"`make test-deep` simulates {2 * sum(PLANS.values())} lifetimes" in page
    assert f"looks for {len(BUGS)} bugs" in page
