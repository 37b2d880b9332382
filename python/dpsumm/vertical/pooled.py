"""Half of the rows are from a mixture of products, and half from a chain.

The two miss the tables in different ways, so together they are closer than the better of them
where noise is what limits them, and nearly as close elsewhere (docs/results-rows.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsumm.vertical.chain import Chain, fit_chain
from dpsumm.vertical.layout import Released
from dpsumm.vertical.model import Fitting, Mixture, fit


@dataclass(frozen=True, eq=False)
class Pooled:
    """A mixture of products and a chain of regressions, from which rows are drawn by turns.

    See Also
    --------
    dpsumm.synthesize : Fits one. Its example runs.
    """

    mixture: Mixture
    chain: Chain

    def draw(
        self, n: int, given: Sequence[int | None] | None = None, seed: int | None = None
    ) -> NDArray[np.uint32]:
        """Return the levels of n records, (n, columns).

        Parameters
        ----------
        given
            A level for each column, or None. All records have these levels, and the other columns
            are drawn given them.
        seed
            Repeats a draw.
        """
        levels = np.empty((n, len(self.mixture.sizes)), np.uint32)
        levels[::2] = self.mixture.draw((n + 1) // 2, given, seed)
        levels[1::2] = self.chain.draw(n // 2, given, seed)
        return levels


def fit_pooled(released: Released, fitting: Fitting) -> Pooled:
    """Return the model of released tables."""
    return Pooled(fit(released, fitting), fit_chain(released))
