"""The two roles of any protocol, as state machines without input or output.

A coordinator and its parties hold all that a protocol computes. Drivers carry messages between
them (`dpsumm.exchange.driver`, `dpsumm.exchange.across`) and hold nothing, so a test, a
simulator or another engine can carry them as well.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Generic, TypeVar

from dpsumm.exchange.codec import Codec
from dpsumm.exchange.messages import Answer, Request

Result_co = TypeVar("Result_co", covariant=True)


class Coordinator(ABC, Generic[Result_co]):
    """Asks parties, takes their answers, and has a result in the end.

    Repeat: `send`, and `receive` the answer to each request or `drop` the party, until `send`
    returns nothing. Then `result`. Which party gets what, and when, must not depend on any party's
    records except where the protocol's claim charges for it. All random numbers are drawn through
    the ledger, so that a coordinator that is made anew for a resumed run sends the same requests.
    """

    codec: ClassVar[Codec]
    stages: ClassVar[tuple[str, str, str]] = ("requests", "answers", "result")
    names: tuple[str, ...]

    @property
    def round(self) -> int | None:
        """Number of the open exchange, from 1, of a protocol in rounds. None for another protocol.

        In rounds each request says all that its answer depends on, and one that was released is
        never asked for again. So parties are not sent the requests before, and answers are kept
        until their round's release alone.
        """
        return None

    @abstractmethod
    def send(self) -> Mapping[str, Request]:
        """Return the next request of each party. Empty when nothing will ever be sent again."""

    @abstractmethod
    def receive(self, name: str, answer: Answer) -> None:
        """Take a party's answer."""

    @abstractmethod
    def drop(self, *names: str) -> None:
        """Leave parties that failed out for good. All that failed in one exchange together."""

    @abstractmethod
    def result(self) -> Result_co:
        """Return what the run was for. Nothing is sent afterwards."""


class Party(ABC):
    """Answers requests from its own data and the requests so far.

    Across machines a party is made anew for every exchange and given all earlier requests first.
    Asked the same, it must answer the same. Its random draws are either fixed by the request
    or kept by itself.
    """

    codec: ClassVar[Codec]
    forgets: ClassVar[bool] = False

    @abstractmethod
    def answer(self, request: Request) -> Answer:
        """Return the answer, which is for the coordinator only."""

    @property
    def n_records(self) -> int:
        """How many records it has. An answer that may depend on all of them counts as so many.

        More than any limit allows, unless a party says it.
        """
        return 2**62

    def close(self) -> None:  # noqa: B027 (most hold none)
        """Let go of files. Called after the last answer."""
