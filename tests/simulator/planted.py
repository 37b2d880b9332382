"""Bugs that the search must find: each is a slip that a change of the code could bring."""

import math
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from unittest import mock

from dpsumm.ensemble.curator import VoteCurator
from dpsumm.errors import BudgetExceededError
from dpsumm.exchange import across, codec, post
from dpsumm.exchange.journal import Journal
from dpsumm.papers.auction.curator import AuctionCurator
from dpsumm.privacy.ledger import Ledger
from dpsumm.privacy.receipts import Receipts
from dpsumm.privacy.release import PaidNoise
from dpsumm.summary.protocols.offers import OffersCurator
from dpsumm.summary.result import Summary
from dpsumm.vertical import sums
from dpsumm.vertical.messages import TwoWay
from dpsumm.vertical.owner import Owner
from dpsumm.vertical.wire import CODEC
from simulator import network
from simulator.search import Searched, search
from simulator.systems import SYSTEMS
from simulator.world import census

Bug = Callable[[], AbstractContextManager[object]]
# Name to the system that it is looked for in, and the bug.
BUGS: dict[str, tuple[str, Bug]] = {}
# Plans that are tried. Some are found by every plan, the rarest by one in some 160; one in 500
# would be missed with a chance of 2e-9.
MOST = 10_000
_RELEASE, _CLOSE = Ledger.release, Ledger.close


def planted(system: str) -> Callable[[Callable[[], Iterator[None]]], None]:
    def keep(bug: Callable[[], Iterator[None]]) -> None:
        BUGS[bug.__name__.replace("_", " ")] = system, contextmanager(bug)

    return keep


def _patched(target: object, name: str, new: object) -> AbstractContextManager[object]:
    return mock.patch.object(target, name, new)


@planted("offers")
def a_release_is_charged_after_it_was_sent():
    def charge(book):
        for key, charges, drawn, binding in book.__dict__.pop("_pending", []):
            _RELEASE(book, key, charges, lambda drawn=drawn: drawn, binding=binding)

    def release(book, key, charges, draw, *, binding=""):
        charge(book)
        if book.has(key):
            return _RELEASE(book, key, charges, draw, binding=binding)
        drawn = draw()
        book.__dict__.setdefault("_pending", []).append((key, charges, drawn, binding))
        return drawn

    def close(book):
        charge(book)
        _CLOSE(book)

    with _patched(Ledger, "release", release), _patched(Ledger, "close", close):
        yield


@planted("toy")
def nothing_locks_a_second_curator_out():
    with _patched(Journal, "_locked", lambda journal, path: sqlite3.connect(":memory:")):
        yield


@planted("toy")
def a_key_without_the_round():
    def release(book, key, charges, draw, *, binding=""):
        return _RELEASE(book, key.rstrip(" 0123456789"), charges, draw, binding=binding)

    with _patched(Ledger, "release", release):
        yield


@planted("offers")
def a_release_that_is_sent_again_has_fresh_noise():
    def release(book, key, charges, draw, *, binding=""):
        if not book.has(key):
            return _RELEASE(book, key, charges, draw, binding=binding)
        return draw()

    with _patched(Ledger, "release", release):
        yield


@planted("toy")
def the_cap_is_checked_after_the_release():
    def release(book, key, charges, draw, *, binding=""):
        with _patched(Ledger, "check_room", lambda *_: None):
            released = _RELEASE(book, key, charges, draw, binding=binding)
        cap = book.cap("target")
        if cap is not None and book.spent("target")[0] > cap[0]:
            raise BudgetExceededError("above the cap")
        return released

    with _patched(Ledger, "release", release):
        yield


@planted("votes")
def an_answer_that_comes_twice_is_counted_twice():
    receive, exchange = VoteCurator.receive, across._exchange

    def receive_again(curator, name, answer):
        if curator._waiting is not None and name not in curator._absent:
            curator._waiting.add(name)
        receive(curator, name, answer)

    def exchange_all(channel, journal, codec, step, messages, take, max_bytes, *tell):
        class All(across.Channel):
            def ask(self, asked):
                found = set()
                for name, answer in channel.ask(asked):
                    if name in found and isinstance(answer, bytes):
                        take(name, codec.decode(answer))
                    found.add(name)
                    yield name, answer

        return exchange(All(), journal, codec, step, messages, take, max_bytes, *tell)

    with (
        _patched(VoteCurator, "receive", receive_again),
        _patched(across, "_exchange", exchange_all),
        _taken(lambda reply, name: reply.to == name),
    ):
        yield


