"""The split of section 4: who has which points."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm import RBF
from evidence.data import adult_points, read_mnist
from evidence.problem import Labelled
from evidence.tables import read_adult

DESIGN = Path(__file__).with_name("design.toml")
OWNERS = 4


@dataclass(frozen=True)
class Design:
    """One entry of design.toml."""

    name: str
    title: str
    F: Sequence[Any]
    C: Sequence[Any]
    O: Sequence[Any]  # noqa: E741  as in the paper
    most: Sequence[int]
    splits: int
    sizes: Sequence[int]
    seed_points: int
    model_sizes: Sequence[int] = ()
    epsilons: Sequence[float] = ()

    @property
    def seeds(self) -> range:
        """Seeds of the splits."""
        return range(100, 100 + self.splits)


@dataclass(frozen=True)
class Split:
    """Data of one split, points in the kernel's space.

    Attributes
    ----------
    owners
        Four; the first has population C besides its part of F.
    target : (m, c)
        The validation set, without labels.
    test
        Of population C.
    seed_points : (s, c)
        Public points of population O.
    """

    owners: tuple[Labelled, ...]
    target: NDArray[np.float32]
    test: Labelled
    seed_points: NDArray[np.float32]
    kernel: RBF


def designs() -> dict[str, Design]:
    """Read all entries."""
    entries = tomllib.loads(DESIGN.read_text())
    defaults = entries.pop("defaults")
    return {name: Design(name=name, **defaults, **entry) for name, entry in entries.items()}


def split(design: Design, folder: Path, seed: int) -> Split:
    """Return the split of a seed."""
    rng = np.random.default_rng(seed)
    everything, population, kernel = _read(design.name, folder)
    f, c, o = (
        rng.permutation(np.flatnonzero(np.isin(population, list(names))))
        for names in (design.F, design.C, design.O)
    )
    f, c = f[: design.most[0]], c[: design.most[1]]
    theirs, validation, test = np.split(c, [round(0.7 * len(c)), round(0.775 * len(c))])
    parts = np.array_split(f, OWNERS)
    parts[0] = np.concatenate([parts[0], theirs])
    return Split(
        tuple(everything.take(part) for part in parts),
        everything.points[validation],
        everything.take(test),
        everything.points[o[: design.seed_points]],
        kernel,
    )


def _read(name: str, folder: Path) -> tuple[Labelled, NDArray[Any], RBF]:
    if name == "adult":
        points, n_columns = adult_points(folder, without="workclass")
        return points, read_adult(folder)["workclass"], RBF.for_unit_box(n_columns)
    images = read_mnist(folder, "train")
    return images, images.labels, RBF.for_unit_box(images.points.shape[1])
