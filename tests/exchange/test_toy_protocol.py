"""A protocol of its own on the exchange: a sum over parties, with messages of its own.

It knows nothing of summaries; what it gets from the exchange is the codec, both drivers, the
journal, and failures.
"""

from dataclasses import dataclass

import numpy as np
import pytest

from dpsumm.errors import InvalidParameterError, ProtocolError
from dpsumm.exchange.across import Channel, answer_all, run_across
from dpsumm.exchange.codec import Codec, Kind
from dpsumm.exchange.driver import run_in_process
from dpsumm.exchange.fields import is_array, is_whole
from dpsumm.exchange.journal import Journal
from dpsumm.exchange.messages import Answer, Describe, Request
from dpsumm.exchange.roles import Coordinator, Party

# --- the protocol: rounds of "how many of your values are above this?" -----------------------


@dataclass(frozen=True)
class CountAbove(Request):
    levels: np.ndarray


@dataclass(frozen=True)
class Counts(Answer):
    counts: tuple[int, ...]

    def revealed(self, of):
        return 0


CODEC = Codec(
    [
        Kind("CountAbove", CountAbove, lambda m: is_array(m.levels, 1, "f8")),
        Kind("Counts", Counts, lambda m: all(map(is_whole, m.counts)), version=2),
    ]
)


class Counting(Coordinator[int]):
    codec = CODEC

    def __init__(self, names, rounds=2):
        self.names = tuple(names)
        self._left, self._asked, self._total = rounds, {}, 0

    def send(self):
        self._left -= 1
        asked = self.names if self._left >= 0 else ()
        self._asked = {name: CountAbove(np.array([float(self._left)])) for name in asked}
        return dict(self._asked)

    def receive(self, name, answer):
        if not isinstance(answer, Counts) or len(answer.counts) != 1 or name not in self._asked:
            raise ProtocolError(f"{name!r} was asked for one count")
        del self._asked[name]
        self._total += answer.counts[0]

    def drop(self, *names):
        self.names = tuple(name for name in self.names if name not in names)

    def result(self):
        return self._total


class Holder(Party):
    codec = CODEC

    def __init__(self, values):
        self._values = np.array(values)

    def answer(self, request):
        if not isinstance(request, CountAbove):
            raise ProtocolError(f"no answer to a {type(request).__name__}")
        return Counts(tuple(int((self._values > level).sum()) for level in request.levels))


# --- what the exchange makes of it -----------------------------------------------------------

DATA = {"a": [0.5, 1.5, 2.5], "b": [0.5], "c": [1.5, 1.5]}  # above 1: 2, 0, 2; above 0: 3, 1, 2


class Loopback(Channel):
    """Fresh parties for every exchange; `faults`: name to what comes in place of its answer."""

    def __init__(self, **faults):
        self.faults, self.asked = faults, []

    def ask(self, messages):
        for name, given in messages.items():
            self.asked.append((name, len(given)))
            good = answer_all(Holder(DATA[name]), given, max_bytes=10**6, max_records=0)
            yield name, self.faults.get(name, good)


def test_it_runs_in_one_process():
    told = []
    parties = {name: Holder(values) for name, values in DATA.items()}
    assert run_in_process(Counting(DATA), parties, lambda *what: told.append(what)) == 10
    assert [stage for stage, _, _ in told] == ["requests"] * 2 + ["answers"] * 6 + ["result"] * 2


def test_nobody_is_asked_when_a_stranger_would_be():
    class Silent(Party):
        def answer(self, request):
            raise AssertionError("was asked")

    with pytest.raises(ProtocolError, match=r"requests to \['b'\], who take no part"):
        run_in_process(Counting("ab"), {"a": Silent()})


def test_it_runs_across_a_channel():
    channel = Loopback()
    with Journal(None, "r") as journal:
        assert run_across(Counting(DATA), channel, journal) == (10, {})
    # The second exchange repeats the first request, so parties need to keep nothing.
    assert channel.asked == [(name, n) for n in (1, 2) for name in DATA]


