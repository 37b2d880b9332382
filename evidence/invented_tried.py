"""Would another look at the pool find rows that were invented? What was tried beside remoteness.

python -m evidence.invented_tried: prints two tables in Markdown. The owners are those of
`evidence.invented` and those of the example in docs/privacy/commitments.md; a forger takes the
place of the last one and offers the best of 20,000 rows, in the example of 200,000, that it drew
evenly in the box around all data. The second table looks at rows that somebody else than their
owner picks at random.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

import dpsumm
from dpsumm.kernels.mmd import mmd2
from dpsumm.summary.notes.space import REMOTE, nearest, remoteness
from evidence.invented import DIMENSIONS, KINDS, ROWS, SIZE, Sites, evenly, shifts
from evidence.problem import Floats

EXAMPLE, EXAMPLE_ROWS, DRAWN = "the example", 200_000, 80
# (an owner's points, the target, gamma) to a number.
Look = Callable[[Floats, Floats, float], float]


def example(rng: np.random.Generator) -> Sites:
    """Return the owners and the target of the example on the page."""

    def site() -> Floats:
        return np.concatenate([rng.normal(-1.5, 1, (1960, 5)), rng.normal(1.5, 1, (40, 5))])

    return [site() for _ in range(5)], rng.normal(1.5, 1, (1000, 5)), dpsumm.RBF(0.1)


def _apart(points: Floats, target: Floats, gamma: float) -> float:
    return float(mmd2(points, target, gamma))


def _spacing(points: Floats, target: Floats, gamma: float) -> float:
    gaps = nearest(points)
    return float(gaps.std() / gaps.mean())


def _dependence(points: Floats, target: Floats, gamma: float) -> float:
    upper = np.triu_indices(points.shape[1], 1)
    return float(np.abs(np.corrcoef(points.T)[upper] - np.corrcoef(target.T)[upper]).mean())


def _width(points: Floats, target: Floats, gamma: float) -> float:
    own, usual = (np.linalg.norm(x - target.mean(axis=0), axis=1) for x in (points, target))
    return float(own.std() / usual.std())


LOOKS: dict[str, Look] = {
    "MMD² to the target, the kernel's": _apart,
    "the same, a quarter of its bandwidth: hardly in the release": lambda x, y, gamma: _apart(
        x, y, 16 * gamma
    ),
    "variation of the distances to the nearest of its own": _spacing,
    "correlations of columns, mean difference from the target's": _dependence,
    "variation of the distance from the target's mean, by the target's": _width,
}


def looks(owners: Sequence[Floats], target: Floats, kernel: dpsumm.RBF) -> NDArray[np.float64]:
    """Return what each look sees of each owner's points: (looks, owners).

    And once more in units of what it sees of a middling other owner.
    """
    summary = dpsumm.summarize(list(owners), target, size=SIZE, kernel=kernel)
    parts = [
        np.asarray(summary.pool[summary.pool_owner == i], np.float64) for i in range(len(owners))
    ]
    goal = np.asarray(summary.target, np.float64)
    seen = np.array([[look(x, goal, summary.gamma) for x in parts] for look in LOOKS.values()])
    others = [np.median(np.delete(seen, i, axis=1), axis=1) for i in range(len(parts))]
    return np.concatenate([seen, seen / np.array(others).T])


def drawn(
    owners: Sequence[Floats], target: Floats, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the remoteness of rows that are drawn at random from each owner's."""
    parts = [x[rng.permutation(len(x))[:DRAWN]] for x in owners]
    whose = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    return remoteness(np.concatenate(parts), whose, target, len(parts))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    given = parser.parse_args()
    made = {f"{kind}, {d} columns": partial(shifts, kind, d) for kind in KINDS for d in DIMENSIONS}
    honest, forged, attacks, rows = [], [], [], []
    for name, sites in {EXAMPLE: example, **made}.items():
        found: tuple[list[float], list[float]] = ([], [])
        for seed in range(given.seeds):
            rng = np.random.default_rng(seed)
            owners, target, kernel = sites(rng)
            every = np.concatenate(owners)
            invented = evenly(every, rng, EXAMPLE_ROWS if name == EXAMPLE else ROWS)
            honest.append(looks(owners, target, kernel))
            forged.append(looks([*owners[:-1], invented], target, kernel)[:, -1])
            attacks += [forged[-1]] if name == EXAMPLE else []
            found[0].extend(drawn(owners, target, rng).tolist())
            found[1].append(float(drawn([*owners[:-1], invented], target, rng)[-1]))
        counts = [f"{sum(x > REMOTE for x in part)} of {len(part)}" for part in found]
        rows.append(
            f"| {name} | {counts[0]} ({max(found[0]):.2f}) | {counts[1]} ({min(found[1]):.2f}) |"
        )
    all_honest, all_forged = np.concatenate(honest, axis=1), np.array(forged).T
    print(
        f"| look at the points offered | {all_honest.shape[1]} honest owners | forgers outside "
        "| the example's | beside others' | forgers outside | the example's |"
    )
    print("|---|---|---|---|---|---|---|")
    for j, name in enumerate(LOOKS):
        cells = []
        for k in (j, j + len(LOOKS)):
            low, high = all_honest[k].min(), all_honest[k].max()
            outside = int(np.sum((all_forged[k] < low) | (all_forged[k] > high)))
            told = ", ".join(f"{attack[k]:.2g}" for attack in attacks)
            cells += [f"{low:.2g} to {high:.2g}", f"{outside} of {len(forged)}", told]
        print(f"| {name} | {' | '.join(cells)} |")
    print(f"\n| {DRAWN} rows at random | honest owners (largest) | drawn evenly (least) |")
    print("|---|---|---|")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
