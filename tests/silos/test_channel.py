"""The channel over a grid of our own: late, second, forged and malformed replies."""

from dataclasses import dataclass, field

import httpx
import pytest
from flwr.app import ArrayRecord, ConfigRecord, Error, RecordDict
from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects
from flwr.supercore.task_identity import TaskIdentity

from dpsumm.errors import ProtocolError
from dpsumm.flower.channel import FlowerChannel, find_nodes
from dpsumm.flower.packing import pack, unpack


@pytest.fixture(autouse=True)
def identity():
    """Flower's messages want to know which process makes them."""
    TaskIdentity.run_id = TaskIdentity.task_id = TaskIdentity.node_id = 1


@dataclass
class Metadata:
    reply_to_message_id: str
    src_node_id: int


@dataclass
class Reply:
    metadata: Metadata
    content: object = None
    error: object = None

    def has_error(self):
        return self.error is not None

    def has_content(self):
        return self.content is not None


@dataclass
class Info:
    node_id: int
    name: str = ""


@dataclass
class Grid:
    """Answers with what `script` makes of each message, in one or more looks."""

    script: dict
    infos: list = field(default_factory=list)
    sent: list = field(default_factory=list)
    looks: int = 0

    def get_nodes(self):
        return self.infos

    def push_messages(self, messages):
        (message,) = messages
        node = message.metadata.dst_node_id
        if self.script.get(node) == "refused":
            return []
        self.sent.append((f"m{node}", node, message))
        return [f"m{node}"]

    def pull_messages(self, ids):
        self.looks += 1
        replies = []
        for ident, node, _ in self.sent:
            for reply in self.script.get(node, ()):
                replies.append(
                    Reply(
                        Metadata(reply.get("to", ident), reply.get("from", node)),
                        reply.get("content"),
                        reply.get("error"),
                    )
                )
        return replies


NODES = {"a": 1, "b": 2}


def ask(script, timeout=0.3, names=("a", "b")):
    return list(FlowerChannel(Grid(script), NODES, timeout).ask({n: [b"x"] for n in names}))


def content(data=b"answer"):
    return {"content": pack([data])}


def test_answers_come_by_name():
    assert sorted(ask({1: [content(b"1")], 2: [content(b"2")]})) == [("a", b"1"), ("b", b"2")]


def test_a_second_reply_is_not_yielded():
    assert ask({1: [content(b"1"), content(b"2")]}) == [("a", b"1")]


def test_a_silent_owner_does_not_stop_the_exchange():
    assert ask({1: [content()]}) == [("a", b"answer")]


def test_replies_to_other_messages_and_of_other_nodes_are_ignored():
    assert ask({1: [{**content(), "to": "m9"}], 2: [{**content(), "from": 1}]}) == []


def test_an_owner_that_is_not_connected_or_not_taken_is_told_of():
    assert ask({1: "refused"}, names=("a",)) == []
    assert ask({}, names=("c",)) == [("c", "is not connected")]


@pytest.mark.parametrize(
    "record",
    [
        RecordDict(),
        RecordDict({"dpsumm": ArrayRecord()}),
        RecordDict({"dpsumm": ConfigRecord({"messages": 3, "name": ""})}),
        RecordDict({"dpsumm": ConfigRecord({"messages": ["text"], "name": ""})}),
        RecordDict({"dpsumm": ConfigRecord({"messages": [b"x"]})}),
        RecordDict({"dpsumm": ConfigRecord({"messages": [b"x"], "name": 3})}),
        RecordDict({"other": ConfigRecord({"messages": [b"x"], "name": ""})}),
        RecordDict({"dpsumm": pack([b"x"])["dpsumm"], "more": ConfigRecord()}),
        pack([]),
        pack([b"x", b"y"]),
    ],
)
def test_malformed_replies_are_no_answers(record):
    assert ask({1: [{"content": record}]}) == [("a", "sent something that is not an answer")]


def test_an_error_is_told_to_the_curator():
    ((name, text),) = ask({1: [{"error": Error(1, "why")}]})
    assert name == "a"
    assert "why" in text


def test_a_reply_that_flower_cannot_read_is_that_owners_failure():
    class Unreadable(Grid):
        def pull_messages(self, ids):
            if "m1" in ids:
                raise ValueError("private bytes")
            return super().pull_messages(ids)

    channel = FlowerChannel(Unreadable({2: [content()]}), NODES, 0.3)
    answers = dict(channel.ask({name: [b"x"] for name in "ab"}))
    assert answers == {"a": "sent what Flower cannot read (ValueError)", "b": b"answer"}


@pytest.mark.parametrize("kind", ["ours", "status", "transport"])
def test_a_message_that_is_not_taken_keeps_none_from_the_others(kind):
    request = httpx.Request("POST", "http://superlink")
    error = {
        "ours": ValueError("private bytes"),
        "status": httpx.HTTPStatusError("no", request=request, response=httpx.Response(500)),
        "transport": httpx.ConnectError("no", request=request),
    }[kind]

    class Refusing(Grid):
        def push_messages(self, messages):
            if messages[0].metadata.dst_node_id == 1:
                raise error
            return super().push_messages(messages)

    grid = Refusing({2: [content()]})
    answers = FlowerChannel(grid, NODES, 0.3).ask({name: [b"x"] for name in "ab"})
    if kind == "transport":  # the SuperLink's failure: the run stops and can be resumed
        with pytest.raises(httpx.ConnectError):
            list(answers)
    else:
        name = type(error).__name__
        assert next(answers) == ("a", f"could not be sent a message ({name})")
    assert [node for _, node, _ in grid.sent] == [2]
    if kind != "transport":
        assert list(answers) == [("b", b"answer")]


def test_records_keep_bytes():
    for messages in ([], [b""], [b"a", b"\x00" * 1000]):
        assert unpack(pack(messages, "é")) == (messages, "é", b"", b"")
        assert unpack(pack(messages, "", b"c", b"s")) == (messages, "", b"c", b"s")


def test_no_object_can_be_named_by_who_knows_its_message():
    """Flower serves an object to every registered node that knows its hash."""
    first, second = (set(get_all_nested_objects(pack([b"a guess"]))) for _ in range(2))
    assert first
    assert first.isdisjoint(second)


def test_nodes_are_found_by_registered_names():
    infos = [Info(1, "a"), Info(2, "b"), Info(3, "stranger"), Info(4)]
    grid = Grid({n: [{"content": pack([], "a")}] for n in (3, 4)}, infos)
    # What a node calls itself does not count.
    assert find_nodes(grid, ["a", "b"], claimed=False, timeout=1) == NODES
    assert grid.sent == []
    assert find_nodes(grid, ["a", "c"], claimed=False, timeout=0.3) == {"a": 1}
    with pytest.raises(ProtocolError, match="two connected nodes"):
        find_nodes(Grid({}, [Info(1, "a"), Info(2, "a")]), ["a"], claimed=False, timeout=1)


def test_simulated_nodes_tell_their_names():
    script = {1: [{"content": pack([], "a")}], 2: [{"content": pack([], "b")}]}
    grid = Grid(script, [Info(1), Info(2)])
    assert find_nodes(grid, ["a", "b"], claimed=True, timeout=1) == NODES
