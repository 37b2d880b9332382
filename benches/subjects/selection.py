"""Greedy selection of p of n points towards m target points, their attraction included."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benches import data, peers, plain
from benches.subjects import Scale
from benches.timing import OURS, Case
from dpsumm import kernels

EXP = 30  # operations of an exponential: 15 fused
READ = "one product of all points a pick, NumPy f32"
SIMPLE = "NumPy f32"
DOUBT = "rows that one bound does not tell from the best"

# Kind of points, columns, shift of the target, width of the kernel in median distances.
SHAPES = (
    ("normal", 64, 0.0, 1.0),
    ("normal", 64, 0.3, 1.0),
    ("normal", 64, 0.3, 0.28),
    ("normal", 64, 0.3, 0.5),
    ("normal", 64, 1.0, 1.0),
    ("normal", 64, 2.0, 3.0),
    ("normal", 4, 0.3, 1.0),
    ("normal", 16, 0.3, 1.0),
    ("normal", 16, 0.0, 0.3),
    ("normal", 256, 0.3, 1.0),
    ("uniform", 16, 0.1, 1.0),
    ("clusters", 32, 0.0, 1.0),
    ("clusters", 32, 0.0, 0.3),
    ("heavy tails", 16, 0.3, 1.0),
    ("copies", 32, 0.3, 1.0),
)


def cases(scale: Scale) -> Iterator[Case]:
    n, m, p = scale.of(2000, 50_000), scale.of(100, 1000), scale.of(20, 500)
    yield _case(n, data.COLUMNS, m, p, everybody=True)
    yield _beside(scale.of(4000, 500_000), m, p, "of a tenth of the points", lambda x: x[::10])
    n, copies = scale.of(2000, 50_000), scale.of(800, 20_000)
    yield _beside(n, m, p * 4 // 5, "of distinct points", lambda x: x, copies)
    yield _shapes(scale.of(1000, 20_000), m, p)
    for n in scale.growth(1000, 10_000, 100_000):
        yield _case(n, data.COLUMNS, 100, 100, grows="n")
    for p in scale.growth(10, 100, 1000):
        yield _case(scale.of(1000, 10_000), data.COLUMNS, 100, p, grows="p")
    for columns in scale.growth(4, 40, 400):
        yield _case(scale.of(1000, 10_000), columns, 100, 100, grows="c")


def _beside(
    n: int,
    m: int,
    p: int,
    name: str,
    others: Callable[[NDArray[Any]], NDArray[Any]],
    copies: int = 0,
) -> Case:
    """Ours beside ours from other points; `copies` of the points are the first that is picked.

    Without copies also what reading all points at each pick costs, and of how many rows the greedy
    needs all kernel values.
    """
    c = data.COLUMNS
    gamma = data.gamma(c)
    points, target = data.normals(n, c), data.normals(m, c, shift=0.5, seed=1)
    compared = others(points).copy()
    if copies:
        points[:copies] = points[kernels.greedy_towards(points, target, gamma, 1).rows[0]]
    contenders: dict[str, Callable[[], Any]] = {
        OURS: lambda: kernels.greedy_towards(points, target, gamma, p).rows,
        f"{OURS}, {name}": lambda: kernels.greedy_towards(compared, target, gamma, p).rows,
    }
    if copies:
        return Case({"n": n, "c": c, "m": m, "p": p, "copies": copies}, contenders)
    contenders[READ] = lambda: plain.one_product_a_pick(points, p)
    contenders[f"{READ}, {name}"] = lambda: plain.one_product_a_pick(compared, p)

    def check(results: dict[str, Any]) -> dict[str, dict[str, Any]]:
        tables = {OURS: points, f"{OURS}, {name}": compared}
        return {
            who: {DOUBT: f"{plain.in_doubt(table, target, gamma, results[who]):.1%}"}
            for who, table in tables.items()
        }

    return Case({"n": n, "c": c, "m": m, "p": p}, contenders, check=check)


def _shapes(n: int, m: int, p: int) -> Case:
    """Ours beside a simple greedy, for points of many shapes."""
    contenders: dict[str, Callable[[], Any]] = {}
    for kind, c, shift, width in SHAPES:
        given = data.shape(kind, n, m, c, shift, width)
        name = f"{kind}, c {c}, shift {shift:g}, kernel {width:g}"
        contenders[f"{OURS}, {name}"] = partial(kernels.greedy_towards, *given, p)
        contenders[f"{SIMPLE}, {name}"] = partial(plain.greedy_in_single, *given, p)
    return Case({"n": n, "m": m, "p": p}, contenders)


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
