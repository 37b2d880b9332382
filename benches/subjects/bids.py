"""Best bid among n rows of d grid features: all columns changed, and only some."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benches import plain
from benches.subjects import Scale
from benches.timing import OURS, Case
from dpsumm import kernels

DIGIT, READ = "one digit of three", "reading alone, NumPy"


def cases(scale: Scale) -> Iterator[Case]:
    yield _dense(scale.of(2000, 200_000), scale.of(64, 512))
    yield _dense(scale.of(2000, 200_000), scale.of(64, 512), threads=2)
    yield _changed(scale.of(2000, 200_000), 140, 10)
    for n in scale.growth(4000, 40_000, 400_000):
        yield _dense(n, 140, "n")
    for d in scale.growth(16, 160, 1600):
        yield _dense(scale.of(1000, 40_000), d, "d")


def _grid(n: int, d: int) -> NDArray[np.int16]:
    return np.random.default_rng([n, d]).integers(-(2**14), 2**14, (n, d), dtype=np.int16)


def _directions(d: int) -> NDArray[np.int64]:
    """Two, of which every coordinate differs: a pass over all columns for each change."""
    one = np.random.default_rng(d).integers(-(2**26), 2**26, d)
    return np.stack([one, one ^ 4096])


def _round(
    grid: NDArray[np.int16], directions: NDArray[np.int64], best: bool = True
) -> Callable[[], Any]:
    """A round of the Auction at an owner: another direction, then its best bid."""
    bidder = kernels.Bidder(grid)
    bidder.set_target(directions[0])
    turn = 0

    def call() -> Any:
        nonlocal turn
        turn += 1
        bidder.set_summary(directions[turn % 2])
        return bidder.best(1, 1, 1) if best else None

    for _ in range(4):  # the first passes over changed columns prepare for more of them
        call()
    return call


def _read(grid: NDArray[np.int16], threads: int) -> Any:
    """Read all of a grid and do next to nothing with it."""
    parts = np.array_split(grid.reshape(-1).view(np.int64), threads)
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(np.bitwise_or.reduce, parts))


def _dense(n: int, d: int, grows: str = "", threads: int = 1) -> Case:
    grid, directions = _grid(n, d), _directions(d)
    floats, means = grid / 32768.0, directions[0] / 1e9
    contenders = {
        OURS: _round(grid, directions),
        "NumPy, float64": lambda: plain.best_bid(floats, means),
    }
    if not grows:  # the same bytes with a third of the operations, and with none
        contenders[DIGIT] = _round(grid, (directions >> 18) ^ [[0], [1]])
        contenders[READ] = lambda: _read(grid, threads)
    return Case(
        {"n": n, "d": d},
        contenders,
        grows,
        threads,
        operations=2.0 * n * d,
        moved=2.0 * n * d,
    )


def _changed(n: int, d: int, changed: int) -> Case:
    """Rounds, and what they consist of: scores under a new direction, and the best of them."""
    grid, directions = _grid(n, d), _directions(d)
    some = directions.copy()
    some[1, changed:] = some[0, changed:]
    return Case(
        {"n": n, "d": d, "changed": changed},
        {
            f"{OURS}, {changed} columns changed": _round(grid, some),
            f"{OURS}, all columns changed": _round(grid, directions),
            f"scores alone, {changed} columns changed": _round(grid, some, best=False),
            "scores alone, all columns changed": _round(grid, directions, best=False),
        },
        # Features and scores in, scores out, and the scores once more for the best.
        operations=2.0 * n * changed,
        moved=2.0 * n * changed + 24.0 * n,
    )
