"""Protocols without any release. Owners send points drawn at random, or all of them.

Claim
    Owners receive public numbers only: (0, 0)-DP for the target and between owners.
Assumes
    Size, reads_per_record and the owners' numbers of records are public.
Argument
    A request is a function of public numbers.
Numerics
    None.
Tested by
    tests/summary/test_offers_transcript.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpsumm.errors import InvalidParameterError
from dpsumm.exchange.messages import Request
from dpsumm.summary.kernel import RBF, median_squared_distance
from dpsumm.summary.protocols.curator import CollectingCurator, Curator, Setting
from dpsumm.summary.protocols.messages import DrawRequest
from dpsumm.summary.protocols.protocol import Protocol
from dpsumm.summary.stability import Stability

_ARGUMENT = "Owners receive public numbers only; nothing that is sent depends on anybody's records."


@dataclass(frozen=True)
class Pool(Protocol):
    """Random points of each owner, ``reads_per_record * size / K``, and the greedy at the curator.

    Nothing is released. It is the baseline that a protocol with releases must beat, which is hard
    if the owners' data are much like the target.

    Parameters
    ----------
    reads_per_record
        Points accessed per summary point, at least 1.

    See Also
    --------
    dpsumm.Offers : Points that are like the target.
    dpsumm.summary.Uniform : Without a choice among them.

    Examples
    --------
    >>> import numpy as np, dpsumm
    >>> rng = np.random.default_rng(0)
    >>> owners = [rng.uniform(0, 1, (200, 2)) for _ in range(3)]
    >>> target = rng.uniform(0.4, 1, (300, 2))
    >>> from dpsumm.summary import Greedy, Uniform
    >>> for protocol in (dpsumm.Pool(reads_per_record=2), Uniform(), Greedy()):
    ...     made = dpsumm.summarize(
    ...         owners, target, size=12, kernel=dpsumm.RBF(4), protocol=protocol
    ...     )
    ...     print(f"{made.protocol}: {made.accesses} points read, epsilon {made.privacy.epsilon()}")
    random pool: 24 points read, epsilon 0.0
    uniform: 12 points read, epsilon 0.0
    greedy on all data: 600 points read, epsilon 0.0
    """

    reads_per_record: float = 4.0

    name = "random pool"
    needs_kernel = False
    owners_argument = _ARGUMENT

    def __post_init__(self) -> None:
        if not (math.isfinite(self.reads_per_record) and self.reads_per_record >= 1):
            raise InvalidParameterError(
                f"reads_per_record must be a finite number of at least 1, "
                f"got {self.reads_per_record!r}"
            )

    def curator(self, setting: Setting) -> Curator:
        """Return the curator of a run."""
        return DrawCurator(
            setting, even_shares(math.ceil(self.reads_per_record * setting.size), setting)
        )

    def stability(self, setting: Setting) -> Stability:
        """Return one point if the pool is the summary: see `Protocol.stability`."""
        return _stability(math.ceil(self.reads_per_record * setting.size), setting)


@dataclass(frozen=True)
class Uniform(Protocol):
    """Uniform sampling per owner: ``size / K`` random points of each, and no selection at all.

    See Also
    --------
    dpsumm.Pool : Chooses among the points that it reads. Its example runs both.
    dpsumm.Offers : Points that are like the target.
    """

    name = "uniform"
    needs_kernel = False
    owners_argument = _ARGUMENT

    def curator(self, setting: Setting) -> Curator:
        """Return the curator of a run."""
        return DrawCurator(setting, even_shares(setting.size, setting))

    def stability(self, setting: Setting) -> Stability:
        """Return one point: see `Protocol.stability`."""
        return _stability(setting.size, setting)


@dataclass(frozen=True)
class Greedy(Protocol):
    """The non-private greedy of Kim, Khanna & Koyejo 2016 (exact kernel) on all data of all owners.

    It is the reference for quality. It leaks nothing to owners, but the curator reads everything.

    See Also
    --------
    dpsumm.Pool : Reads a few points. Its example runs both.
    dpsumm.Offers : Reads a few points that are like the target, with a guarantee.
    """

    name = "greedy on all data"
    needs_kernel = False
    owners_argument = _ARGUMENT

    def curator(self, setting: Setting) -> Curator:
        """Return the curator of a run."""
        return DrawCurator(setting, dict(setting.n_records))

    def stability(self, setting: Setting) -> Stability:
        """Return one point if all records are the summary: see `Protocol.stability`."""
        return _stability(sum(setting.n_records.values()), setting)


def _stability(n_pool: int, setting: Setting) -> Stability:
    """Return what holds for a pool of so many points, by public numbers."""
    if min(n_pool, sum(setting.n_records.values())) > setting.size:
        return Stability(
            None,
            "the curator chose its points from a larger pool by the greedy, so one record may "
            "change every point of the summary",
        )
    return Stability(
        1,
        "the summary is all that was drawn, by coins that depend on no record: one record is one "
        "point or none. That it may not be drawn is not counted",
    )


def even_shares(total: int, setting: Setting) -> dict[str, int]:
    """Return how many points each owner sends, evenly, up to its records, `total` in all if
    possible.

    Public numbers only. The missing points of a small owner are spread over the others. Left-overs
    of the division go to the owners that come first.
    """
    left = dict(setting.n_records)
    shares = dict.fromkeys(left, 0)
    total = min(total, sum(left.values()))
    while total:
        open_ = [name for name in shares if left[name]]
        even, odd = divmod(total, len(open_))
        for i, name in enumerate(open_):
            more = min(even + (i < odd), left[name])
            shares[name] += more
            left[name] -= more
            total -= more
    return shares


class DrawCurator(CollectingCurator):
    """Asks each owner for a public number of random points."""

    def __init__(self, setting: Setting, shares: dict[str, int]) -> None:
        super().__init__(setting)
        self._shares = {name: count for name, count in shares.items() if count}
        # No owner ever learns the bandwidth here, so the target itself may give it.
        self._kernel = setting.kernel or RBF(
            1.0 / median_squared_distance(setting.target, "target")
        )

    @property
    def kernel(self) -> RBF:
        """The kernel, known to the curator and the consumer only."""
        return self._kernel

    def requests(self) -> dict[str, Request]:
        """Ask for public numbers of points. See `CollectingCurator.requests`."""
        return {name: DrawRequest(count) for name, count in self._shares.items()}

    def count(self, name: str) -> int:
        """Return the number asked for. See `CollectingCurator.count`."""
        return self._shares[name]
