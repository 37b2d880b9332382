"""A run of MWEM: T iterations on the sums of d coordinates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from tests.reference.mwem import mwem

from benches.subjects import Scale
from benches.timing import OURS, Case, Contender, Missing
from dpsumm import kernels

STEPS, COUNT, EPSILON = 20, 1000, 0.01


def cases(scale: Scale) -> Iterator[Case]:
    yield _case(140, scale.of(50, 1656), twin=True)
    yield _case(scale.of(400, 4096), scale.of(1000, 262_144))
    for d in scale.growth(100, 1000, 10_000):
        yield _case(d, 1000, "d", twin=d <= 1000)
    for iterations in scale.growth(100, 1000, 10_000):
        yield _case(140, iterations, "T", twin=iterations <= 1000)


def _case(d: int, iterations: int, grows: str = "", twin: bool = False) -> Case:
    sums = np.random.default_rng([d, 0]).integers(-COUNT * STEPS // 2, COUNT * STEPS // 2, d)

    def ours() -> Any:
        return kernels.mwem(
            sums,
            COUNT,
            steps=STEPS,
            iterations=iterations,
            epsilon_select=EPSILON,
            epsilon_measure=EPSILON,
        )

    def plain() -> Any:
        return mwem(sums, COUNT, STEPS, iterations, EPSILON, EPSILON, np.random.default_rng(0))

    written_out: Contender = plain if twin else Missing("not run: a large size")
    return Case(
        {"d": d, "T": iterations},
        {OURS: ours, "NumPy, every marginal written out": written_out},
        grows,
    )
