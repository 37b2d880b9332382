"""The parts of a subsystem that Flower needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from dpsumm.exchange.across import Channel
from dpsumm.exchange.roles import Party
from dpsumm.flower.settings import CuratorFile, NodeConfig, Public
from dpsumm.privacy.caps import Limits


@dataclass(frozen=True)
class Own:
    """A file that a trial writes into a party's directory. In its settings stands the path."""

    name: str
    text: str


@dataclass(frozen=True)
class Books:
    """A ledger that a trial makes in a party's directory."""

    name: str
    caps: Limits


# A path is of data that exist already.
Value = str | int | bool | Path | Own | Books


@dataclass(frozen=True)
class Trial:
    """Who takes part in a trial on one machine, and with which settings of the task's own."""

    curator: Mapping[str, Value]
    nodes: Mapping[str, Mapping[str, Value]]


@dataclass(frozen=True)
class Task(ABC):
    """A subsystem's run, with its settings, its parties and its saved files.

    Messages are those of its roles' codec. It knows nothing of Flower, so that it can be run over
    any `Channel`. Common settings have been read. It takes its own from ``more`` of each
    configuration. Keys that it leaves there are refused as unknown.

    Attributes
    ----------
    example
        Public settings as `flwr run -c` takes them, to show after a trial was made.
    public, own
        The common settings: of all parties, and of the curator.
    """

    example: ClassVar[str]

    public: Public
    own: CuratorFile

    @classmethod
    @abstractmethod
    def read(cls, public: Public, own: CuratorFile) -> Self:
        """Return the run that the curator's settings ask for.

        Called before parties are waited for and before any budget is spent. Refuse all wrong
        settings here.
        """

    @property
    def parties(self) -> Sequence[str]:
        """Names of all that are asked, fixed before the run."""
        return self.own.parties

    @abstractmethod
    def run(self, channel: Channel) -> Sequence[str]:
        """Run to the end as the curator and save the result.

        Returns
        -------
        Lines for the curator's log, which only the curator sees.
        """

    @classmethod
    @abstractmethod
    def party(cls, node: NodeConfig) -> Party:
        """Return the role of a node, which is made anew for every exchange."""

    @classmethod  # noqa: B027 (most look at nothing)
    def check(cls, node: NodeConfig) -> None:
        """Refuse a configuration with which a node must not start. Raises as `party`."""

    @classmethod
    @abstractmethod
    def trial(cls, owners: Sequence[str], data: Path, schema: Path) -> Trial:
        """Return what a trial of such a run needs.

        Parameters
        ----------
        schema
            The public schema, or a directory of them.
        """
