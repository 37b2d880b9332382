"""The curator's way to the owners: Flower's grid, with a time limit on everything."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from logging import INFO

import httpx
from flwr.app import Message, RecordDict
from flwr.serverapp import Grid

from dpsumm.basics.visible import logger
from dpsumm.errors import ProtocolError
from dpsumm.exchange.across import Channel
from dpsumm.exchange.post import POLL, Clock, Post, PostError, Reply, collect
from dpsumm.flower.packing import pack, unpack

log = logger("flwr").log

# Flower reads a query as: whatever `ClientApp.query` answers.
ASK, NAME = "query", "query.name"
# Called with a party's name and its messages: the claim about them, and its signature.
Sign = Callable[[str, Sequence[bytes]], tuple[bytes, bytes]]


class FlowerChannel(Channel):
    """Owners by name over a grid.

    Parameters
    ----------
    timeout
        Seconds that one exchange may take. Flower delivers nothing later either.
    """

    def __init__(
        self, grid: Grid, nodes: Mapping[str, int], timeout: float, sign: Sign | None = None
    ) -> None:
        self._grid, self._nodes, self._timeout = grid, nodes, timeout
        self._sign: Sign = sign or (lambda name, messages: (b"", b""))

    def ask(self, messages: Mapping[str, Sequence[bytes]]) -> Iterator[tuple[str, bytes | str]]:
        """Send and collect. See `Channel.ask`."""
        by_node = {self._nodes[name]: name for name in messages if name in self._nodes}
        for name in messages:
            if name not in self._nodes:
                yield name, "is not connected"
        contents = {
            node: pack(messages[name], "", *self._sign(name, messages[name]))
            for node, name in by_node.items()
        }
        started, received, answers = time.monotonic(), 0, 0
        post = GridPost(self._grid, ASK, self._timeout)
        for node, reply in collect(post, contents, self._timeout, Clock()):
            answer = _answer(reply)
            if isinstance(answer, bytes):
                received, answers = received + len(answer), answers + 1
            yield by_node[node], answer
        # In the curator's log only: owners see nothing of it.
        log(
            INFO,
            "dpsumm: exchange: %.2f s, %d of %d owners, %d bytes sent, %d received",
            time.monotonic() - started,
            answers,
            len(messages),
            sum(len(item) for node in contents for item in messages[by_node[node]]),
            received,
        )


class GridPost(Post[RecordDict, Message]):
    """Single messages of one kind over a grid.

    Parameters
    ----------
    timeout
        Seconds after which Flower forgets a message and its reply.
    """

    def __init__(self, grid: Grid, kind: str, timeout: float) -> None:
        self._grid, self._kind, self._timeout = grid, kind, timeout

    def send(self, address: int, letter: RecordDict) -> str:
        """Push a message. See `Post.send`."""
        try:
            # One by one: Flower tells by its place in the list which one it could not take.
            message = Message(letter, address, self._kind, ttl=self._timeout)
            names = list(self._grid.push_messages([message]))
        except httpx.TransportError:
            raise  # the SuperLink cannot be reached: no owner's failure
        except Exception as error:
            raise PostError(f"could not be sent a message ({type(error).__name__})") from None
        return names[0] or "" if names else ""

    def replies(self, name: str) -> list[Reply[Message]]:
        """Pull the reply to a message. See `Post.replies`."""
        try:
            # One by one: Flower raises if it cannot read a reply, and loses those beside it.
            found = list(self._grid.pull_messages([name]))
        except httpx.HTTPError:
            raise  # the SuperLink's, not the owner's
        except Exception as error:
            raise PostError(f"sent what Flower cannot read ({type(error).__name__})") from None
        return [
            Reply(
                reply.metadata.reply_to_message_id,
                None if reply.has_error() else reply.metadata.src_node_id,
                reply,
            )
            for reply in found
        ]


def _answer(reply: Message | str) -> bytes | str:
    """Return the bytes of a reply, or why there are none."""
    if isinstance(reply, str):
        return reply
    if reply.has_error():
        return f"gave up (Flower error {reply.error.code}: {reply.error.reason})"
    try:
        (data,) = unpack(reply.content).messages
    except (ProtocolError, ValueError):
        return "sent something that is not an answer"
    return data


def find_nodes(
    grid: Grid, names: Sequence[str], *, claimed: bool, timeout: float
) -> dict[str, int]:
    """Return owners' nodes, once all are connected or the time is up.

    Parameters
    ----------
    claimed
        Believe the names that nodes give themselves: for simulations, whose nodes have no keys.
        Otherwise the name is the one that the curator registered the node's public key with.
    """
    end, told = time.monotonic() + timeout, False
    while True:
        infos = list(grid.get_nodes())
        if claimed:
            found = [(info.node_id, "") for info in infos]
        else:
            found = [(info.node_id, info.name) for info in infos if info.name in names]
        if len(found) >= len(names) or time.monotonic() >= end:
            break
        if not told and not claimed:
            absent = sorted(set(names) - {info.name for info in infos})
            log(INFO, "dpsumm: waiting %g s for %s", timeout, ", ".join(absent))
            told = True
        time.sleep(POLL)
    if claimed:
        contents = {node: pack([]) for node, _ in found}
        replies = collect(GridPost(grid, NAME, timeout), contents, timeout, Clock())
        found = [
            (node, unpack(reply.content).name)
            for node, reply in replies
            if not isinstance(reply, str) and reply.has_content()
        ]
        found = [(node, name) for node, name in found if name in names]
    nodes: dict[str, int] = {}
    for node, name in found:
        if name in nodes:
            raise ProtocolError(f"two connected nodes are called {name!r}. Unregister one")
        nodes[name] = node
    return nodes
