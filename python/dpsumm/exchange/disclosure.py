"""The register of messages. The entry next to each has its content and its receivers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Reveals(Enum):
    """Of how many of its sender's records an answer may tell, if the request is the worst one."""

    SENT = "the records in it"
    ALL = "all records of its sender"
    CHARGED = "none: a charge pays for its noise"
    HIDDEN = "none: hidden by keys of others than the receiver"
    PUBLIC = "none: public facts"


@dataclass(frozen=True)
class Disclosure:
    """The facts of one kind of message. Every message of the package has one.

    Attributes
    ----------
    depends
        On whose records it depends, and through which messages or released values.
    claim
        What the receiver can learn of whose records, and from what that follows.
    releases
        How the texts of the charges begin that pay for it (`Charge.message`). None: it is free.
    reveals
        As how many records an answer counts if an owner limits its answers. None for all.
    """

    sender: str
    receiver: str
    holds: str
    depends: str
    claim: str
    page: str
    releases: tuple[str, ...] = ()
    protocols: tuple[str, ...] = ()
    across: bool = False
    reveals: Reveals | None = None