@pytest.mark.parametrize(
    "fault", ["it died", b"garbage", CODEC.encode(Describe()), CODEC.encode(Counts((1, 1)))]
)
def test_a_party_that_fails_is_left_out_and_asked_again_on_resuming(tmp_path, fault):
    with Journal(tmp_path / "journal", "r") as journal:
        total, failed = run_across(Counting(DATA), Loopback(b=fault), journal)
        assert (total, list(failed)) == (9, ["b"])
    with Journal(tmp_path / "journal", "r") as journal:
        with pytest.raises(ProtocolError, match="2 parties are left, at least 3"):
            run_across(Counting(DATA), Loopback(b=fault), journal, minimum=3)
        channel = Loopback()
        assert run_across(Counting(DATA), channel, journal, minimum=3) == (10, {})
    # The others' answers were kept.
    assert channel.asked == [("b", 1), ("b", 2)]


def test_a_journal_of_another_question_is_refused(tmp_path):
    with Journal(tmp_path / "journal", "r") as journal:
        run_across(Counting(DATA), Loopback(), journal)
        with pytest.raises(InvalidParameterError, match="other parameters"):
            run_across(Counting(DATA, rounds=3), Loopback(), journal)


# --- its messages ----------------------------------------------------------------------------


def test_a_codec_knows_its_own_messages_in_their_versions_only():
    written = CODEC.encode(Counts((4, 0)))
    assert b'"kind":"Counts.2"' in written
    assert CODEC.decode(written) == Counts((4, 0))
    first = Codec([Kind("Counts", Counts, lambda m: True)])
    for other in (first, Codec()):
        with pytest.raises(ProtocolError, match="malformed"):
            other.decode(written)
    with pytest.raises(ProtocolError, match="malformed"):
        CODEC.decode(first.encode(Counts((4, 0))))
    with pytest.raises(ProtocolError, match="CountAbove is malformed"):
        first.encode(CountAbove(np.zeros(1)))


@pytest.mark.parametrize("counts", [None, (-1,), (2**62,), (0.5,), ((),)])
def test_a_field_that_is_not_valid_is_neither_written_nor_read(counts):
    with pytest.raises(ProtocolError, match="Counts is malformed"):
        CODEC.encode(Counts(counts))
    loose = Codec([Kind("Counts", Counts, lambda m: True, version=2)])
    with pytest.raises(ProtocolError, match="malformed"):
        CODEC.decode(loose.encode(Counts(counts)))


@dataclass
class Thawed(Request):
    pass


def anything(_):
    return True


@pytest.mark.parametrize(
    ("kinds", "match"),
    [
        ([Kind("Counts", Counts, anything)] * 2, "of its own"),
        ([Kind("Counts", Counts, anything), Kind("Counts", CountAbove, anything)], "of its own"),
        ([Kind("Other", Counts, anything), Kind("Counts", Counts, anything)], "of its own"),
        ([Kind("Describe", Counts, anything)], "of its own"),
        ([Kind("Thawed", Thawed, anything)], "frozen"),
        ([Kind("Holder", Holder, anything)], "frozen"),
        ([Kind("Kind", Kind, anything)], "a Request or an Answer"),
        ([Kind("Counts.2", Counts, anything)], "a word"),
        ([Kind("Counts", Counts, anything, version=0)], "version"),
    ],
)
def test_a_codec_refuses_what_it_could_not_tell_apart(kinds, match):
    with pytest.raises(InvalidParameterError, match=match):
        Codec(kinds)


def test_an_answer_that_says_nothing_counts_as_all_records():
    @dataclass(frozen=True)
    class Silent(Answer):
        pass

    assert Silent().revealed(7) == 7

    class Counted(Holder):
        def answer(self, request):
            return Silent()

    with pytest.raises(ProtocolError, match="more records are asked for"):
        answer_all(Counted([1.0]), [Codec().encode(Describe())], max_bytes=99, max_records=2**60)
