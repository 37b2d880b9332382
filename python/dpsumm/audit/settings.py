"""What audited runs have in common: a setting of made-up data, and a ledger without books."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.privacy.events import Charge
from dpsumm.privacy.ledger import Ledger
from dpsumm.summary.kernel import RBF
from dpsumm.summary.protocols.curator import Setting

# What Gaussian noise is calibrated to. Audits may claim at another delta.
EPSILON, DELTA = 2.0, 0.01


class Unbooked(Ledger):
    """Keeps the releases of a run by key, and no books, which would take most of the time.

    Parameters
    ----------
    run
        Name of the run.
    again
        Draw anew at every call: a sample of many releases from one curator.
    """

    def __init__(self, run: str, *, again: bool = False) -> None:
        self.run = run
        self.resumed = False
        self._again = again
        self._kept: dict[str, bytes] = {}

    def has(self, key: str) -> bool:
        """Return whether something was released under a key."""
        return key in self._kept

    def release(
        self, key: str, charges: Sequence[Charge], draw: Callable[[], bytes], *, binding: str = ""
    ) -> bytes:
        """Return the release of a key, and draw it if there is none."""
        if self._again or key not in self._kept:
            self._kept[key] = draw()
        return self._kept[key]

    def close(self) -> None:
        """Do nothing, because no file is open."""


def setting(
    target: NDArray[np.float64], n_records: Mapping[str, int], size: int, book: Ledger, **more: Any
) -> Setting:
    """Return a setting of points that are in the kernel's space, gamma 0.5 unless given."""
    given = {"epsilon": 1.0, "delta": DELTA, "kernel": RBF(0.5), **more}
    columns = tuple("xy"[: target.shape[1]])
    return Setting(
        target=target,
        columns=columns,
        schema=None,
        n_records=n_records,
        size=size,
        labelled=False,
        ledger=book,
        **given,
    )
