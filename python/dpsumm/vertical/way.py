"""How tables of several owners are made, and on what that rests."""

from __future__ import annotations

from enum import Enum


class Way(Enum):
    """A way to tables of several owners, by its name in records and dossiers.

    The first three are for tables of two owners' columns, the others for owners of all columns.
    """

    TOGETHER = "Tables in one process"
    PADS = "Tables by pads"
    MPYC = "Tables by MPyC"
    SUMS = "Sums of tables"
    SUMS_TOGETHER = "Sums of tables in one process"

    @property
    def sums(self) -> bool:
        """Whether it is for owners that hold the same columns of different records."""
        return self in (Way.SUMS, Way.SUMS_TOGETHER)

    @property
    def condition(self) -> str:
        """What people must keep, as a sentence."""
        return _CONDITIONS[self]


_ONE_PROCESS = (
    "Condition: one process held the records of all owners, and only people whom every owner "
    "trusts with its records could reach it."
)
_CONDITIONS = {
    Way.TOGETHER: _ONE_PROCESS,
    Way.SUMS_TOGETHER: _ONE_PROCESS,
    Way.PADS: (
        "Condition: the helper keeps the keys that it shares with the owners, and messages are "
        "passed on as they were sent. Anyone who has an owner's key and sees that owner's messages "
        "can read its records, and so can anyone who changes the messages to it."
    ),
    Way.MPYC: (
        "Condition: of the two owners of a table and the helper, who made it by MPyC, no two work "
        "together. Any two of them could read the records of the third."
    ),
    Way.SUMS: (
        "Condition: no owner shows anyone its records or its noise. All else that leaves an owner "
        "is noisy tables, whose noise protects its records from everybody."
    ),
}
