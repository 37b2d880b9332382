"""A line of an owner's log, the faults of a list of them, and the list as CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields

from dpsumm.basics.documents import parse_json
from dpsumm.basics.names import from_cell, to_cell
from dpsumm.errors import InvalidDataError
from dpsumm.privacy.chain import Head, digest_of

#: Begins what a seal signs.
SEALED = b"dpsumm receipt 1\n"
MADE, ANSWERED, AGAIN, REFUSED, FAILED = "made", "answered", "again", "refused", "failed"


# (data, signature): whether the owner signed.
IsSigned = Callable[[bytes, bytes], bool]


@dataclass(frozen=True)
class Asked:
    """A request, as the log names it.

    Attributes
    ----------
    key
        Public key of `consumer`. Empty if none signed.
    """

    consumer: str = ""
    run: str = ""
    purpose: str = ""
    claim: str = ""
    signature: str = ""
    key: str = ""

    def is_of(self, consumer: str, key: str) -> bool:
        """Return whether a consumer asked, by its name or key. The owner may change either."""
        return consumer == self.consumer or key == self.key


@dataclass(frozen=True)
class Receipt(Asked):
    """A line of the log.

    Attributes
    ----------
    records
        That the answer carried.
    answer
        Salted digest of the answer. The salt stays in the owner's file, since a guess at the
        records could be confirmed with it.
    salt
        Digest of that salt, 16 random bytes.
    """

    number: int = 0
    at: str = ""
    outcome: str = ""
    why: str = ""
    records: int = 0
    counted: int = 0
    answer: str = ""
    salt: str = ""
    before: str = ""

    @property
    def body(self) -> bytes:
        """The content that is digested and sealed."""
        return json.dumps(asdict(self), sort_keys=True).encode()

    @property
    def digest(self) -> str:
        """SHA-256 of the body, hexadecimal digits."""
        return digest_of(self.body)

    @classmethod
    def parse(cls, body: str) -> Receipt:
        """Return the line of a body. ValueError for another text."""
        values = parse_json(body)
        kinds = {field.name: int if field.type == "int" else str for field in fields(cls)}
        if not isinstance(values, dict) or {k: type(v) for k, v in values.items()} != kinds:
            raise ValueError
        return cls(**values)

    @property
    def left(self) -> bool:
        """Whether an answer left the machine, or was about to when the process died."""
        return self.outcome in (ANSWERED, AGAIN)


Sealed = tuple[Receipt, bytes]


def fault(lines: Iterable[Sealed], is_signed: IsSigned) -> str | None:
    """Return the first fault of a log, or None if it holds together."""
    head = Head()
    try:
        for line, seal in lines:
            head = head.then(line.body)
            check_seal(line, seal, is_signed)
    except ValueError as error:
        return str(error)
    return None if head.number else "it has no line, not even the first"


def check_seal(line: Receipt, seal: bytes, is_signed: IsSigned) -> None:
    """Raise ValueError if a line's seal is not of its body and the owner's key."""
    if not is_signed(SEALED + line.body, seal):
        raise ValueError(f"line {line.number} was changed, or sealed with another key")


def to_csv(lines: Iterable[Sealed]) -> str:
    """Return a log as CSV, with every seal, which the public key can check.

    A text that a spreadsheet would run as a formula has a ``'`` before it. See `names.to_cell`.
    """
    text = io.StringIO()
    names = [field.name for field in fields(Receipt)]
    writer = csv.writer(text)
    writer.writerow([*names, "seal"])
    for line, seal in lines:
        values = (str(getattr(line, name)) for name in names)
        # Some fields are in a consumer's words.
        writer.writerow([*map(to_cell, values), seal.hex()])
    return text.getvalue()


def from_csv(text: str) -> list[Sealed]:
    """Return the log that `to_csv` wrote."""
    whole = {field.name for field in fields(Receipt) if field.type == "int"}
    try:
        lines = []
        for row in csv.DictReader(io.StringIO(text, newline=""), strict=True):
            seal = bytes.fromhex(row.pop("seal"))
            values = {
                name: int(value) if name in whole else from_cell(value)
                for name, value in row.items()
            }
            lines.append((Receipt.parse(json.dumps(values)), seal))
    except (csv.Error, KeyError, ValueError, TypeError, AttributeError):
        raise InvalidDataError(
            "receipts: not a log as dpsumm node log --out writes it, or a line of it cannot be read"
        ) from None
    return lines