@planted("toy")
def a_late_answer_of_an_earlier_round_is_taken():
    with _taken(lambda reply, name: True):
        yield


def _taken(counts: Callable[..., bool]) -> AbstractContextManager[object]:
    """Let replies count again and again, and by another rule."""

    def collect(office, letters, timeout, clock):
        end = clock.now() + timeout
        waiting = {office.send(address, letter): address for address, letter in letters.items()}
        found = set()
        while found < set(letters) and clock.now() < end:
            for name, address in waiting.items():
                for reply in office.replies(name):
                    if counts(reply, name):
                        found.add(address)
                        yield address, reply.content
            clock.sleep(post.POLL)

    return _patched(network, "collect", collect)


@planted("toy")
def bytes_behind_the_end_of_an_answer_are_passed_over():
    with _patched(codec._Arrays, "finish", lambda arrays: None):
        yield


@planted("toy")
def an_answer_is_kept_before_it_is_checked():
    exchange = across._exchange

    def hasty(channel, journal, codec, step, messages, *rest):
        class Kept(across.Channel):
            def ask(self, asked):
                for name, answer in channel.ask(asked):
                    if isinstance(answer, bytes):
                        journal.record(step, name, messages[name], answer)
                    yield name, answer

        return exchange(Kept(), journal, codec, step, messages, *rest)

    with _patched(across, "_exchange", hasty):
        yield


@planted("toy")
def what_was_collected_is_asked_for_again():
    with _patched(Journal, "known", lambda journal, step, asked: {}):
        yield


@planted("offers")
def the_journal_forgets_before_the_result_is_saved():
    opened, begin, save = [], Journal.__init__, Summary.save

    def init(journal, *given):
        begin(journal, *given)
        opened.append(journal)

    def forgetful(summary, *given, **more):
        opened[-1].forget()
        save(summary, *given, **more)

    with _patched(Journal, "__init__", init), _patched(Summary, "save", forgetful):
        yield


@planted("offers")
def an_owner_does_not_count_what_it_sends():
    with _patched(Receipts, "send", lambda *_: None):
        yield


@planted("offers")
def an_owner_is_asked_for_more_when_another_fails():
    begin = OffersCurator.__init__

    def init(curator, protocol, setting):
        begin(curator, protocol, setting)
        curator._share = math.ceil(
            protocol.reads_per_record * setting.size / len(setting.n_records)
        )

    with _patched(OffersCurator, "__init__", init):
        yield


@planted("auction")
def points_of_a_round_are_taken_in_twice():
    take_in = AuctionCurator._take_in

    def twice(curator, round_):
        sent = dict(round_.sent)
        take_in(curator, round_)
        for name, again in sent.items():
            curator._received[name].parts.append(again.points)
            curator._received[name].rows += again.points.rows.tolist()
            curator._received[name].scaled += list(again.scaled)

    with _patched(AuctionCurator, "_take_in", twice):
        yield


@planted("rows")
def an_owner_draws_its_tables_past_its_books():
    def released(owner, key, sums, draw, binding, kind):
        return CODEC.decode(draw(PaidNoise(sums.queries)))

    with _patched(Owner, "_released", released):
        yield


@planted("rows of the same columns")
def sums_count_an_owner_twice():
    def twice(answers, right=sums._sum):
        return right([*answers, answers[-1]] if isinstance(answers[0], TwoWay) else answers)

    with _patched(sums, "_sum", twice):
        yield


def find(name: str, number: int, plans: int, *, shrink: bool = False) -> Searched:
    """Plant a bug and search for it, as `search` does."""
    system, bug = SYSTEMS[BUGS[name][0]], BUGS[name][1]
    census(system)  # of a run without it
    with bug():
        return search(system, number, plans, shrink=shrink)
