"""Exact MMD^2 of two samples of n points each, and weights that make it small."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benches import data, peers, plain
from benches.subjects import Scale
from benches.subjects.selection import EXP
from benches.timing import OURS, Case, Missing
from dpsumm import kernels

LOOSELY, ONCE = "within 1e-5", "all kernel values once"


def cases(scale: Scale) -> Iterator[Case]:
    yield _case(scale.of(500, 50_000), data.COLUMNS)
    n = scale.of(200, 10_000)
    yield _weights(n, data.COLUMNS, n // 2)
    yield _weights(n, data.COLUMNS, 1)
    for n in scale.growth(100, 1000, 10_000):
        yield _case(n, data.COLUMNS, "n")
    for columns in scale.growth(4, 40, 400):
        yield _case(scale.of(200, 3000), columns, "c")


def _weights(n: int, c: int, floor: int) -> Case:
    """Weights of a summary of n points, with a summary's tolerance under its floor."""
    gamma = data.gamma(c)
    points, target = data.normals(n, c), data.normals(1000, c, shift=0.1, seed=1)
    attraction = kernels.kernel_means(points, target, gamma)
    ridge = (1.0 - kernels.mean_kernel_self(target, gamma)) / len(target)
    tolerance = 1e-2 * ridge if floor > 1 else 1e-9

    def weights(tolerance: float) -> Any:
        return kernels.weights(points, attraction, gamma, ridge, tolerance, floor)

    contenders = {f"{OURS}, weights": lambda: weights(tolerance)}
    if floor == 1:
        contenders[LOOSELY] = lambda: weights(1e-5)
        contenders[ONCE] = lambda: kernels.kernel_means(points, points, gamma)
    return Case({"n": n, "c": c, "floor": floor}, contenders)


def _case(n: int, c: int, grows: str = "") -> Case:
    gamma = data.gamma(c)
    a, b = data.normals(n, c), data.normals(n, c, shift=0.1, seed=1)

    def check(results: dict[str, Any]) -> dict[str, dict[str, Any]]:
        error = abs(results[OURS] - results["NumPy in blocks"])
        return {OURS: {"difference from NumPy": f"{error:.1e}"}}

    return Case(
        {"n": n, "c": c},
        {
            OURS: lambda: kernels.mmd2(a, b, gamma),
            "NumPy in blocks": lambda: plain.mmd2(a, b, gamma),
            "products alone, NumPy": lambda: plain.products(a, b),
            "scikit-learn rbf_kernel in blocks": (
                peers.sklearn_mmd2(a, b, gamma)
                if n <= 20_000
                else Missing("not run: minutes, see the smaller sizes")
            ),
        },
        grows,
        # All pairs between the samples, half of those within.
        operations=2.0 * n * n * (2.0 * c + EXP),
        moved=16.0 * n * c,
        check=check,
    )
