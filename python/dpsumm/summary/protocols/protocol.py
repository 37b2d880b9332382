"""Protocols have public parameters, which make the roles of a run."""

from __future__ import annotations

from abc import ABC, abstractmethod

from dpsumm.data.stream import StreamTable
from dpsumm.data.table import Table
from dpsumm.exchange.roles import Party
from dpsumm.summary.protocols.curator import Curator, Setting
from dpsumm.summary.protocols.owner import Owner
from dpsumm.summary.stability import Stability


class Protocol(ABC):
    """How a summary comes about. Derive from it for one of your own (``docs/own-protocol.md``).

    A protocol holds public parameters only, so a frozen dataclass serves. It sees data only
    through the roles that it makes.

    Attributes
    ----------
    name
        In results and reports.
    owners_argument
        Sentences that say why, or at what charge, an owner learns nothing about the other owners'
        records. Every report prints them, and only you can check them.
    streams
        Whether its owners' data may be a `Stream` or `Shards`.
    silos
        Whether it runs where owners are elsewhere. Its owners are then `Owner`, and `owner` is not
        used.
    needs_kernel
        Whether owners receive features, whose bandwidth must be public: the columns' bounds give
        one, or the user.
    needs_all
        Whether it cannot begin without every owner, across silos.
    coalition
        Number of owners that may pool their messages, which the charges for owners' records cover.
    epsilon_owners
        Budget of an owner's records towards the other owners, in nats, or 0 without one. A weak one
        is refused before anything is charged, unless it is accepted.
    unprotected
        Reason why owners' records have no guarantee towards the other owners at any budget.
        Refused in the same way. Empty if they have one.

    See Also
    --------
    dpsumm.Offers : The default.
    dpsumm.summarize : Runs it.

    Examples
    --------
    >>> import numpy as np, dpsumm
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Doubled(dpsumm.summary.Protocol):
    ...     name = "doubled"
    ...     owners_argument = "Owners receive public numbers only."
    ...     def curator(self, setting):
    ...         return dpsumm.Pool(reads_per_record=2).curator(setting)
    >>> rng = np.random.default_rng(0)
    >>> owners, target = [rng.normal(0, 1, (100, 2))], rng.normal(0, 1, (50, 2))
    >>> kernel = dpsumm.RBF(0.25)
    >>> dpsumm.summarize(owners, target, size=10, kernel=kernel, protocol=Doubled()).accesses
    20
    """

    name: str
    owners_argument: str
    streams: bool = False
    silos: bool = False
    needs_kernel: bool = True
    needs_all: bool = False
    coalition: int = 1
    epsilon_owners: float = 0.0
    unprotected: str = ""

    @abstractmethod
    def curator(self, setting: Setting) -> Curator:
        """Return the curator of a run.

        Raises
        ------
        InvalidParameterError
            The parameters do not fit the setting. Nothing has been released yet.
        """

    def owner(self, table: Table | StreamTable, seed: int | None) -> Party:
        """Return an owner of a run in one process.

        Parameters
        ----------
        table
            Its data.
        seed
            For tests and experiments; None in earnest.
        """
        return Owner(table, seed)

    def check_embedded(self) -> None:  # noqa: B027  most have nothing to refuse
        """Refuse parameters that would tell records from their features under a secret map.

        Raises
        ------
        InvalidParameterError
            Such a parameter was given.
        """

    def stability(self, setting: Setting) -> Stability:
        """Return how much of the summary one record of an owner changes.

        Models that may be shown rest on it. By default nothing is known of it.
        """
        return Stability(None, f"the protocol {self.name!r} does not say how stable it is")

    def published_figures(self, setting: Setting) -> tuple[str, ...]:
        """Return sentences about privacy figures of a paper, next to the sound ones.

        They are shown with the result: of a setting's target they may say the public size only.
        """
        return ()
