"""The curator's way to the owners: Flower's grid, with a time limit on everything."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from logging import INFO

import httpx
from flwr.app import Message
from flwr.common.logger import log
from flwr.serverapp import Grid

from dpsumm.errors import ProtocolError
from dpsumm.exchange.across import Channel
from dpsumm.flower.packing import pack, unpack

# Seconds between two looks for answers.
_POLL = 0.25
# Flower reads a query as: whatever `ClientApp.query` answers.
ASK, NAME = "query", "query.name"
# Called with a party's name and its messages: the claim about them, and its signature.
Sign = Callable[[str, Sequence[bytes]], tuple[bytes, bytes]]


class FlowerChannel(Channel):
    """Owners by name over a grid.

    Parameters
    ----------
    grid
        Of the run.
    nodes
        Owner's name to id of its node; an owner without a node never answers.
    timeout
        Seconds that one exchange may take. Flower delivers nothing later either.
    sign
        Signs what every owner is asked; None: nothing is signed.
    """

    def __init__(
        self, grid: Grid, nodes: Mapping[str, int], timeout: float, sign: Sign | None = None
    ) -> None:
        self._grid, self._nodes, self._timeout = grid, nodes, timeout
        self._sign: Sign = sign or (lambda name, messages: (b"", b""))

    def ask(self, messages: Mapping[str, Sequence[bytes]]) -> Iterator[tuple[str, bytes | str]]:
        """Send and collect; see `Channel.ask`."""
        by_node = {self._nodes[name]: name for name in messages if name in self._nodes}
        for name in messages:
            if name not in self._nodes:
                yield name, "is not connected"
        contents = {
            node: pack(messages[name], "", *self._sign(name, messages[name]))
            for node, name in by_node.items()
        }
        started, received, answers = time.monotonic(), 0, 0
        for node, reply in send(self._grid, contents, ASK, self._timeout):
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


def send(
    grid: Grid, contents: Mapping[int, object], kind: str, timeout: float
) -> Iterator[tuple[int, Message | str]]:
    """Send each node its record and yield (node, reply) as they come, until the time is up.

    In place of a reply that Flower cannot read, or of a message that it does not take, comes a text
    that says so. All nodes are sent theirs first: whether a node gets one must not depend on what
    became of another's.
    A reply to anything else, from another node, or after the first one is not yielded.
    """
    end = time.monotonic() + timeout
    waiting: dict[str, int] = {}
    refused: dict[int, Exception] = {}
    for node, content in contents.items():
        # One by one: Flower tells by its place in the list which one it could not take.
        try:
            sent = list(grid.push_messages([Message(content, node, kind, ttl=timeout)]))
        except Exception as error:
            refused[node] = error
            continue
        if sent and sent[0]:
            waiting[sent[0]] = node
    for why in refused.values():
        if isinstance(why, httpx.TransportError):
            raise why  # the SuperLink cannot be reached: no owner's failure
    for node, why in refused.items():
        yield node, f"could not be sent a message ({type(why).__name__})"
    while waiting and time.monotonic() < end:
        # One by one: Flower raises if it cannot read a reply, and loses those that came with it.
        for asked, node in list(waiting.items()):
            try:
                replies = list(grid.pull_messages([asked]))
            except httpx.HTTPError:
                raise  # the SuperLink's, not the owner's
            except Exception as error:
                del waiting[asked]
                yield node, f"sent what Flower cannot read ({type(error).__name__})"
                continue
            for reply in replies:
                metadata = reply.metadata
                if asked not in waiting or metadata.reply_to_message_id != asked:
                    continue
                del waiting[asked]
                if reply.has_error() or metadata.src_node_id == node:
                    yield node, reply
        if waiting:
            time.sleep(min(_POLL, max(0.0, end - time.monotonic())))


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
    names
        The owners of the run.
    claimed
        Believe the names that nodes give themselves: for simulations, whose nodes have no keys.
        Otherwise the name is the one that the curator registered the node's public key with.

    Raises
    ------
    ProtocolError
        Two nodes have one name.
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
        time.sleep(_POLL)
    if claimed:
        contents = {node: pack([]) for node, _ in found}
        replies = send(grid, contents, NAME, timeout)
        found = [
            (node, unpack(reply.content).name)
            for node, reply in replies
            if not isinstance(reply, str) and reply.has_content()
        ]
        found = [(node, name) for node, name in found if name in names]
    nodes: dict[str, int] = {}
    for node, name in found:
        if name in nodes:
            raise ProtocolError(f"two connected nodes are called {name!r}; unregister one")
        nodes[name] = node
    return nodes
