"""An owner's log when any act on its disk fails, or the process ends there: nothing is sent that is
not in the log, and nothing is counted twice.
"""

import shutil
from contextlib import suppress
from itertools import count

import pytest

from dpsumm.errors import DpsummError, InvalidParameterError
from dpsumm.privacy.receipt import Asked
from dpsumm.privacy.receipts import Receipts
from helpers.disk import Disk, Fault, Killed, from_then_on, once

A = Asked("clinic", "run-1", "care")


class Key:
    def sign(self, data):
        return b"seal"


def is_signed(data, seal):
    return seal == b"seal"


def at_most(sent):
    return "too many" if sent.ever > 10 else None


def send(path, answer, records):
    with Receipts(path, Key(), is_signed) as log:
        return log.send(A, answer, records, at_most)


def plans(fault):
    yield lambda number: once(number, fault)
    if fault in (Fault.ERROR, Fault.FULL):
        yield lambda number: from_then_on(number, fault, "sql", "file")


@pytest.fixture
def disk():
    with Disk() as disk:
        yield disk


@pytest.mark.parametrize("fault", Fault)
def test_an_answer_is_sent_in_the_log_and_counted_once(tmp_path, disk, fault):
    made = tmp_path / "made"
    made.mkdir()
    Receipts.create(made / "log", Key(), is_signed).close()
    assert send(made / "log", b"x", 6) is None
    ends = set()
    for plan in plans(fault):
        for number in count():
            folder = shutil.copytree(made, tmp_path / "trial", dirs_exist_ok=True)
            disk.begin(plan(number))
            end = "sent"
            try:
                with disk.process("owner"):
                    assert send(folder / "log", b"y", 4) is None
            except (Killed, DpsummError) as error:
                end = type(error).__name__
            acts = len(disk.log)
            disk.begin()
            with Receipts(folder / "log", Key(), is_signed) as log:
                assert log.fault() is None
                counted = [line.counted for line, _ in log.lines()]
            # Whatever was sent is there; what was not sent may be, which counts too much.
            assert counted == [0, 6, 4] or (end != "sent" and counted == [0, 6])
            ends.add((end, len(counted)))
            assert send(folder / "log", b"y", 4) is None
            assert send(folder / "log", b"z", 1) == "too many"
            shutil.rmtree(folder)
            if number >= acts:
                break
        assert number > 5
    refusal = "Killed" if fault in (Fault.KILL_BEFORE, Fault.KILL_AFTER) else "InvalidDataError"
    assert {("sent", 3), (refusal, 2), (refusal, 3)} == ends


@pytest.mark.parametrize("fault", Fault)
def test_a_log_is_made_or_not_there(tmp_path, disk, fault):
    left = fault in (Fault.KILL_BEFORE, Fault.KILL_AFTER, Fault.LATE_ERROR)
    for number in count():
        folder = tmp_path / str(number)
        folder.mkdir()
        disk.begin(once(number, fault))
        with suppress(Killed, DpsummError), disk.process("owner"):
            Receipts.create(folder / "log", Key(), is_signed).close()
        acts = len(disk.log)
        disk.begin()
        # What a dead process, or an open that denies itself, leaves half made is no log.
        refusals = (DpsummError,) if left else (InvalidParameterError,)
        with suppress(*refusals):
            assert send(folder / "log", b"y", 4) is None
        if number >= acts:
            break
    assert number > 5
