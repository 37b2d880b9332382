"""A comparison of protocols on handwritten digits, by likeness to the target and by cost.

Eight owners hold digits with skewed labels. The consumer's target is mostly 3, 5, 8 and 9, which
are rare at the owners. Half of the target's records are given to the curator. The other half are
kept to measure with. The rarity is the point: where the target's kind is common, a random pool does
as well as offers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm import kernels
from dpsumm.errors import InvalidParameterError, MissingExtraError
from dpsumm.summary.kernel import RBF
from dpsumm.summary.protocols import Greedy, Offers, Pool, Protocol, Uniform
from dpsumm.summary.result import Summary
from dpsumm.summary.summarize import summarize

N_OWNERS = 8
IMAGE = (8, 8)
N_PIXELS = 64
WANTED = (3, 5, 8, 9)
# Brightness of a pixel in the digits data: known before any image is seen, so a public bound.
BRIGHTEST = 16.0

Array = NDArray[Any]


@dataclass(frozen=True)
class Digits:
    """The demo's data, split once and for all.

    Attributes
    ----------
    owners
        Name to ((m_i, 64) brightness 0 to 16, (m_i,) digit 0 to 9).
    target : (m, 64)
        Given to the curator.
    fresh : (n, 64), fresh_labels : (n,)
        Of the target's distribution. No party has them.
    """

    owners: dict[str, tuple[Array, Array]]
    target: Array
    fresh: Array
    fresh_labels: Array


@dataclass(frozen=True)
class Row:
    """One protocol's line of the comparison.

    Attributes
    ----------
    mmd2
        MMD^2 to the fresh records, in the kernel's space.
    accuracy
        Of a linear SVM trained on the summary and its labels, on the fresh records, 0 to 1.
    epsilon_target, epsilon_owners
        Nats, at the run's delta, towards one owner.
    seconds
        Wall time of the selection.
    """

    protocol: str
    mmd2: float
    accuracy: float
    epsilon_target: float
    epsilon_owners: float
    accesses: int
    seconds: float


def load_digits() -> Digits:
    """Return scikit-learn's digits (1797 images of 8 x 8 pixels), split with a fixed seed.

    Owners get half of the images, less 85 % of the 3, 5, 8 and 9, each digit dealt by a
    Dirichlet(0.3) draw. Of the other half the target takes every 3, 5, 8 and 9 and 5 % of the rest.
    """
    try:
        from sklearn.datasets import load_digits as load
    except ImportError:
        raise MissingExtraError("the demo needs scikit-learn: pip install 'dpsumm[demo]'") from None
    images, digits = load(return_X_y=True)
    rng = np.random.default_rng(2019)  # of the public split; noise never comes from it
    order = rng.permutation(len(images))
    theirs, rest = np.split(order, [len(order) // 2])
    wanted = np.isin(digits, WANTED)
    theirs = theirs[rng.random(len(theirs)) < np.where(wanted[theirs], 0.15, 1.0)]
    dealt: list[list[int]] = [[] for _ in range(N_OWNERS)]
    for digit in range(10):
        rows = theirs[digits[theirs] == digit]
        shares = rng.dirichlet(np.full(N_OWNERS, 0.3))
        for i, row in zip(rng.choice(N_OWNERS, len(rows), p=shares), rows, strict=True):
            dealt[i].append(row)
    goal = rest[rng.random(len(rest)) < np.where(wanted[rest], 1.0, 0.05)]
    given, fresh = np.split(goal, [len(goal) // 2])
    return Digits(
        owners={f"owner {i + 1}": (images[rows], digits[rows]) for i, rows in enumerate(dealt)},
        target=images[given],
        fresh=images[fresh],
        fresh_labels=digits[fresh],
    )


def compare(
    data: Digits,
    *,
    size: int = 60,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    seed: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> tuple[Summary, list[Row]]:
    """Return the summary by Offers, and a row for each protocol, that of Offers first.

    Parameters
    ----------
    size
        Points in each summary, 10 or more (the SVM needs some of several digits).
    epsilon, delta
        Budget of Offers for the target's records.
    seed
        Makes runs repeatable, and **not private**: epsilon is then infinite.
    progress
        Called with (stage, done, total).

    Raises
    ------
    InvalidParameterError
        `size` is below 10 or above the owners' records; `epsilon` or `delta` out of range.
    MissingExtraError
        scikit-learn is not installed.
    """
    if size < 10:
        raise InvalidParameterError(f"size must be at least 10 in the demo, got {size!r}")
    protocols: list[Protocol] = [Offers(), Pool(reads_per_record=4), Uniform(), Greedy()]
    summaries, rows = [], []
    for done, protocol in enumerate(protocols):
        if progress is not None:
            progress("protocols", done, len(protocols))
        summary = summarize(
            data.owners,
            data.target,
            size=size,
            epsilon=epsilon,
            delta=delta,
            protocol=protocol,
            kernel=RBF.for_unit_box(N_PIXELS),
            schema={f"x{j}": (0.0, BRIGHTEST) for j in range(N_PIXELS)},
            seed=seed,
        )
        summaries.append(summary)
        rows.append(_row(summary, data))
    if progress is not None:
        progress("protocols", len(protocols), len(protocols))
    return summaries[0], rows


def _row(summary: Summary, data: Digits) -> Row:
    fresh = data.fresh / BRIGHTEST
    return Row(
        protocol=summary.protocol,
        mmd2=kernels.mmd2(summary.scaled, fresh, summary.gamma),
        accuracy=_svm_accuracy(summary, fresh, data.fresh_labels),
        epsilon_target=summary.privacy.epsilon(),
        epsilon_owners=summary.privacy.epsilon(protected="owners"),
        accesses=summary.accesses,
        seconds=summary.seconds,
    )


def _svm_accuracy(summary: Summary, points: Array, labels: Array) -> float:
    from sklearn.svm import SVC

    assert summary.labels is not None  # owners were given with labels
    if len(np.unique(summary.labels)) == 1:
        return float(np.mean(labels == summary.labels[0]))
    model = SVC(kernel="linear").fit(summary.scaled, summary.labels)
    return float(model.score(points, labels))
