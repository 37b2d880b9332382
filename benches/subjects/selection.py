"""Greedy selection of p of n points towards m target points, their attraction included."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benches import data, peers, plain
from benches.subjects import Scale
from benches.timing import OURS, Case
from dpsumm import kernels

EXP = 30  # operations of an exponential: 15 fused


def cases(scale: Scale) -> Iterator[Case]:
    n, m, p = scale.of(2000, 50_000), scale.of(100, 1000), scale.of(20, 500)
    yield _case(n, data.COLUMNS, m, p, everybody=True)
    for n in scale.growth(1000, 10_000, 100_000):
        yield _case(n, data.COLUMNS, 100, 100, grows="n")
    for p in scale.growth(10, 100, 1000):
        yield _case(scale.of(1000, 10_000), data.COLUMNS, 100, p, grows="p")
    for columns in scale.growth(4, 40, 400):
        yield _case(scale.of(1000, 10_000), columns, 100, 100, grows="c")


def _case(n: int, c: int, m: int, p: int, grows: str = "", everybody: bool = False) -> Case:
    gamma = data.gamma(c)
    points, target = data.normals(n, c), data.normals(m, c, shift=0.5, seed=1)

    contenders = {
        OURS: lambda: kernels.greedy_towards(points, target, gamma, p).rows,
        "NumPy, products": lambda: plain.greedy_by_products(points, target, gamma, p),
    }
    if everybody:
        contenders |= {
            "NumPy, differences": lambda: plain.greedy(points, target, gamma, p),
            "coreax KernelHerding": peers.coreax_herding(points, target, gamma, p),
            "goodpoints compress_kt, g=2": peers.goodpoints_compress(points, gamma, p, 2),
            "goodpoints compress_kt, g=0": peers.goodpoints_compress(points, gamma, p, 0),
        }

    def check(results: dict[str, Any]) -> dict[str, dict[str, Any]]:
        facts: dict[str, dict[str, Any]] = {}
        for name, rows in results.items():
            value = kernels.mmd2(points[np.asarray(rows)], target, gamma)
            facts[name] = {"MMD² to the target": f"{value:.3g}"}
        same = bool(np.array_equal(results[OURS], results["NumPy, differences"]))
        facts[OURS]["picks equal NumPy's"] = "yes" if same else "no"
        return facts

    return Case(
        {"n": n, "c": c, "m": m, "p": p},
        contenders,
        grows,
        operations=n * (m + p) * (2.0 * c + EXP),
        moved=8.0 * n * c,
        check=check if everybody else None,
    )
