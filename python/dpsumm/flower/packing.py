"""Messages as Flower records: bytes in a ConfigRecord, with a salt.

The salt is for Flower's object store: it serves any object of a run to any registered node that can
name it, and an object's name is the hash of its contents. Without a salt an owner could confirm a
guess at another's answer, or answer in its place, by the hash of what it guesses.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from flwr.app import ConfigRecord, RecordDict

from dpsumm.errors import ProtocolError

_KEY = "dpsumm"
_SALT_BYTES = 32


def pack(messages: Sequence[bytes], name: str = "") -> RecordDict:
    """Return messages, and the name of who sends them if it is told, as a record."""
    record = ConfigRecord(
        {"salt": secrets.token_bytes(_SALT_BYTES), "messages": list(messages), "name": name}
    )
    return RecordDict({_KEY: record})


def unpack(content: RecordDict) -> tuple[list[bytes], str]:
    """Return the messages and the name of a record that :func:`pack` made.

    Raises
    ------
    ProtocolError
        It is none.
    """
    record = content.get(_KEY)
    if not isinstance(record, ConfigRecord) or len(content) != 1:
        raise ProtocolError("not a record of dpsumm")
    messages, name = record.get("messages"), record.get("name")
    if (
        not isinstance(messages, list)
        or not all(isinstance(message, bytes) for message in messages)
        or not isinstance(name, str)
    ):
        raise ProtocolError("not a record of dpsumm")
    return messages, name
