"""Synthetic rows of columns at two owners: the secret product, the model, the whole call.

Sizes of UCI Adult as docs/vertical.md uses it: 7 columns with 93 levels in all at one owner, 6 with
54 at the other. The data are drawn; times depend on sizes alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

import dpsumm
from benches.subjects import Scale
from benches.timing import OURS, Case, Isolated
from dpsumm import Column, Schema, kernels

LEFT, RIGHT = (16, 16, 7, 6, 5, 2, 41), (8, 14, 8, 6, 16, 2)
A, B = sum(LEFT), sum(RIGHT)
ROWS = 2**16


def cases(scale: Scale) -> Iterator[Case]:
    yield _product(scale.of(500, 30_162), plain=True)
    n = scale.of(3000, 1_000_000)
    contenders = {OURS: Isolated(left_owner, (n,), imports)}
    yield Case({"n": n, "a": A, "b": B}, contenders)
    yield _fit(scale.of(5, 150))
    yield _logistic(scale.of(500, 30_000))
    yield _whole(scale.of(500, 30_162))


def codes(n: int, sizes: tuple[int, ...]) -> NDArray[np.uint32]:
    """Return columns of the one-hot matrix that are 1, a row at a time."""
    rng = np.random.default_rng(n)
    columns = np.empty((n, len(sizes)), np.uint32)
    for j, (size, start) in enumerate(zip(sizes, np.cumsum([0, *sizes]), strict=False)):
        columns[:, j] = start + rng.integers(size, size=n)
    return columns


def _left(rows: NDArray[np.uint32], words: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """What the left owner computes, its masked rows included."""
    pad = kernels.Pad(A)
    share: NDArray[np.uint32] = pad.share(B)
    for start in range(0, len(rows), ROWS):
        piece = rows[start : start + ROWS]
        pad.mask(piece, first_row=start)
        share = share + kernels.one_hot_product(piece, A, words[: len(piece)])
    return share


def _right(rows: NDArray[np.uint32], words: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """What the right owner computes."""
    pad = kernels.Pad(B)
    share = np.zeros((A, B), np.uint32)
    for start in range(0, len(rows), ROWS):
        piece = rows[start : start + ROWS]
        pad.mask(piece, first_row=start)
        share = share + pad.product(words[: len(piece)], first_row=start)
    return share


def left_owner(n: int) -> int:
    """Make n rows, and the left owner's share of the product."""
    return int(_left(codes(n, LEFT), np.ones((ROWS, B), np.uint32)).sum())


def imports() -> None:
    """Load what a first call loads."""
    left_owner(100)


def _product(n: int, plain: bool) -> Case:
    left, right = codes(n, LEFT), codes(n, RIGHT)
    to_left, to_right = np.ones((ROWS, B), np.uint32), np.ones((ROWS, A), np.uint32)

    def in_numpy() -> Any:
        return np.ones((A, n), np.uint32) @ np.ones((n, B), np.uint32)

    contenders = {
        f"{OURS}, left owner": lambda: _left(left, to_left),
        f"{OURS}, right owner": lambda: _right(right, to_right),
        f"{OURS}, helper": lambda: kernels.Pad(A).correction(kernels.Pad(B), n),
        "NumPy, one product of words": in_numpy,
    }
    return Case({"n": n, "a": A, "b": B}, contenders)


def _fit(components: int) -> Case:
    """400 steps on tables with noise of 70 among 30,162 records; Adult takes 80 to 400.

    About 99 codes are left after the merge.
    """
    rng = np.random.default_rng(0)
    sizes = (12, 14, 6, 6, 4, 2, 10, 6, 14, 6, 4, 13, 2)
    pi = rng.dirichlet(np.ones(12))
    theta = np.hstack([rng.dirichlet(np.ones(size), 12) for size in sizes])
    tables, noise = theta.T @ (pi[:, None] * theta), rng.normal(0, 70 / 30_162, (99, 99))
    of = np.repeat(np.arange(len(sizes)), sizes)
    apart = of[:, None] != of
    noisy = np.where(apart, tables + np.triu(noise, 1) + np.triu(noise, 1).T, 0)
    weights = np.where(apart, (30_162 / 70) ** 2, 0.0)

    def ours() -> Any:
        return kernels.fit_mixture(
            sizes,
            noisy,
            weights,
            pi @ theta,
            np.full(99, (30_162 / 54) ** 2),
            components=components,
            stop=1e-6,
            max_steps=400,
        )

    facts = lambda results: {OURS: {"steps": results[OURS].steps}}  # noqa: E731
    return Case({"K": components, "W": 99}, {OURS: ours}, check=facts)


def _logistic(n: int) -> Case:
    """The label's model: two classes, 12 columns with 12 bins and 32 finer ones each."""
    rng = np.random.default_rng(0)
    sizes = (12, 32) * 12
    records = np.stack([rng.integers(size, size=n) for size in sizes], axis=1)
    one_hot = sparse.csr_array(
        (
            np.ones(records.size),
            (records + np.cumsum([0, *sizes[:-1]])).ravel(),
            np.arange(0, records.size + 1, len(sizes)),
        )
    )
    shares = softmax(one_hot @ rng.normal(0, 0.5, (sum(sizes), 2)), axis=1)
    moments, ridges = one_hot.T @ shares / n, np.full((sum(sizes), 2), 1e-4)

    def loss(weights: Any) -> tuple[float, Any]:
        odds = one_hot @ weights
        value = logsumexp(odds, axis=1).mean() - (weights * moments).sum()
        slope = one_hot.T @ softmax(odds, axis=1) / n - moments + ridges * weights
        return float(value + (ridges * weights**2).sum() / 2), slope

    def in_scipy() -> Any:
        def flat(x: Any) -> tuple[float, Any]:
            value, slope = loss(x.reshape(-1, 2))
            return value, slope.ravel()

        found = minimize(
            flat, np.zeros(moments.size), jac=True, method="L-BFGS-B", options={"maxiter": 60}
        )
        return found.x.reshape(-1, 2)

    contenders = {
        OURS: lambda: kernels.fit_softmax(records, sizes, moments, ridges, [0.5, 0.5]),
        "SciPy, L-BFGS-B on sparse rows": in_scipy,
    }
    facts = lambda results: {name: {"loss": loss(x)[0]} for name, x in results.items()}  # noqa: E731
    return Case({"n": n, "W": sum(sizes)}, contenders, check=facts)


def _whole(n: int) -> Case:
    data, schemas = {}, {}
    for name, sizes in (("registry", LEFT), ("bank", RIGHT)):
        starts = np.cumsum([0, *sizes[:-1]])
        data[name] = (codes(n, sizes) - starts).astype(np.float64)
        columns = [Column(f"{name}{j}", categories=range(k)) for j, k in enumerate(sizes)]
        schemas[name] = Schema(columns)

    def ours() -> Any:
        return dpsumm.synthesize(data, schema=schemas, label="bank5").sample(n, seed=0)

    return Case({"n": n, "owners": 2}, {OURS: ours})
