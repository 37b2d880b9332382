"""What any message is, and the two that open a run of any protocol."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass


class Request:
    """Coordinator to one party. A kind of request is a frozen dataclass below this class."""


class Answer(ABC):
    """Party to coordinator. A kind of answer is a frozen dataclass below this class."""

    @property
    @abstractmethod
    def n_sent(self) -> int:
        """How many of the party's records the answer carries: they count against its limit."""


@dataclass(frozen=True)
class Describe(Request):
    """To every party, before anything is released: report what your data are like."""


@dataclass(frozen=True)
class Description(Answer):
    """The public facts of a party's data.

    Attributes
    ----------
    n_records
        Rows it takes part with.
    schema
        Fingerprint of the schema that its data were read with: 12 hexadecimal digits.
    """

    n_records: int
    schema: str

    @property
    def n_sent(self) -> int:
        """No record leaves with it."""
        return 0
