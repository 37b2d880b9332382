"""Exact integer noise from the system's randomness, beside NumPy's, which is not private."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benches.subjects import Scale
from benches.timing import OURS, Case
from dpsumm import kernels


def cases(scale: Scale) -> Iterator[Case]:
    yield _case(scale.of(1000, 1_000_000), 1000.0)
    for d in scale.growth(1000, 10_000, 100_000):
        yield _case(d, 1000.0, "d")


def _case(d: int, noise_std: float, grows: str = "") -> Case:
    rng = np.random.default_rng()
    return Case(
        {"d": d},
        {
            f"{OURS} rounded_normal": lambda: kernels.rounded_normal(noise_std, d),
            f"{OURS} discrete_laplace": lambda: kernels.discrete_laplace(noise_std, d),
            "NumPy normal, rounded": lambda: np.rint(rng.normal(0, noise_std, d)),
        },
        grows,
    )
