"""Random Fourier features of n points: c columns, d features, float64."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benches import data, peers, plain
from benches.subjects import Scale
from benches.timing import OURS, Case
from dpsumm import kernels

SINES = 50  # operations of a sine and a cosine together: reduction, two polynomials


def cases(scale: Scale) -> Iterator[Case]:
    # As many threads for everybody: a product of matrices in BLAS uses them well.
    yield _case(
        scale.of(2000, 1_000_000), data.COLUMNS, scale.of(32, 512), threads=2, plain_too=False
    )
    yield _pass(scale.of(2000, 100_000), data.COLUMNS, scale.of(32, 512))
    for n in scale.growth(1000, 10_000, 100_000):
        yield _case(n, data.COLUMNS, 256, "n")
    for d in scale.growth(16, 160, 1600):
        yield _case(scale.of(1000, 20_000), data.COLUMNS, d, "d")
    for columns in scale.growth(4, 40, 400):
        yield _case(scale.of(1000, 20_000), columns, 256, "c")


def _case(
    n: int, c: int, d: int, grows: str = "", threads: int = 1, plain_too: bool = True
) -> Case:
    gamma = data.gamma(c)
    points = data.normals(n, c)
    ours = kernels.RandomFeatures(c, d, gamma=gamma, seed=0)
    # Only one number is kept: the features of a million points are gigabytes.
    contenders = {
        OURS: lambda: float(ours.transform(points)[-1, -1]),
        "scikit-learn RBFSampler": peers.sklearn_features(points, d, gamma),
    }
    if plain_too:
        contenders["NumPy"] = lambda: float(plain.features(points, ours.omega)[-1, -1])
    return Case(
        {"n": n, "c": c, "d": d},
        contenders,
        grows,
        threads,
        operations=n * d / 2 * (2.0 * c + SINES),
        moved=8.0 * n * (c + d),
    )


def _pass(n: int, c: int, d: int) -> Case:
    """The scores of all points under a direction: the pass of Offers, which keeps no features."""
    points = data.normals(n, c)
    ours = kernels.RandomFeatures(c, d, gamma=data.gamma(c), seed=0)
    direction = np.linspace(-1, 1, d)

    def in_blocks() -> Any:
        blocks = range(0, n, plain.BLOCK)
        return [plain.features(points[i : i + plain.BLOCK], ours.omega) @ direction for i in blocks]

    return Case(
        {"n": n, "c": c, "d": d},
        {f"{OURS} scores": lambda: ours.scores(points, direction), "NumPy in blocks": in_blocks},
        operations=n * d / 2 * (2.0 * c + SINES),
        moved=8.0 * n * c,
    )
