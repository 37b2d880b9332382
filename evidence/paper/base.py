"""The base rate of each split: how often its most frequent label is right on the test set."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import polars as pl

from evidence.paper.design import Design, split

BASE = Path(__file__).with_name("base.csv")


def count(known: Iterable[Design], folder: Path) -> None:
    """Count the test labels of all splits, and keep the shares in `BASE`."""
    rows = []
    for design in known:
        for seed in design.seeds:
            _, counts = np.unique(split(design, folder, seed).test.labels, return_counts=True)
            rows.append({"design": design.name, "seed": seed, "share": counts.max() / counts.sum()})
    pl.DataFrame(rows).write_csv(BASE, float_precision=6)


def stored() -> pl.DataFrame:
    """Return a row (design, seed, share) for each split."""
    return pl.read_csv(BASE)
