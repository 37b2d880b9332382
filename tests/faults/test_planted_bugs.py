"""The harness finds bugs that are planted in ledger, journal and files."""

import re
import secrets
import uuid
from contextlib import contextmanager
from dataclasses import replace

import pytest

from dpsumm.data import written
from dpsumm.exchange.journal import Journal
from dpsumm.exchange.saving import saving
from dpsumm.privacy.book import Book
from dpsumm.privacy.ledger import Ledger
from dpsumm.privacy.receipts import Receipts
from helpers.crashes import plans, trial

SEND = Receipts.send
RELEASE, DRAW, RECORD, KNOWN = Ledger.release, Ledger._draw, Journal.record, Journal.known


def charged_after_it_is_sent(patch):
    """A release is handed out first and written down when the ledger is closed."""

    def release(self, key, charges, draw, *, binding=""):
        drawn = draw()
        self.__dict__.setdefault("later", []).append((key, charges, drawn, binding))
        return drawn

    def close(self):
        for key, charges, drawn, binding in self.__dict__.pop("later", []):
            RELEASE(self, key, charges, lambda drawn=drawn: drawn, binding=binding)
        self._book.db.close()

    patch.setattr(Ledger, "release", release)
    patch.setattr(Ledger, "close", close)


def not_charged_when_resumed(patch):
    """A run that the ledger knows is taken to have paid."""

    def release(self, key, charges, draw, *, binding=""):
        return draw() if self.resumed else RELEASE(self, key, charges, draw, binding=binding)

    patch.setattr(Ledger, "release", release)


def charged_in_a_transaction_of_its_own(patch):
    """First the charge is committed, then what it is for."""

    def draw(self, key, charges, make, binding):
        released = DRAW(self, key, charges, make, binding)
        where = "WHERE run = ? AND key = ?"
        self._book.db.execute(f"DELETE FROM releases {where}", (self.run, key))
        self._book.chain.add()
        self._book.db.execute("COMMIT")
        self._book.db.execute("BEGIN IMMEDIATE")
        self._book.db.execute(
            "INSERT INTO releases VALUES (?, ?, ?, ?)", (self.run, key, binding, released)
        )
        return released

    patch.setattr(Ledger, "_draw", draw)


def a_fresh_key_for_each_life(patch):
    """What was released is not found again."""

    def release(self, key, charges, draw, *, binding=""):
        life = self.__dict__.setdefault("life", uuid.uuid4().hex)
        return RELEASE(self, f"{key} {life}", charges, draw, binding=binding)

    patch.setattr(Ledger, "release", release)


def a_key_without_its_round(patch):
    """All rounds share one release."""

    def release(self, key, charges, draw, *, binding=""):
        return RELEASE(self, re.sub(r"[-\d]+$", "", key), charges, draw, binding=binding)

    patch.setattr(Ledger, "release", release)


def forgotten_before_the_result_is_kept(patch):
    """Answers are removed, and then the result is written."""

    @contextmanager
    def ending(self, result):
        self.forget()
        yield

    patch.setattr(Journal, "ending", ending)


def the_end_is_not_kept(patch):
    """Answers are removed, and nothing tells that the run has ended."""

    @contextmanager
    def ending(self, result):
        with saving(result, self._run):
            yield
        self.forget()

    patch.setattr(Journal, "ending", ending)


def answers_are_never_removed(patch):
    """The result is written, and the owners' records stay."""

    @contextmanager
    def ending(self, result):
        with saving(result, self._run):
            yield

    patch.setattr(Journal, "ending", ending)


def an_answer_is_kept_at_the_next_one(patch):
    """The journal is one answer behind."""

    def record(self, *answer):
        held = self.__dict__.setdefault("held", [])
        held.append(answer)
        if len(held) > 1:
            RECORD(self, *held.pop(0))

    def known(self, step, asked):
        for answer in self.__dict__.pop("held", []):
            RECORD(self, *answer)
        return KNOWN(self, step, asked)

    patch.setattr(Journal, "record", record)
    patch.setattr(Journal, "known", known)


def the_mark_is_written_before_the_commit(patch):
    """A ledger whose transaction was lost looks like a copy that was put back."""
    begin = Book.begin_change

    def begin_change(self, *, accepted=False):
        begin(self, accepted=accepted)
        if self.chain.seen is not None:
            self.chain.write("0" * 64)

    patch.setattr(Book, "begin_change", begin_change)


def a_file_is_written_in_place(patch):
    """Without a neighbour that replaces it."""

    def write(path, write):
        temporary = path.with_name("whole.csv")
        write(temporary)
        text = temporary.read_bytes()
        path.write_bytes(text[: len(text) // 2])
        temporary.unlink()
        path.write_bytes(text)

    patch.setattr(written, "write_atomically", write)


def an_error_of_the_disk_as_it_is(patch):
    """Nothing is said of what was spent."""

    @contextmanager
    def saving_nothing(result, run):
        yield

    patch.setattr("dpsumm.exchange.journal.saving", saving_nothing)


def an_answer_is_counted_again(patch):
    """What was sent before and is sent again counts as more."""

    def send(self, asked, *given):
        return SEND(self, replace(asked, purpose=secrets.token_hex(8)), *given)

    patch.setattr(Receipts, "send", send)


def a_receipt_is_written_after_the_answer(patch):
    """The log is one answer behind."""

    def send(self, *given):
        LATER.append((self.path, given))
        for where, earlier in LATER[:-1]:
            if where == self.path:
                SEND(self, *earlier)
                LATER.remove((where, earlier))

    LATER.clear()
    patch.setattr(Receipts, "send", send)


LATER: list = []
BUGS = {
    charged_after_it_is_sent: ("Offers", "was sent and is not charged"),
    not_charged_when_resumed: ("Offers", "with other bytes"),
    charged_in_a_transaction_of_its_own: ("Offers", "the charges are not those"),
    a_fresh_key_for_each_life: ("Offers", "the charges are not those"),
    a_key_without_its_round: ("Auction", "not resumed|not those|not one of"),
    forgotten_before_the_result_is_kept: ("Offers", "asked again for what was collected"),
    the_end_is_not_kept: ("Offers", "asked again for what was collected"),
    answers_are_never_removed: ("Offers", "answers are kept after the end"),
    an_answer_is_kept_at_the_next_one: ("Offers", "asked again for what was collected"),
    the_mark_is_written_before_the_commit: ("Offers", "not resumed: .*a copy was put back"),
    a_file_is_written_in_place: ("Offers", "the file of the result is not that"),
    an_error_of_the_disk_as_it_is: ("Offers", "a bare OSError"),
    an_answer_is_counted_again: ("Policies", "not resumed: .*refused by the owner's policy"),
    a_receipt_is_written_after_the_answer: ("Policies", "was sent and is not charged"),
}


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
def test_a_planted_bug_is_found(bug, whole, disk, tmp_path, monkeypatch):
    name, tells = BUGS[bug]
    one = whole(name)  # without the bug
    bug(monkeypatch)
    # In another order than theirs, to find it sooner.
    faults = sorted(
        reversed(list(plans(one.life.acts))), key=lambda fault: fault[1] != "kill after"
    )
    for number, (_, _, plan) in enumerate(faults):
        _, found = trial(one, disk, plan, tmp_path / str(number))
        if any(re.search(tells, text) for text in found):
            return
    pytest.fail(f"{bug.__name__} was not found in {number + 1} trials")
