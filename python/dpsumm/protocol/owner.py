"""The owner's role: answers a request from its own data and the message alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpsumm import _core
from dpsumm.errors import ProtocolError
from dpsumm.protocol.messages import DrawRequest, OfferRequest, Points, Request
from dpsumm.tables import Table


class Owner:
    """One owner of a run.

    Parameters
    ----------
    table
        The owner's data.
    seed
        For random draws in tests and experiments; the operating system's randomness by default.
    """

    def __init__(self, table: Table, seed: int | None = None) -> None:
        self.table = table
        self._rng = np.random.default_rng(seed)

    def answer(self, request: Request) -> Points:
        """Return the points asked for. An answer is for the curator only, never for another owner.

        Raises
        ------
        ProtocolError
            The request does not fit this owner's data.
        """
        if isinstance(request, OfferRequest):
            picked = self._offers(request)
        elif isinstance(request, DrawRequest):
            count = min(request.count, len(self.table))
            picked = self._rng.choice(len(self.table), count, replace=False).astype(np.int64)
        else:
            raise ProtocolError(f"an owner cannot answer a {type(request).__name__}")
        picked = np.sort(picked)
        labels = self.table.labels
        return Points(
            self.table.original_rows(picked),
            self.table.values[picked],
            None if labels is None else labels[picked],
        )

    def _offers(self, request: OfferRequest) -> NDArray[np.int64]:
        """Mass-limited herding towards the released mean (DESIGN: protocol Offers, step 2)."""
        if request.feature_map.n_columns != self.table.scaled.shape[1]:
            raise ProtocolError(
                f"the curator's features are for {request.feature_map.n_columns} columns, this "
                f"owner's data have {self.table.scaled.shape[1]}"
            )
        points = self.table.scaled
        attraction = request.feature_map.build().scores(points, request.release.mean)
        return _core.herd(
            points,
            attraction,
            request.feature_map.gamma,
            request.mass,
            min(request.at_least, len(points)),
            min(request.at_most, len(points)),
        ).rows
