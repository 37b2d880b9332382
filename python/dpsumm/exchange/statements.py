"""Signed statements of a request's purpose, which the answering party keeps."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime, timedelta

from dpsumm.basics.documents import parse_json
from dpsumm.basics.names import is_name
from dpsumm.errors import ProtocolError

# Signed before the statement: no other signature of the key can stand for one.
SIGNED = b"dpsumm claim 2\n"
# How long a signature holds, and how much longer than now one may still be believed to.
VALID, LONGEST = timedelta(days=1), timedelta(days=31)
# Characters of a text in a statement.
MAX_TEXT = 500


@dataclass(frozen=True)
class Statement:
    """A statement about the messages that come with it. All of it is public.

    Attributes
    ----------
    key
        Public key of who asks, and signs.

    Examples
    --------
    >>> asked = digest_of([b"describe"])
    >>> who, what = ("ssh-ed25519 AAAA", "north"), ("summarize", "run-1", "care", "0.1.0")
    >>> made = Statement(*who, *what, asked, ending())
    >>> Statement.parse(made.to_bytes()) == made, made.holds()
    (True, True)
    """

    key: str
    party: str
    task: str
    run: str
    purpose: str
    version: str
    asked: str
    until: str

    def to_bytes(self) -> bytes:
        """Return the text that is signed after `SIGNED`: JSON, spelled in one way."""
        return json.dumps(asdict(self), sort_keys=True).encode()

    def holds(self) -> bool:
        """Return whether it has not ended, by this machine's clock, and ends within `LONGEST`."""
        now = datetime.now(UTC)
        try:
            return now <= datetime.fromisoformat(self.until) <= now + LONGEST
        except (ValueError, TypeError):  # no time, or one without a zone
            return False

    @classmethod
    def parse(cls, text: bytes) -> Statement:
        """Return the statement that `to_bytes` wrote."""
        names = [field.name for field in fields(cls)]
        try:
            values = parse_json(text) if len(text) <= 8 * MAX_TEXT * len(names) else None
            made = cls(**values) if isinstance(values, dict) else None
        except (ValueError, TypeError):
            made = None
        # Printable: an owner reads them in a terminal.
        if made is None or not (
            all(
                isinstance(value, str) and len(value) <= MAX_TEXT and value.isprintable()
                for value in asdict(made).values()
            )
            and is_name(made.run)
        ):
            raise ProtocolError("a statement is malformed")
        if made.to_bytes() != text:
            raise ProtocolError("a statement is spelled in another way")
        return made


def ending(lasts: timedelta = VALID) -> str:
    """Return the time, UTC, when a signature that is made now ends."""
    return (datetime.now(UTC) + min(lasts, LONGEST)).isoformat(timespec="microseconds")


def digest_of(messages: Sequence[bytes]) -> str:
    """Return SHA-256 over messages and their lengths, in hexadecimal digits.

    >>> digest_of([b"a", b"bc"]) == digest_of([b"ab", b"c"])
    False
    """
    whole = hashlib.sha256()
    for message in messages:
        whole.update(len(message).to_bytes(8, "little"))
        whole.update(message)
    return whole.hexdigest()
