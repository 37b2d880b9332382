"""The ten nearest of 5000 rows for each of n points."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benches import data, peers
from benches.subjects import Scale
from benches.timing import OURS, Case
from dpsumm import kernels

PEER = "scikit-learn NearestNeighbors, brute force"


def cases(scale: Scale) -> Iterator[Case]:
    for columns in scale.growth(50, 10, 200):
        yield _case(scale.of(200, 20_000), scale.of(100, 5000), columns, "c")


def _case(n: int, m: int, c: int, grows: str) -> Case:
    points, others = data.normals(n, c), data.normals(m, c, seed=1)

    def check(results: dict[str, Any]) -> dict[str, dict[str, Any]]:
        if PEER not in results:
            return {}
        same = np.mean(np.sort(results[OURS][0]) == np.sort(results[PEER]))
        return {OURS: {"the same neighbours": f"{same:.4%}"}}

    return Case(
        {"n": n, "m": m, "c": c},
        {
            OURS: lambda: kernels.nearest(points, others, 10),
            PEER: peers.sklearn_nearest(points, others, 10),
        },
        grows,
        operations=2.0 * n * m * c,
        moved=8.0 * (n + m) * c,
        check=check,
    )
