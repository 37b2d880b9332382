"""Every point that the curator read, with its label and its owner, picked or not."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.checks import counted
from dpsumm.data.frame import Backend, backend_of, framed
from dpsumm.data.kinds.along import typed
from dpsumm.data.kinds.label import labels_of
from dpsumm.data.records import Records
from dpsumm.data.schema import Schema
from dpsumm.summary.frame import columns_of
from dpsumm.summary.kernel import FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class PointsRead:
    """All n points that the owners sent, among them the p that were picked.

    The owners disclosed all of them, whether they were picked or not, and no charge changes if all
    are used. For curator and consumer, like all else in a summary.

    Attributes
    ----------
    points : (n, c)
        In original units, as `Summary.points`.
    labels : (n,) or None
        As `Summary.labels`.
    owner, index : (n,) int64
        Owner of each point (position in `Summary.names`) and its row in that owner's data.
    picks : (p,) int64
        Rows of the pool that are the summary, in the order of the picks.
    scaled : (n, e) float64
        In the kernel's space.

    See Also
    --------
    dpsumm.summary.Summary : Has them as `pool`.

    Examples
    --------
    >>> import numpy as np, dpsumm
    >>> rng = np.random.default_rng(0)
    >>> owners = [(rng.normal(at, 1, (500, 2)), rng.integers(0, 2, 500)) for at in (-1, 0, 1)]
    >>> kernel = dpsumm.RBF(0.25)
    >>> summary = dpsumm.summarize(owners, rng.normal(1, 1, (500, 2)), size=20, kernel=kernel)
    >>> pool = summary.pool
    >>> len(pool) == summary.accesses, pool.labels.shape == (len(pool),)
    (True, True)
    >>> bool((pool.points[pool.picks] == summary.points).all())
    True
    """

    records: Records
    owner: NDArray[np.int64]
    scaled: FloatArray
    picks: NDArray[np.int64]
    schema: Schema
    names: tuple[str, ...]
    backend: Backend | None = field(default=None)

    def __len__(self) -> int:
        return len(self.owner)

    def __repr__(self) -> str:
        owners = counted(len(np.unique(self.owner)), "owner", "owners")
        return f"PointsRead({len(self):,} points of {owners}, {len(self.picks):,} of them picked)"

    @property
    def points(self) -> FloatArray:
        """The points, (n, c)."""
        return self.records.values

    @cached_property
    def labels(self) -> NDArray[Any] | None:
        """Their labels, (n,)."""
        given, label = self.records.labels, self.schema.label
        if given is None or (label is not None and label.categories):
            return given
        # Owners may have sent one label as a number and as text.
        return labels_of(given.tolist())

    @property
    def index(self) -> NDArray[np.int64]:
        """Their rows at their owners, (n,)."""
        return self.records.rows

    def to_frame(self, backend: Backend | None = None) -> Any:
        """Return a data frame as `Summary.to_frame` does, with a column ``picked`` of truth values.

        Parameters
        ----------
        backend
            As of `Summary.to_frame`. If the data have a column ``picked``, ours is
            called ``picked_``.
        """
        backend = backend_of(backend, self.backend)
        picked = np.zeros(len(self), dtype=np.bool_)
        picked[self.picks] = True
        own = {"owner": np.array(self.names)[self.owner], "index": self.index, "picked": picked}
        along = tuple(map(typed, self.records.carried))
        data = columns_of(self.schema, self.points, self.labels, along, backend, own)
        return framed(data, backend)
