"""What a request is said to be for: signed by who asks, kept by who answers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields

from dpsumm.errors import ProtocolError

# Signed before the claim: no other signature of the key can stand for one.
SIGNED = b"dpsumm claim 1\n"
# Characters of a text in a claim.
MAX_TEXT = 500


@dataclass(frozen=True)
class Claim:
    """A statement about the messages that come with it. All of it is public.

    Attributes
    ----------
    key
        Public key of who asks, and signs.
    party
        Name of who is asked: a claim for one party is none for another.
    task, run, purpose
        What is run, the run's name, and what its result is for, in the words that the parties
        agreed on.
    version
        Of dpsumm, at who asks.
    asked
        Digest of the messages, see `digest_of`.

    Examples
    --------
    >>> asked = digest_of([b"describe"])
    >>> claim = Claim("ssh-ed25519 AAAA", "north", "summarize", "run-1", "care", "0.1.0", asked)
    >>> Claim.parse(claim.to_bytes()) == claim
    True
    """

    key: str
    party: str
    task: str
    run: str
    purpose: str
    version: str
    asked: str

    def to_bytes(self) -> bytes:
        """Return the text that is signed after `SIGNED`: JSON, spelled in one way."""
        return json.dumps(asdict(self), sort_keys=True).encode()

    @classmethod
    def parse(cls, text: bytes) -> Claim:
        """Return the claim that `to_bytes` wrote.

        Raises
        ------
        ProtocolError
            It is none, or longer than a claim may be.
        """
        names = [field.name for field in fields(cls)]
        try:
            values = json.loads(text) if len(text) <= 8 * MAX_TEXT * len(names) else None
            claim = cls(**values) if isinstance(values, dict) else None
        except (ValueError, TypeError, RecursionError):
            claim = None
        # Printable: an owner reads them in a terminal.
        if claim is None or not all(
            isinstance(value, str) and len(value) <= MAX_TEXT and value.isprintable()
            for value in asdict(claim).values()
        ):
            raise ProtocolError("a claim is malformed")
        if claim.to_bytes() != text:
            raise ProtocolError("a claim is spelled in another way")
        return claim


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
