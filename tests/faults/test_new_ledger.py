"""A ledger whose making fails at any act is whole, or not there, or refused with a way out."""

import pytest

from dpsumm.errors import DpsummError, InvalidDataError, InvalidParameterError
from dpsumm.privacy import Charge, Ledger, Protected, Pure
from helpers.crashes import plans
from helpers.disk import Killed

CAPS = {"target": (1.0, 1e-5)}


def acts_of_a_new_ledger(disk, folder):
    folder.mkdir()
    disk.begin()
    Ledger.create(folder / "books.db", caps=CAPS).close()
    return disk.log


def spend(path):
    with Ledger(path, run="r") as book:
        book.accept()
        charge = Charge(Protected.TARGET, "a test release", Pure(0.9))
        return book.cap("target"), book.release("a", [charge], lambda: b"released")


def made(disk, path, plan):
    """Make a ledger under a plan; return how it ended, with what words."""
    disk.begin(plan)
    try:
        with disk.process("holder"):
            Ledger.create(path, caps=CAPS).close()
    except Killed:
        return "killed", ""
    except DpsummError as error:
        return "told", str(error)
    finally:
        disk.begin()
    return "went on", ""


def refusal(path):
    """Why a file cannot be used as a ledger; empty if it can."""
    try:
        Ledger(path).close()
    except InvalidDataError as error:
        return str(error)
    return ""


def test_a_ledger_is_made_whole_or_not_at_all(tmp_path, disk):
    ways = set()
    for number, (act, what, plan) in enumerate(plans(acts_of_a_new_ledger(disk, tmp_path / "w"))):
        folder = tmp_path / str(number)
        folder.mkdir()
        path = folder / "books.db"
        way, told = made(disk, path, plan)
        ways.add(way)
        assert way != "told" or str(path) in told, (act, what)
        if path.exists() and (refused := refusal(path)):
            # Nothing is charged to it; and both ways say what to do.
            assert "remove it" in refused, (act, what)
            with pytest.raises(InvalidParameterError, match="remove it"):
                Ledger.create(path, caps=CAPS)
            path.unlink()
        if not path.exists():
            for left in folder.iterdir():
                assert ".seen" in left.name, (act, what)
                left.unlink()
            Ledger.create(path, caps=CAPS).close()
        # Never a ledger without its cap.
        assert spend(path) == ((1.0, 1e-5), b"released"), (act, what)
    assert {"killed", "told"} <= ways
