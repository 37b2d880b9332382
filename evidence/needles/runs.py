"""What is measured on the haystacks: settings, methods, and one row for each."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpsumm
from dpsumm.summary.protocols.protocol import Protocol
from evidence.data import skewed
from evidence.measures import judged
from evidence.needles import page
from evidence.needles.haystacks import HAYSTACKS, Haystack
from evidence.needles.rivals import nearest, private_centres
from evidence.problem import Floats, Labelled
from evidence.sources import digest

SIZE, FRESH, FIRST_SEED = 100, 100, 300
READS = (1, 2, 4, 8)


@dataclass(frozen=True)
class Cell:
    """A setting: needles' share of the owners' records, owners, target's records, epsilon."""

    share: float = 0.01
    owners: int = 20
    m: int = 200
    epsilon: float = 1.0


BASE = Cell()
CELLS = [
    BASE,
    *(Cell(share=share) for share in (0.001, 0.003, 0.03)),
    *(Cell(owners=owners) for owners in (5, 50, 200)),
    *(Cell(m=m) for m in (20, 50, 100, 500, 1000)),
    *(Cell(epsilon=epsilon) for epsilon in (0.3, 3.0)),
]


@dataclass(frozen=True)
class Search:
    """What a method gets, and what it is judged by.

    Attributes
    ----------
    owners
        Their records.
    seen
        The same as the kernel sees them, one owner after the other.
    labels, needle
        (n,) of all owners' records in that order.
    target, fresh
        Needles that no owner has.
    """

    haystack: Haystack
    cell: Cell
    owners: list[Labelled]
    seen: list[Floats]
    labels: NDArray[Any]
    needle: NDArray[np.bool_]
    target: Labelled
    fresh: Labelled
    seed: int


def search(haystack: Haystack, cell: Cell, seed: int) -> Search | None:
    """Draw owners with skewed kinds, a target and fresh needles; None if needles do not suffice."""
    rng = np.random.default_rng(seed)
    wanted = np.isin(haystack.kinds, haystack.needles)
    needles, others = (rng.permutation(np.flatnonzero(which)) for which in (wanted, ~wanted))
    count = round(cell.share * haystack.total)
    if cell.m + FRESH + count > len(needles):
        return None
    target, fresh, held, _ = np.split(needles, np.cumsum([cell.m, FRESH, count]))
    rows = np.concatenate([held, others[: haystack.total - count]])
    parts = skewed(Labelled(rows, haystack.kinds[rows]), cell.owners, rng)
    places = np.concatenate([part.points for part in parts])
    owners = [haystack.records.take(part.points) for part in parts]
    return Search(
        haystack,
        cell,
        owners,
        [haystack.seen(owner.points) for owner in owners],
        haystack.records.labels[places],
        wanted[places],
        haystack.records.take(target),
        haystack.records.take(fresh),
        seed,
    )


Found = tuple[NDArray[np.int64], NDArray[np.int64]]  # places that are read, and those kept


def summarized(protocol: Protocol, given: Search) -> Found:
    """Find by a protocol of the package."""
    summary = dpsumm.summarize(
        [owner.points for owner in given.owners],
        given.target.points,
        size=SIZE,
        schema=given.haystack.schema,
        kernel=given.haystack.kernel,
        protocol=protocol,
        epsilon=given.cell.epsilon,
        seed=given.seed,
        allow_weak_privacy=True,
    )
    starts = np.cumsum([0, *(len(owner.labels) for owner in given.owners)])
    pool = summary.pool
    read = starts[pool.owner] + pool.index if pool is not None else np.arange(starts[-1])
    return read, starts[summary.owner] + summary.index


def by_centres(count: int, reads: int, given: Search) -> Found:
    """Find the nearest to private centres."""
    rng = np.random.default_rng(given.seed)
    target = given.haystack.seen(given.target.points)
    bound = float(np.median(np.linalg.norm(np.concatenate(given.seen), axis=1)))
    centres = private_centres(target, count, bound, given.cell.epsilon, rng)
    places, _ = nearest(given.seen, centres, reads * SIZE)
    return places, places[:SIZE]


def methods(cell: Cell) -> dict[tuple[str, int], Any]:
    """Return what is measured in a cell: name and reads -> how to find."""
    all_reads = cell.epsilon == BASE.epsilon and cell.m == BASE.m and cell.owners == BASE.owners
    made: dict[tuple[str, int], Any] = {
        (page.GREEDY, 0): partial(summarized, dpsumm.summary.Greedy())
    }
    for reads in READS if all_reads else (4,):
        pool = dpsumm.Pool(reads_per_record=reads) if reads > 1 else dpsumm.summary.Uniform()
        made[page.RANDOM, reads] = partial(summarized, pool)
        made[page.OFFERS, reads] = partial(summarized, dpsumm.Offers(reads_per_record=reads))
        made[page.MEAN, reads] = partial(by_centres, 1, reads)
        made[page.CENTRES, reads] = partial(by_centres, 4, reads)
    return made


def measured(name: str, cell: Cell, seed: int, folder: Path) -> list[dict[str, Any]]:
    """Return a row for each method."""
    given = search(HAYSTACKS[name](folder), cell, seed)
    if given is None:
        return []
    rows = []
    points = np.concatenate(given.seen)
    fresh = Labelled(given.haystack.seen(given.fresh.points), given.fresh.labels)
    for (method, reads), find in methods(cell).items():
        read, kept = find(given)
        made = Labelled(points[kept], given.labels[kept])
        rows.append(
            {
                "scenario": name,
                "seed": seed,
                "method": method,
                "reads": reads,
                **asdict(cell),
                "recall": given.needle[read].sum() / given.needle.sum(),
                "needles": given.needle[kept].mean(),
                "accuracy": judged("logistic", made, None, fresh)["logistic"],
                "code": digest(),
            }
        )
    return rows
