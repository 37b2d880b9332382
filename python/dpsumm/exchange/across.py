"""Runs a protocol with parties that are elsewhere: bytes out, bytes back, failures, resumption.

An engine has to bring messages to parties and answers back (`Channel`). It knows no protocol. A
party gets everything that it was asked in the run with every exchange, or a round's request that
says everything, and so needs to keep nothing: a restarted party gives the same answers.

Privacy: messages to a party are a function of the coordinator's requests to it alone. The
coordinator decides how a party's failure changes those of others (`Coordinator.drop`), and they do
not learn the reason.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from dpsumm.errors import DpsummError, ProtocolError
from dpsumm.exchange.codec import MAX_BYTES, Codec
from dpsumm.exchange.driver import Progress
from dpsumm.exchange.journal import Journal
from dpsumm.exchange.messages import Answer, Describe, Description, Expect
from dpsumm.exchange.roles import Coordinator, Party, Result_co

# Characters of a reason that are kept: a party can write anything there.
_REASON = 500
# What parties are asked before the protocol begins.
_OPENING = Codec()
Take = Callable[[str, Answer], None]


class Channel(ABC):
    """How an engine reaches parties."""

    @abstractmethod
    def ask(self, messages: Mapping[str, Sequence[bytes]]) -> Iterator[tuple[str, bytes | str]]:
        """Send each party its messages and yield (name, answer) as the answers come.

        An answer is bytes, or text with the reason of its absence. Ends when all have answered or
        when the time is up. A party that is not yielded was too late.
        """


def answer_all(
    party: Party,
    messages: Sequence[bytes],
    *,
    max_bytes: int,
    max_records: int | None,
    before: Callable[[bytes, int], None] | None = None,
) -> bytes:
    """Return a party's answer to the last of its messages of a run, as bytes.

    Parameters
    ----------
    max_records
        Records that the party is willing to reveal in a run (`Answer.revealed`, summed over its
        answers). None if `before` counts them.
    before
        Called with the answer and the number of records that it may reveal, before it is returned.
        Its errors keep the answer here.
    """
    if party.forgets:
        raise ProtocolError(
            f"a {type(party).__name__} answers a run once, and made anew it cannot know. Give it a "
            "file to remember by (dpsumm.ensemble.once.Once)"
        )
    if not messages or sum(map(len, messages)) > max_bytes:
        raise ProtocolError(f"there must be messages, of at most {max_bytes} bytes in all")
    try:
        answer, records = _last_answer(party, messages, max_records)
    finally:
        party.close()
    if before is not None:
        before(answer, records)
    return answer


def _last_answer(
    party: Party, messages: Sequence[bytes], max_records: int | None
) -> tuple[bytes, int]:
    told, answer = 0, None
    for message in messages:
        request = party.codec.decode(message)
        if isinstance(request, Answer):
            raise ProtocolError("an answer was sent instead of a request")
        if isinstance(request, Expect):
            described = party.answer(Describe())
            if not isinstance(described, Description) or described.schema != request.schema:
                raise ProtocolError(
                    "its schema is another one than when the run began. Put the file back"
                )
            continue
        answer = party.answer(request)
        records = answer.revealed(party.n_records)
        told += records
        if max_records is not None and told > max_records:
            raise ProtocolError(
                "more records are asked for than this party sends in a run. Agree on fewer, or "
                "raise its limit (max-points)"
            )
    if answer is None:
        raise ProtocolError("there is no request among the messages")
    return party.codec.encode(answer), records


def reason(error: Exception, private: Iterable[str | os.PathLike[str]] = ()) -> str:
    """Return the text of a party's error for the coordinator, in dpsumm's own words alone.

    dpsumm's messages name columns of the public schema and quote no value. Those of other libraries
    may, so these are reduced to the kind of error.

    Parameters
    ----------
    private
        Paths of the party, which messages for itself name. The coordinator sees dots.
    """
    if not isinstance(error, DpsummError):
        return f"failed with {type(error).__name__}"
    text = str(error)
    paths = [(str(path), str(Path(path)), str(Path(path).expanduser())) for path in private if path]
    for spelling in sorted({one for spellings in paths for one in spellings}, key=len)[::-1]:
        text = re.sub(rf"(?<!\w){re.escape(spelling)}(?!\w)", "...", text)
    return text


def describe(
    channel: Channel,
    journal: Journal,
    names: Sequence[str],
    *,
    schema: str,
    max_bytes: int = MAX_BYTES,
) -> tuple[dict[str, Description], dict[str, str]]:
    """Ask parties what their data are like, before anything is released.

    Returns
    -------
    Descriptions by name, and why by name for the parties that gave none.
    """
    described: dict[str, Description] = {}

    def take(name: str, answer: Answer) -> None:
        if type(answer) is not Description:
            raise ProtocolError(f"{name!r} was asked to describe its data")
        # Refused here, so that it is not kept: the owner can be put right and asked again.
        if answer.schema != schema:
            raise ProtocolError(
                f"its schema has fingerprint {answer.schema}, this run's is {schema}. "
                "Compare the files"
            )
        described[name] = answer

    asked = {name: [_OPENING.encode(Describe())] for name in names}
    failed = _exchange(channel, journal, _OPENING, 0, asked, take, max_bytes)
    return described, failed


def run_across(
    coordinator: Coordinator[Result_co],
    channel: Channel,
    journal: Journal,
    *,
    absent: Mapping[str, str] | None = None,
    minimum: int = 1,
    max_bytes: int = MAX_BYTES,
    progress: Progress | None = None,
    schema: str | None = None,
) -> tuple[Result_co, dict[str, str]]:
    """Run a protocol to its end.

    Returns
    -------
    The result, and why by name for the parties that were left out. Both for the coordinator only.
    """
    tell = progress or (lambda stage, done, total: None)
    asking, answering, ending = coordinator.stages
    asked: dict[str, list[bytes]] = {name: [] for name in coordinator.names}
    failed = dict(absent or {})
    for name in failed:
        coordinator.drop(name)
    step = 0
    tell(asking, 0, 1)
    while requests := {n: r for n, r in coordinator.send().items() if n not in failed}:
        tell(asking, 1, 1)
        if (number := coordinator.round) is None:
            step += 1
        else:
            journal.forget_rounds(number)  # they are released
            step, asked = number, {name: [] for name in asked}
        # A broadcast is one object: written once, and not kept once for each party.
        distinct = {id(request): request for request in requests.values()}
        written = {key: coordinator.codec.encode(request) for key, request in distinct.items()}
        for name, request in requests.items():
            asked[name].append(written[id(request)])
        new = _exchange(
            channel,
            journal,
            coordinator.codec,
            step,
            {name: asked[name] for name in requests},
            coordinator.receive,
            max_bytes,
            lambda done, total: tell(answering, done, total),
            [] if schema is None else [coordinator.codec.encode(Expect(schema))],
        )
        failed.update(new)
        if new:
            _drop(coordinator, new)
        # Not before the first exchange: whether a party could describe its data must not decide
        # whether the others get the first request.
        _check_enough(asked, failed, minimum)
    _check_enough(asked, failed, minimum)
    tell(ending, 0, 1)
    result = coordinator.result()
    tell(ending, 1, 1)
    return result, failed


def _drop(coordinator: Coordinator[Result_co], failed: Mapping[str, str]) -> None:
    """Leave parties out; if the run cannot go on without them, say why they failed."""
    try:
        coordinator.drop(*failed)
    except ProtocolError as error:
        reasons = "; ".join(f"{name!r} {why}" for name, why in failed.items())
        raise ProtocolError(f"{error} ({reasons})") from None


def _check_enough(parties: Collection[str], failed: Mapping[str, str], minimum: int) -> None:
    left = len(parties) - len(failed)
    if left < minimum:
        reasons = "; ".join(f"{name!r} {why}" for name, why in failed.items())
        raise ProtocolError(
            f"{left} parties are left, at least {minimum} are needed ({reasons}). What was "
            "released and collected is kept: put the parties right and run again under the same "
            "name, nothing is charged twice"
        )


def _exchange(
    channel: Channel,
    journal: Journal,
    codec: Codec,
    step: int,
    messages: Mapping[str, Sequence[bytes]],
    take: Take,
    max_bytes: int,
    tell: Callable[[int, int], None] = lambda done, total: None,
    before: Sequence[bytes] = (),
) -> dict[str, str]:
    """Take one answer of each party, which is sent `before` first. Return why for who failed."""
    waiting, failed = dict(messages), {}
    for name, known in journal.known(step, messages).items():
        take(name, codec.decode(known, max_bytes=max(max_bytes, len(known))))
        del waiting[name]
    asking = {name: [*before, *messages] for name, messages in waiting.items()}
    for name, answer in channel.ask(asking) if waiting else ():
        if name not in waiting:  # a second answer: the first one counts
            continue
        asked = waiting.pop(name)
        try:
            if isinstance(answer, str):
                raise ProtocolError(answer)
            take(name, codec.decode(answer, max_bytes=max_bytes))
        except ProtocolError as error:
            failed[name] = f"failed: {str(error)[:_REASON]}"
            continue
        journal.record(step, name, asked, answer)
        tell(len(messages) - len(waiting), len(messages))
    return {**failed, **dict.fromkeys(waiting, "did not answer in time")}
