"""What any message is, and the two that open a run of any protocol."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpsumm.exchange.disclosure import Disclosure, Reveals


class Request:
    """Coordinator to one party. A kind of request is a frozen dataclass below this class."""

    disclosure: ClassVar[Disclosure | None] = None


class Answer:
    """Party to coordinator. A kind of answer is a frozen dataclass below this class."""

    disclosure: ClassVar[Disclosure | None] = None

    def revealed(self, of: int) -> int:
        """Return of how many records it may tell, of a party that has `of`: all, unless it says."""
        says = None if self.disclosure is None else self.disclosure.reveals
        return of if says in (None, Reveals.ALL, Reveals.SENT) else 0


@dataclass(frozen=True)
class Describe(Request):
    """To every party, before anything is released. It asks for the form of the party's data."""

    disclosure: ClassVar[Disclosure | None] = Disclosure(
        "coordinator",
        "every party",
        "the question alone",
        "nobody's records",
        "The receiver learns nothing: the message is the same in every run.",
        "privacy/threat-model.md#public-facts",
        across=True,
    )


@dataclass(frozen=True)
class Expect(Request):
    """Tells a party, before all requests of a run, the fingerprint that its schema must have.

    A party that is made anew for every exchange reads its schema anew. With another one a category
    would stand for another word. Nothing is answered to it alone (`dpsumm.exchange.across`).
    """

    disclosure: ClassVar[Disclosure | None] = Disclosure(
        "coordinator",
        "every party, with each request",
        "the fingerprint of the run's schema",
        "nobody's records",
        "The receiver learns nothing: the schema is public.",
        "privacy/threat-model.md#public-facts",
        across=True,
    )

    schema: str


@dataclass(frozen=True)
class Description(Answer):
    """The public facts of a party's data."""

    disclosure: ClassVar[Disclosure | None] = Disclosure(
        "a party",
        "coordinator",
        "the number of records and the fingerprint of the schema they were read with",
        "the size of the party's data, which is a public fact",
        "No claim: both are public facts of the run.",
        "privacy/threat-model.md#public-facts",
        across=True,
        reveals=Reveals.PUBLIC,
    )

    n_records: int
    schema: str
