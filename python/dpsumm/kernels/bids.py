"""Best bids are rows with the largest exact scores under two released directions."""

from __future__ import annotations

from numpy.typing import ArrayLike

from dpsumm.kernels import _core, inputs


class Bidder:
    """Rows of grid features, and the best of them under two directions that change.

    A row's score is ``target_factor * row @ target - summary_factor * row @ summary``, an exact
    integer. Scores under each direction are kept. So other factors need no pass over the rows, and
    a direction that changed in few coordinates reads only those columns. Both start at zero.
    Sarpatwar et al. 2019, Algorithm 3, step 6, with the signs of the gain corrected.

    Parameters
    ----------
    features : (n, d) int16
        As from :meth:`RandomFeatures.on_grid`. Copied. n may be 0. Rows have the ids 0, 1, ..

    Raises
    ------
    InvalidParameterError
        Shapes that do not fit, values beyond 16 bits, a direction of an L1 norm of 2**48 or more.

    Privacy
    -------
    Exact and not private, because bids depend on the rows. They may go to a trusted curator alone.

    See Also
    --------
    dpsumm.kernels.RandomFeatures : Makes such rows.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsumm.kernels import Bidder
    >>> bidder = Bidder(np.array([[1, 0], [0, 1], [1, 1]], dtype=np.int16))
    >>> bidder.set_target([3, 5])
    >>> bidder.best(1, 0, 2)
    ([2, 1], [8, 5])
    >>> bidder.remove(2)
    >>> bidder.best(1, 1, 2, summary=[1, 1])
    ([1, 0], [4, 2])
    """

    __slots__ = ("_bidder",)

    def __init__(self, features: ArrayLike) -> None:
        self._bidder = _core.Bidder(inputs.integers(features, "features", inputs.INT16, 2))

    def append(self, features: ArrayLike, ids: ArrayLike) -> None:
        """Add rows at the end.

        Parameters
        ----------
        features : (k, d) int16
        ids : (k,) integers
            Of equal scores the smaller id is best. All ids differ.
        """
        rows = inputs.integers(features, "features", inputs.INT16, 2)
        self._bidder.append(rows, inputs.integers(ids, "ids"))

    def set_target(self, target: ArrayLike) -> None:
        """Set the direction that scores grow with, (d,) integers."""
        self._bidder.set_target(inputs.integers(target, "target"))

    def set_summary(self, summary: ArrayLike) -> None:
        """Set the direction that scores fall with, (d,) integers."""
        self._bidder.set_summary(inputs.integers(summary, "summary"))

    def remove(self, row: int) -> None:
        """Take a row out, so that it is no longer among the best."""
        self._bidder.remove(inputs.whole(row, "row"))

    def best(
        self,
        target_factor: int,
        summary_factor: int,
        count: int,
        *,
        target: ArrayLike | None = None,
        summary: ArrayLike | None = None,
    ) -> tuple[list[int], list[int]]:
        """Return the best rows and their scores, best first. Fewer if fewer are left.

        Parameters
        ----------
        target_factor, summary_factor
            Within 64 bits.
        count
            At least 1.
        target, summary : (d,) integers, optional
            Directions to set first, for rounds of bids in one call of the core.

        Returns
        -------
        tuple of list
            Rows, and exact scores, which may need 128 bits.
        """
        return self._bidder.best(
            inputs.whole(target_factor, "target_factor", -(2**63)),
            inputs.whole(summary_factor, "summary_factor", -(2**63)),
            inputs.whole(count, "count", 1),
            None if target is None else inputs.integers(target, "target"),
            None if summary is None else inputs.integers(summary, "summary"),
        )
