"""How tables of two owners are made, and on what that rests."""

from __future__ import annotations

from enum import Enum


class Way(Enum):
    """A way to tables of two owners' columns, by its name in records and dossiers."""

    TOGETHER = "Tables in one process"
    PADS = "Tables by pads"
    MPYC = "Tables by MPyC"

    @property
    def condition(self) -> str:
        """What people must keep, as a sentence."""
        return _CONDITIONS[self]


_CONDITIONS = {
    Way.TOGETHER: (
        "Condition: one process held the records of all owners, and only people whom every owner "
        "trusts with its records could reach it."
    ),
    Way.PADS: (
        "Condition: the helper keeps the keys that it shares with the owners, and messages are "
        "passed on as they were sent. Anyone who has an owner's key and sees that owner's messages "
        "can read its records, and so can anyone who changes the messages to it."
    ),
    Way.MPYC: (
        "Condition: of the two owners of a table and the helper, who made it by MPyC, no two work "
        "together. Any two of them could read the records of the third."
    ),
}
