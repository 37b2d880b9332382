"""The release: charge, then noise, then bytes, in one transaction of the ledger.

Claim
    What `release` returns is, together with all that the same run has released, private as the
    ledger says: `Sums.charges` is the cost, by `query`, of exactly the sums that got noise.
Argument
    Gaussian releases, each chosen after seeing the last, with multipliers m_i, are one of
    multiplier ``1 / sqrt(sum 1 / m_i**2)`` (Dong, Roth & Su 2022, Corollary 3.3). `PaidNoise` adds
    noise to as many sums as were charged, no more and no fewer. `Ledger.release` commits the charge
    with the bytes before it returns them, and returns the same bytes when asked again.
Tested by
    tests/privacy/test_kernel.py, tests/release, tests/faults
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dpsumm.errors import InvalidParameterError
from dpsumm.privacy import accounting
from dpsumm.privacy.events import Approximate, Charge, Event, Gaussian, Observer, Protected, Seeded
from dpsumm.privacy.ledger import Ledger, OtherReleaseError
from dpsumm.privacy.release.noise import PaidNoise
from dpsumm.privacy.release.query import Query


@dataclass(frozen=True)
class Sums:
    """Noisy sums that leave together. Their charge follows from the noise that they get.

    Attributes
    ----------
    queries
        All of one unit, and all with a seed or all without. An empty list has no cost.
    protected, message, observer
        The party whose records the sums depend on, the message in words, and its observer.
    afterwards
        The (epsilon, delta) of a release that is decided on after others of its run. Gaussian
        releases compose as one only by a plan that was fixed before, so this one is added to the
        run's figure (``docs/privacy/accounting.md``, Lemma C).
    """

    queries: Sequence[Query]
    protected: Protected
    message: str
    observer: Observer = Observer.OWNER
    afterwards: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        for what in ({q.bound.unit for q in self.queries}, {q.seed is None for q in self.queries}):
            if len(what) > 1:
                raise InvalidParameterError("queries must be of one unit, all with a seed or none")
        if self.afterwards is not None:
            epsilon, delta = self.afterwards
            if accounting.compose([self._event], delta) > epsilon:
                raise InvalidParameterError("afterwards must cover what the queries cost")

    @property
    def charges(self) -> tuple[Charge, ...]:
        """What the ledger is charged: one line, or none without a query."""
        if not self.queries:
            return ()
        event, count = self._event
        if self.afterwards is not None:
            event, count = Approximate(*self.afterwards), 1
        if self.queries[0].seed is not None:
            event, count = Seeded(), 1
        unit = self.queries[0].bound.unit
        return (Charge(self.protected, self.message, event, count, self.observer, unit),)

    @property
    def _event(self) -> tuple[Event, int]:
        if len(self.queries) == 1:
            return Gaussian(self.queries[0].multiplier), self.queries[0].times
        total = math.fsum(query.times / query.multiplier**2 for query in self.queries)
        # The margin is far above the float error of the sum and of its root.
        return Gaussian((1 - 1e-12) / math.sqrt(total)), 1


def release(
    ledger: Ledger, key: str, sums: Sums, draw: Callable[[PaidNoise], bytes], *, binding: str
) -> bytes:
    """Charge noisy sums and return them as bytes. Asked again, the same ones.

    Parameters
    ----------
    ledger, key, binding
        As for `dpsumm.privacy.ledger.Ledger.release`.
    sums
        The charged sums.
    draw
        Adds the noise that it is given to the exact sums, each once and in the order of the
        queries, and returns the bytes. All that it does with noisy sums is post-processing.

    Raises
    ------
    BudgetExceededError, InvalidParameterError
        As `Ledger.release`. `draw` was not called.
    """

    return ledger.release(key, sums.charges, lambda: _paid(sums, draw), binding=binding)


def share(
    ledger: Ledger, key: str, sums: Sums, draw: Callable[[PaidNoise], bytes], *, binding: str
) -> bytes:
    """Charge noisy sums once, and return a share of them that reveals nothing alone.

    For owners in one process, whose shares lose their meaning with the keys of that process: asked
    again, it makes another share at no further charge. **Of all shares under one key at most one
    may be opened**. The opener keeps their sum before anyone sees it, and asks for no share
    afterwards. Parameters and errors are those of `release`.

    Raises
    ------
    OtherReleaseError
        The ledger has a release of that key with its bytes, so that it was opened elsewhere.
    """
    if ledger.release(key, sums.charges, lambda: b"", binding=binding):
        raise OtherReleaseError("ledger: the release was made in another way")
    return _paid(sums, draw)


def _paid(sums: Sums, draw: Callable[[PaidNoise], bytes]) -> bytes:
    noise = PaidNoise(sums.queries)
    made = draw(noise)
    noise.check_used()
    return made
