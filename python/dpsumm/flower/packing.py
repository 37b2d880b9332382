"""Messages as bytes in Flower's ConfigRecord, with a salt, and a signed claim if there is one.

The salt is for Flower's object store. It serves any object of a run to any registered node that can
name it, and an object's name is the hash of its contents. Without a salt an owner could confirm a
guess at another's answer, or answer in its place, by the hash of its guess.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import NamedTuple

from flwr.app import ConfigRecord, RecordDict

from dpsumm.errors import ProtocolError

_KEY = "dpsumm"
_SALT_BYTES = 32


class Packed(NamedTuple):
    """The content of a record."""

    messages: list[bytes]
    name: str = ""
    claim: bytes = b""
    signature: bytes = b""


def pack(
    messages: Sequence[bytes], name: str = "", claim: bytes = b"", signature: bytes = b""
) -> RecordDict:
    """Return messages, and the facts that come with them (`Packed`), as a record."""
    record = ConfigRecord(
        {
            "salt": secrets.token_bytes(_SALT_BYTES),
            "messages": list(messages),
            "name": name,
            "claim": claim,
            "signature": signature,
        }
    )
    return RecordDict({_KEY: record})


def unpack(content: RecordDict) -> Packed:
    """Return the contents of a record that :func:`pack` made."""
    record = content.get(_KEY)
    if not isinstance(record, ConfigRecord) or len(content) != 1:
        raise ProtocolError("not a record of dpsumm")
    messages, name = record.get("messages"), record.get("name")
    claim, signature = record.get("claim", b""), record.get("signature", b"")
    if (
        not isinstance(messages, list)
        or not all(isinstance(message, bytes) for message in messages)
        or not isinstance(name, str)
        or not isinstance(claim, bytes)
        or not isinstance(signature, bytes)
    ):
        raise ProtocolError("not a record of dpsumm")
    return Packed(messages, name, claim, signature)
