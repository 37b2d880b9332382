"""Runs a protocol with owners that are elsewhere: bytes out, bytes back, failures, resumption.

An engine has to bring messages to owners and answers back (`Channel`); it knows no protocol. An
owner gets everything that it was asked in the run with every exchange, and so needs to keep
nothing: a restarted owner gives the same answers.

Privacy: what an owner is sent is a function of the curator's requests to it alone. Under Offers an
owner that fails changes nothing for the others; under the Auction it is dropped and the round
repeated, or the run stops, and nobody is told why.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence

from dpsumm.errors import ProtocolError
from dpsumm.exchange.driver import Progress
from dpsumm.exchange.journal import Journal
from dpsumm.exchange.wire import MAX_BYTES, decode, encode
from dpsumm.summary.protocols.curator import Curator, Selection
from dpsumm.summary.protocols.messages import Answer, Describe, Description, Points
from dpsumm.summary.protocols.owner import Owner

# Characters of a reason that are kept: an owner can write anything there.
_REASON = 500
Take = Callable[[str, Answer], None]


class Channel(ABC):
    """How an engine reaches owners."""

    @abstractmethod
    def ask(self, messages: Mapping[str, Sequence[bytes]]) -> Iterator[tuple[str, bytes | str]]:
        """Send each owner its messages and yield (name, answer) as the answers come.

        An answer is bytes, or text that says why there is none. Ends when all have answered or
        when the time is up: an owner that is not yielded was too late.
        """


def answer_all(
    owner: Owner, messages: Sequence[bytes], *, max_bytes: int, max_points: int
) -> bytes:
    """Return an owner's answer to the last of its messages of a run, as bytes.

    Parameters
    ----------
    owner
        Fresh; it goes through the earlier messages first, as in the run.
    messages
        All that it was asked in this run, oldest first.
    max_bytes
        Of all messages together.
    max_points
        Records that the owner is willing to send in a run.

    Raises
    ------
    ProtocolError
        No valid messages, too large, or more records asked for than the owner sends.
    """
    if not messages or sum(map(len, messages)) > max_bytes:
        raise ProtocolError(f"there must be messages, of at most {max_bytes} bytes in all")
    sent = 0
    for message in messages:
        request = decode(message)
        if isinstance(request, Answer):
            raise ProtocolError("the curator sent an answer instead of a request")
        answer = owner.answer(request)
        sent += len(answer.rows) if isinstance(answer, Points) else 0
        if sent > max_points:
            raise ProtocolError(
                "the curator asks for more records than this owner sends in a run; agree on a "
                "smaller summary or parsimony, or raise the owner's max-points"
            )
    return encode(answer)


def describe(
    channel: Channel,
    journal: Journal,
    names: Sequence[str],
    *,
    schema: str,
    max_bytes: int = MAX_BYTES,
) -> tuple[dict[str, Description], dict[str, str]]:
    """Ask owners what their data are like, before anything is released.

    Returns
    -------
    Descriptions by name, and why by name for the owners that gave none.
    """
    described: dict[str, Description] = {}

    def take(name: str, answer: Answer) -> None:
        if not isinstance(answer, Description):
            raise ProtocolError(f"{name!r} was asked to describe its data")
        # Refused here, so that it is not kept: the owner can be put right and asked again.
        if answer.schema != schema:
            raise ProtocolError(
                f"its schema has fingerprint {answer.schema}, this run's is {schema}; "
                "compare the files"
            )
        described[name] = answer

    asked = {name: [encode(Describe())] for name in names}
    failed = _exchange(channel, journal, 0, asked, take, max_bytes)
    return described, failed


def run_across(
    curator: Curator,
    channel: Channel,
    journal: Journal,
    *,
    absent: Mapping[str, str] | None = None,
    minimum: int = 1,
    max_bytes: int = MAX_BYTES,
    progress: Progress | None = None,
) -> tuple[Selection, dict[str, str]]:
    """Run a protocol to its end.

    Parameters
    ----------
    curator
        Fresh, for the owners named; after a resumption it makes the same requests again.
    channel, journal
        To the owners, and of this run.
    absent
        Why by name, for owners that are known to have failed; they are not asked.
    minimum
        Owners without which there is no summary.
    max_bytes
        Largest answer that is read.

    Returns
    -------
    The selection, and why by name for the owners that were left out. Both for the curator only.

    Raises
    ------
    ProtocolError
        Fewer than `minimum` owners remained, or the protocol could not go on. What was released
        and collected is kept: run again under the same name.
    """
    tell = progress or (lambda stage, done, total: None)
    failed = dict(absent or {})
    for name in failed:
        curator.drop(name)
    asked: dict[str, list[bytes]] = {name: [] for name in curator.names}
    step = 0
    tell("release", 0, 1)
    while requests := {n: r for n, r in curator.send().items() if n not in failed}:
        tell("release", 1, 1)
        step += 1
        for name, request in requests.items():
            asked[name].append(encode(request))
        messages = {name: asked[name] for name in requests}
        new = _exchange(channel, journal, step, messages, curator.receive, max_bytes, tell)
        failed.update(new)
        if new:
            curator.drop(*new)
        # Not before the first exchange: whether an owner could describe its data must not decide
        # whether the others get the broadcast of Offers.
        _check_enough(curator, failed, minimum)
    _check_enough(curator, failed, minimum)
    tell("selection", 0, 1)
    selection = curator.select()
    tell("selection", 1, 1)
    return selection, failed


def _check_enough(curator: Curator, failed: Mapping[str, str], minimum: int) -> None:
    left = len(curator.names) - len(failed)
    if left < minimum:
        reasons = "; ".join(f"{name!r} {why}" for name, why in failed.items())
        raise ProtocolError(
            f"{left} owners are left, at least {minimum} are needed ({reasons}). What was released "
            "and collected is kept: put the owners right and run again under the same name, "
            "nothing is charged twice"
        )


def _exchange(
    channel: Channel,
    journal: Journal,
    step: int,
    messages: Mapping[str, Sequence[bytes]],
    take: Take,
    max_bytes: int,
    tell: Progress = lambda stage, done, total: None,
) -> dict[str, str]:
    """Take one answer of each owner; return why for those that failed."""
    waiting, failed = dict(messages), {}
    for name, known in journal.known(step, messages).items():
        take(name, decode(known, max_bytes=max(max_bytes, len(known))))  # type: ignore[arg-type]
        del waiting[name]
    for name, answer in channel.ask(dict(waiting)) if waiting else ():
        if name not in waiting:  # a second answer: the first one counts
            continue
        asked = waiting.pop(name)
        try:
            if isinstance(answer, str):
                raise ProtocolError(answer)
            take(name, decode(answer, max_bytes=max_bytes))  # type: ignore[arg-type]
        except ProtocolError as error:
            failed[name] = f"failed: {str(error)[:_REASON]}"
            continue
        journal.record(step, name, asked, answer)
        tell("owners", len(messages) - len(waiting), len(messages))
    return {**failed, **dict.fromkeys(waiting, "did not answer in time")}
