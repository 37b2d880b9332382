"""docs/images/summary-digits.png: records of the target, of the owners, of a summary.

    python -m evidence.picture --data FOLDER

The target's digits, 3 and 8, are 5 % of the owners' data (the scenario mnist-rare-5). Prints which
part of each row of the picture they are; which twelve are shown is drawn at random.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import dpsumm
from evidence.page import ROOT
from evidence.runner import scenarios

SHOWN, SIDE = 12, 14


def main() -> None:
    """Run from the command line."""
    import matplotlib.pyplot as plt

    parser = argparse.ArgumentParser("evidence.picture", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    folder = parser.parse_args().data
    problem = scenarios()["mnist-rare-5"].problem(folder, 1)
    owners = {f"{i}": one.points for i, one in enumerate(problem.owners)}
    labels = np.concatenate([one.labels for one in problem.owners])
    summary = dpsumm.summarize(
        owners, problem.target, size=200, epsilon=1.0, delta=1e-5, kernel=problem.kernel
    )
    starts = np.cumsum([0, *(len(one) for one in owners.values())])
    picked = labels[starts[summary.owner.astype(int)] + summary.index]
    rows = {
        "your target": (problem.target, None),
        "random records\nof the owners": (np.concatenate([*owners.values()]), labels),
        "the summary": (summary.points, picked),
    }
    figure, axes = plt.subplots(3, SHOWN, figsize=(9, 2.6), dpi=110)
    rng = np.random.default_rng(1)
    for line, (title, (points, known)) in zip(axes, rows.items(), strict=True):
        for place, record in zip(line, rng.choice(len(points), SHOWN, replace=False), strict=True):
            place.imshow(points[record].reshape(SIDE, SIDE), cmap="gray_r")
            place.set(xticks=[], yticks=[])
            place.spines[:].set_color("#ccc")
        line[0].set_ylabel(title, rotation=0, ha="right", va="center", labelpad=8)
        if known is not None:
            print(title.replace("\n", " "), f"{np.isin(known, (3, 8)).mean():.1%} are 3 or 8")
    figure.savefig(ROOT / "docs/images/summary-digits.png", bbox_inches="tight", facecolor="white")


if __name__ == "__main__":
    main()
