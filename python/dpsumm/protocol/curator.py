"""The curator's role, as far as all protocols share it: ask, collect, check, select."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsumm import _core
from dpsumm.errors import InvalidParameterError, ProtocolError
from dpsumm.kernel import RBF, FloatArray, Kernel
from dpsumm.privacy.ledger import Ledger
from dpsumm.protocol.messages import Points, Request
from dpsumm.scaling import Bounds, to_unit_box


@dataclass(frozen=True)
class Setting:
    """What a run is about, known to the curator. All but `target` is public.

    Attributes
    ----------
    target : (m, c)
        In the kernel's space.
    columns, bounds
        Public schema of the points.
    n_records
        Owner name to number of records.
    size
        Points in the summary.
    epsilon, delta
        The whole budget of the target.
    kernel
        None: ``RBF.for_unit_box`` if every column has bounds, a private median otherwise.
    labelled
        Whether owners send labels along.
    seed
        Tests and experiments only: nothing is private then.
    """

    target: FloatArray
    columns: tuple[str, ...]
    bounds: Bounds | None
    n_records: Mapping[str, int]
    size: int
    epsilon: float
    delta: float
    kernel: Kernel
    labelled: bool
    ledger: Ledger
    seed: int | None = None

    def __post_init__(self) -> None:
        total = sum(self.n_records.values())
        if not 1 <= self.size <= total:
            raise InvalidParameterError(
                f"size must be between 1 and {total}, the number of the owners' records, "
                f"got {self.size}"
            )
        if len(self.target) < 2:
            raise InvalidParameterError(
                f"target must have at least 2 points, got {len(self.target)}; its mean is all that "
                "is released, and the mean of one point is that point"
            )


@dataclass(frozen=True)
class Selection:
    """The curator's result.

    Attributes
    ----------
    owner, row : (p,) int64
        Where each point came from: index into the owners' names, row in that owner's data.
    values, scaled : (p, c)
        In original units, and in the kernel's space.
    labels : (p,) or None
    mmd2 : (p,) float64
        MMD^2 to the target after each pick, in the order of the picks.
    pool : (q, c)
        All accessed points, in the kernel's space.
    pool_owner : (q,) int64
        Whose they are.
    """

    owner: NDArray[np.int64]
    row: NDArray[np.int64]
    values: FloatArray
    scaled: FloatArray
    labels: NDArray[np.generic] | None
    mmd2: NDArray[np.float64]
    pool: FloatArray
    pool_owner: NDArray[np.int64]


class Curator(ABC):
    """State machine: :meth:`send` until it is empty, :meth:`receive` each answer, :meth:`select`.

    A subclass says which requests go out. Which owner gets what, and when, must not depend on any
    owner's records except where the protocol's claim charges for it.
    """

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.names = tuple(setting.n_records)
        self._received: dict[str, Points] = {}
        self._sent: dict[str, Request] = {}

    @property
    @abstractmethod
    def kernel(self) -> RBF:
        """The kernel, with its bandwidth settled."""

    @abstractmethod
    def _requests(self) -> dict[str, Request]:
        """Make the one request of each owner. Called once; what it releases is charged first."""

    @abstractmethod
    def _bounds_of_answer(self, name: str) -> tuple[int, int]:
        """Least and most points that this owner may send."""

    def send(self) -> dict[str, Request]:
        """Return the next message for each owner; empty when nothing will ever be sent again."""
        if self._sent:
            return {}
        self._sent = self._requests()
        return dict(self._sent)

    def receive(self, name: str, points: Points) -> None:
        """Take an owner's answer.

        Raises
        ------
        ProtocolError
            Unknown owner, no request outstanding, a second answer, or a malformed one. The state is
            unchanged.
        """
        if name not in self._sent:
            raise ProtocolError(f"{name!r} was asked nothing")
        if name in self._received:
            raise ProtocolError(f"{name!r} has answered already")
        at_least, at_most = self._bounds_of_answer(name)
        try:
            points.check(len(self.setting.columns), at_least, at_most, self.setting.labelled)
        except ProtocolError as error:
            raise ProtocolError(f"answer of {name!r}: {error}") from None
        self._received[name] = points

    def select(self) -> Selection:
        """Choose the summary from the pool by the exact greedy towards the target.

        Ties go to the owner that comes first, then to the lower row: one total order. If the pool
        has no more than `size` points, the summary is the pool; asking for more would leak.
        """
        answers = [(i, self._received[n]) for i, n in enumerate(self.names) if n in self._received]
        if sum(len(points.rows) for _, points in answers) == 0:
            raise ProtocolError("no owner sent any point, so there is no summary")
        values = np.concatenate([points.values for _, points in answers])
        rows = np.concatenate([points.rows for _, points in answers])
        owner = np.concatenate([np.full(len(p.rows), i, dtype=np.int64) for i, p in answers])
        setting = self.setting
        scaled = (
            values
            if setting.bounds is None
            else to_unit_box(values, setting.columns, setting.bounds)[0]
        )
        gamma = self.kernel.gamma
        attraction = _core.kernel_means(scaled, setting.target, gamma)
        size = min(setting.size, len(values))
        picks = _core.greedy(scaled, attraction, gamma, size)
        order = picks.rows
        labels = (
            np.concatenate([points.labels for _, points in answers])[order]
            if setting.labelled
            else None
        )
        constant = _core.mean_kernel_self(setting.target, gamma)
        return Selection(
            owner=owner[order],
            row=rows[order],
            values=values[order],
            scaled=scaled[order],
            labels=labels,
            mmd2=np.maximum(constant - picks.objective, 0.0),
            pool=scaled,
            pool_owner=owner,
        )
