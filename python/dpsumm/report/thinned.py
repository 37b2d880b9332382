"""Some of many points, where all would only make a look slower or a picture darker."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# More marks than this only make a darker blot and a larger file.
MOST_SHOWN = 3000


def thinned(points: NDArray[Any], most: int = MOST_SHOWN) -> NDArray[Any]:
    """Return at most so many of the points, evenly spaced in their order."""
    if len(points) <= most:
        return points
    rows = np.linspace(0, len(points) - 1, most).astype(np.int64)
    return np.asarray(points[rows])
