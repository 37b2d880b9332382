"""Letters and replies under a clock of our own: which replies count, and when the waiting ends."""

import pytest

from dpsumm.exchange.post import Clock, Post, PostError, Reply, collect


class Stopped(Clock):
    """A clock that goes on only when somebody sleeps."""

    def __init__(self):
        self.time = 0.0

    def now(self):
        return self.time

    def sleep(self, seconds):
        self.time += seconds


class Scripted(Post):
    """`script`: address to (time, reply) pairs; a PostError in place of them is raised."""

    def __init__(self, clock, script):
        self.clock, self.script, self.sent = clock, script, []

    def send(self, address, letter):
        if self.script.get(address) == "refused":
            raise PostError("was not taken")
        if self.script.get(address) == "down":
            raise ConnectionError
        self.sent.append((address, letter))
        return f"to {address}"

    def replies(self, name):
        found = self.script.get(int(name.split()[1]), [])
        if isinstance(found, PostError):
            raise found
        return [reply for at, reply in found if at <= self.clock.now()]


def ask(script, addresses=(1, 2)):
    clock = Stopped()
    post = Scripted(clock, script)
    return list(collect(post, dict.fromkeys(addresses, "?"), 10.0, clock)), clock.time, post


def good(address, content="yes"):
    return Reply(f"to {address}", address, content)


def test_replies_come_as_they_come_and_the_waiting_ends_with_the_last():
    found, time, _ = ask({1: [(3, good(1, "one"))], 2: [(1, good(2, "two"))]})
    assert found == [(2, "two"), (1, "one")]
    assert time == 3


def test_a_late_reply_is_none_and_costs_no_more_than_the_time():
    assert ask({1: [(10.1, good(1))], 2: [(0, good(2))]})[:2] == ([(2, "yes")], 10.0)


@pytest.mark.parametrize("wrong", [Reply("to 2", 1, "no"), Reply("to 9", 1, "no")])
def test_a_reply_to_another_letter_is_passed_over(wrong):
    assert ask({1: [(0, wrong), (0, good(1)), (0, good(1, "again"))]}, (1,))[0] == [(1, "yes")]


def test_a_forged_sender_is_no_answer_and_an_engine_s_word_is_one():
    assert ask({1: [(0, Reply("to 1", 2, "no"))]}, (1,))[0] == []
    assert ask({1: [(0, Reply("to 1", None, "it gave up"))]}, (1,))[0] == [(1, "it gave up")]


def test_one_party_s_failure_is_its_own():
    found, _, post = ask({1: "refused", 2: [(0, good(2))], 3: PostError("unreadable")}, (1, 2, 3))
    assert found == [(1, "was not taken"), (2, "yes"), (3, "unreadable")]
    assert [address for address, _ in post.sent] == [2, 3]


def test_an_engine_that_is_down_is_told_after_everybody_was_sent_a_letter():
    clock = Stopped()
    post = Scripted(clock, {1: "down"})
    with pytest.raises(ConnectionError):
        list(collect(post, {1: "?", 2: "?"}, 10.0, clock))
    assert post.sent == [(2, "?")]
