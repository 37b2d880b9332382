"""Records as arrays, which travel together through a run, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dpsumm.data.kinds.along import joined


@dataclass(frozen=True, eq=False)
class Records:
    """Records of one owner or several.

    Attributes
    ----------
    rows : (n,) int64
        Their rows in the data as the owner gave them.
    values : (n, c) float32 or float64
        As `Schema.encode` takes them, with numbers in their own units, dates as days, categories by
        position, NaN where a missing value is encoded.
    labels : (n,) or None
        Numbers, truth values or text.
    carried
        An (n,) array for each of `Schema.carried`: numbers, truth values, dates or text.
    """

    rows: NDArray[np.int64] = field(repr=False)
    values: NDArray[Any] = field(repr=False)
    labels: NDArray[Any] | None = field(repr=False)
    carried: tuple[NDArray[Any], ...] = field(default=(), repr=False)

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self.values)

    def take(self, index: NDArray[np.int64]) -> Self:
        """Return some of the records, in the order of `index`."""
        return replace(
            self,
            rows=self.rows[index],
            values=self.values[index],
            labels=None if self.labels is None else self.labels[index],
            carried=tuple(column[index] for column in self.carried),
        )

    @classmethod
    def concat(cls, parts: Sequence[Self]) -> Self:
        """Return the records of all parts in order, all else as in the first. All have labels or
        none has. Of kinds that do not go together every value's text is kept, see `joined`.
        """
        labels = [part.labels for part in parts if part.labels is not None]
        along = zip(*(part.carried for part in parts), strict=True)
        return replace(
            parts[0],
            rows=np.concatenate([part.rows for part in parts]),
            values=np.concatenate([part.values for part in parts]),
            labels=joined(labels) if labels else None,
            carried=tuple(joined(list(columns)) for columns in along),
        )
