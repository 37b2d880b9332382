"""The owner's rules at work. Every request to a node passes here, for any task.

The policy is the owner's (`dpsumm.privacy.policy`), and so is the log of answers and refusals
(`dpsumm.privacy.receipts`). Flower tells a node nothing about who started a run that could
be checked there. So the rules name keys, and a request is who signed it
(`dpsumm.exchange.statements`). The text of a refusal depends on the curator's request and on the
policy, never on records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from logging import WARNING
from pathlib import Path

from dpsumm import __version__
from dpsumm.basics.visible import logger
from dpsumm.errors import (
    DpsummError,
    InvalidDataError,
    InvalidParameterError,
    ProtocolError,
    RefusedError,
)
from dpsumm.exchange.codec import kind_of
from dpsumm.exchange.signatures import SigningKey, is_signed
from dpsumm.exchange.statements import MAX_TEXT, SIGNED, Statement, digest_of
from dpsumm.flower.packing import Packed
from dpsumm.flower.settings import NodeConfig
from dpsumm.flower.tasks.protocols import PROTOCOLS, of_task
from dpsumm.privacy.package import package_digest
from dpsumm.privacy.policy import Policy
from dpsumm.privacy.receipt import FAILED, REFUSED, Asked
from dpsumm.privacy.receipts import USED, Receipts

log = logger("flwr").log

# Called with an answer, and how many records it carries, before it leaves.
Release = Callable[[bytes, int], None]
_REFUSED = "refused by the owner's policy"
_UNUSABLE = (
    "this node cannot use its policy or its log and answers nothing until its owner has put them "
    "right; the owner's own log says what is wrong"
)
_TOO_MANY = (
    "more records were asked for than this node's policy lets leave; agree with its owner on fewer"
)


class _NotAllowedError(Exception):
    """A rule that a request breaks: in words for the curator, and the owner's log."""


def read_policy(path: Path) -> Policy:
    """Return a node's policy. Its errors name the key."""
    return Policy.read(path, PROTOCOLS)


def open_receipts(policy: Policy) -> Receipts:
    """Open a policy's log with the key that seals it."""
    key = SigningKey(policy.key)
    return Receipts(policy.receipts, key, lambda data, seal: is_signed(data, seal, key.public))


def differs(policy: Policy) -> str | None:
    """Return how the dpsumm that is installed differs from the policy's; None if it does not."""
    if policy.version != __version__:
        return f"version is {policy.version!r}, installed is {__version__!r}"
    if policy.package != (found := package_digest()):
        return f"package is {policy.package[:12]}..., the installed files have {found[:12]}..."
    return None


@contextmanager
def admitted(config: NodeConfig, packed: Packed) -> Iterator[Release | None]:
    """Let a request in or refuse it. Give what every answer to it must pass.

    None where the node has no policy.
    """
    if config.policy is None:
        yield None
        return
    try:
        policy = read_policy(config.policy)
        receipts = open_receipts(policy)
    except (InvalidParameterError, InvalidDataError) as error:
        raise _closed(error) from None
    with receipts:
        try:
            receipts.check()  # before data are read, or a ledger of the party's is charged
        except InvalidDataError as error:
            raise _closed(error) from None
        statement = _parsed(packed.claim)
        asked = _asked(policy, packed, statement)
        try:
            _check(policy, config, packed, statement, asked.consumer)
            if any(line.left and line.claim == asked.claim for line, _ in receipts.lines()):
                raise _NotAllowedError(USED)
            yield lambda answer, records: _send(receipts, policy, asked, answer, records)
        except _NotAllowedError as error:
            _note(receipts, asked, str(error))
            raise RefusedError(f"{_REFUSED}: {error}") from None
        except RefusedError:
            raise  # is in the log
        except Exception as error:
            _note(receipts, asked, type(error).__name__, FAILED)
            raise


def _parsed(text: bytes) -> Statement | None:
    try:
        return Statement.parse(text)
    except ProtocolError:
        return None


