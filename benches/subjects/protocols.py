"""Whole protocols among K owners, and how much of them is Python."""

from __future__ import annotations

import cProfile
import pstats
import time
from collections.abc import Callable, Iterator
from typing import Any

import dpsumm
from benches import data
from benches.subjects import Scale
from benches.timing import OURS, Case

GAMMA = data.gamma()


def cases(scale: Scale) -> Iterator[Case]:
    owners, p = scale.of(3, 100), scale.of(10, 1000)
    yield _case("Offers", scale.of(3000, 1_000_000), owners, p)
    yield _case("Auction, batch 1", scale.of(3000, 100_000), owners, p)
    yield _case("Auction, 10 rounds", scale.of(3000, 1_000_000), owners, p)
    for owners in scale.growth(2, 20, 200):
        yield _case("Offers", scale.of(2000, 20_000), owners, scale.of(10, 200), "K")
    for owners in scale.growth(2, 20, 200):
        yield _case("Auction, batch 1", scale.of(2000, 20_000), owners, scale.of(10, 50), "K")
    for p in scale.growth(10, 100, 1000):
        yield _case("Offers", scale.of(2000, 20_000), scale.of(2, 10), p, "p")


def _case(protocol: str, n: int, owners: int, p: int, grows: str = "") -> Case:
    points = [
        data.normals(n // owners, shift=i / owners - 0.5, seed=i).astype("f4")
        for i in range(owners)
    ]
    target = data.normals(1000, shift=0.5, seed=owners).astype("f4")
    made = {
        "Offers": dpsumm.Offers(),
        "Auction, batch 1": dpsumm.papers.Auction(batch=1),
        "Auction, 10 rounds": dpsumm.papers.Auction(),
    }[protocol]

    def call() -> Any:
        return dpsumm.summarize(points, target, size=p, kernel=dpsumm.RBF(GAMMA), protocol=made)

    def pool() -> Any:
        return dpsumm.summarize(
            points, target, size=p, kernel=dpsumm.RBF(GAMMA), protocol=dpsumm.Pool()
        )

    name = f"{OURS}, {protocol}"

    def check(_: dict[str, Any]) -> dict[str, dict[str, Any]]:
        return {name: {"not in the core": f"{share_outside_core(call):.0%}"}}

    contenders = {name: call}
    if protocol == "Offers":  # the least that a protocol does: random points, and the selection
        contenders[f"{OURS}, Pool"] = pool
    return Case(
        {"n": n, "K": owners, "p": p, "c": data.COLUMNS},
        contenders,
        grows,
        check=None if grows else check,
    )


def share_outside_core(call: Callable[[], Any]) -> float:
    """Share of the CPU-seconds outside the compiled core: Python, NumPy, the books.

    Measured under the profiler, whose own cost counts as Python: an upper bound.
    """
    profiler = cProfile.Profile(time.process_time)
    profiler.runcall(call)
    spent = pstats.Stats(profiler).stats  # type: ignore[attr-defined]
    total = sum(own for _, _, own, _, _ in spent.values())
    classes = ("RandomFeatures", "Bidder", "Mwem", "Picks", "_core")
    core = sum(
        own for (_, _, name), (_, _, own, _, _) in spent.items() if any(c in name for c in classes)
    )
    return 1.0 - core / total