def _asked(policy: Policy, packed: Packed, statement: Statement | None) -> Asked:
    """Return who asks, as far as a key of the policy vouches for it, and what is claimed."""
    if statement is None:
        return Asked()
    consumer = policy.consumer(statement.key)
    if not is_signed(SIGNED + packed.claim, packed.signature, statement.key):
        consumer = None
    return Asked(
        consumer="" if consumer is None else consumer.name,
        key="" if consumer is None else consumer.key,
        run=statement.run,
        purpose=statement.purpose,
        claim=packed.claim.decode(),
        signature=packed.signature[:64].hex(),
    )


def _check(
    policy: Policy, config: NodeConfig, packed: Packed, statement: Statement | None, asking: str
) -> None:
    """Refuse what the rules forbid, before any record is read; `asking` is the consumer's name."""
    if difference := differs(policy):
        log(WARNING, "dpsumm: policy: %s", difference)
        raise _NotAllowedError(
            "the dpsumm on this node is not the one that its policy names. Its owner has to look "
            "at it"
        )
    if statement is None and packed.claim:
        raise _NotAllowedError(
            "what was signed cannot be read: purpose, run and names must be printable texts of at "
            f"most {MAX_TEXT} characters, signed by the dpsumm that this node's policy names"
        )
    if statement is None:
        raise _NotAllowedError(
            "this node answers signed requests alone. Name a key in the curator's file and send "
            "its public half to this node's owner"
        )
    if not asking:
        raise _NotAllowedError(
            "no consumer that this node's policy names has signed the request. Send your public "
            "key to its owner"
        )
    if not statement.holds():
        raise _NotAllowedError(
            "the signature has ended, or holds for more than 31 days. Sign the request again, and "
            "compare the clocks of both machines"
        )
    if statement.asked != digest_of(packed.messages):
        raise _NotAllowedError("the signature is for other messages than those that came with it")
    if (statement.party, statement.task) != (config.name, config.task):
        raise _NotAllowedError(
            f"the request was signed for {statement.party!r} to {statement.task}, and this node is "
            f"{config.name!r} to {config.task}. Register its key under its own name"
        )
    if statement.version != policy.version:
        raise _NotAllowedError(
            f"the request is of dpsumm {statement.version}, this node's policy allows "
            f"{policy.version}"
        )
    kinds = {kind_of(message) for message in packed.messages}
    allowed = sorted(policy.protocols & set(of_task(config.task)))
    if not any(kinds <= PROTOCOLS[name] for name in allowed):
        raise _NotAllowedError(
            "this node's policy does not allow this run's protocol. It allows "
            f"{', '.join(allowed) or 'none of this task'}"
        )
    if statement.purpose not in policy.purposes(asking):
        raise _NotAllowedError(
            f"the purpose {statement.purpose!r} is not one that this node's policy allows you. "
            "Agree with its owner on its words"
        )


def _send(receipts: Receipts, policy: Policy, asked: Asked, answer: bytes, records: int) -> None:
    try:
        why = receipts.send(
            asked,
            answer,
            records,
            lambda sent: policy.too_many(
                asked.consumer, sent, records + _sent_today(receipts, asked)
            ),
            once=True,
        )
    except InvalidDataError as error:
        raise _closed(error) from None
    if why is not None:
        log(WARNING, "dpsumm: refused by the policy: %s", why)
        raise RefusedError(f"{_REFUSED}: {USED if why == USED else _TOO_MANY}")


def _sent_today(receipts: Receipts, asked: Asked) -> int:
    """Return how many records have left to a consumer within 24 hours."""
    since = (datetime.now(UTC) - timedelta(days=1)).isoformat(timespec="seconds")
    return sum(
        line.counted
        for line, _ in receipts.lines()
        if line.at >= since and line.is_of(asked.consumer, asked.key)
    )


def _note(receipts: Receipts, asked: Asked, why: str, outcome: str = REFUSED) -> None:
    """Write to the log; if that fails the request is refused for it."""
    try:
        receipts.refused(asked, why, outcome)
    except InvalidDataError as error:
        raise _closed(error) from None


def _closed(error: DpsummError) -> RefusedError:
    log(WARNING, "dpsumm: %s", error)
    return RefusedError(_UNUSABLE)
