"""Other packages, called on the same data. One that is not installed has a row that says so."""

from __future__ import annotations

import importlib.util
import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benches.timing import Contender, Missing

Array = NDArray[Any]


def _of(package: str, call: Callable[[], Any]) -> Contender:
    installed = importlib.util.find_spec(package) is not None
    return call if installed else Missing("not installed")


def sklearn_features(points: Array, n_features: int, gamma: float) -> Contender:
    """RBFSampler with as many features; a cosine with a random phase each."""

    def call() -> float:
        from sklearn.kernel_approximation import RBFSampler

        sampler = RBFSampler(gamma=gamma, n_components=n_features, random_state=0)
        return float(sampler.fit(points[:1]).transform(points)[-1, -1])

    return _of("sklearn", call)


def sklearn_mmd2(a: Array, b: Array, gamma: float, block: int = 2048) -> Contender:
    """Three means of `rbf_kernel` in blocks."""

    def call() -> float:
        from sklearn.metrics.pairwise import rbf_kernel

        def mean(x: Array, y: Array) -> float:
            total = 0.0
            for i in range(0, len(x), block):
                for j in range(0, len(y), block):
                    total += rbf_kernel(x[i : i + block], y[j : j + block], gamma).sum()
            return total / len(x) / len(y)

        return mean(a, a) - 2 * mean(a, b) + mean(b, b)

    return _of("sklearn", call)


def sklearn_nearest(points: Array, others: Array, count: int) -> Contender:
    """Places of the nearest others, by brute force."""

    def call() -> Array:
        from sklearn.neighbors import NearestNeighbors

        model = NearestNeighbors(n_neighbors=count, algorithm="brute").fit(others)
        return model.kneighbors(points, return_distance=False)

    return _of("sklearn", call)


def coreax_herding(points: Array, target: Array, gamma: float, size: int) -> Contender:
    """KernelHerding towards the target's mean kernel, in JAX's float32."""

    def call() -> Array:
        os.environ.setdefault("JAX_PLATFORMS", "cpu")  # and no search for accelerators
        import jax.numpy as jnp
        from coreax import Data, SquaredExponentialKernel
        from coreax.solvers import HerdingState, KernelHerding

        kernel = SquaredExponentialKernel(length_scale=math.sqrt(0.5 / gamma))
        x, y = jnp.asarray(points, jnp.float32), jnp.asarray(target, jnp.float32)
        starts = range(0, len(points), 2048)
        means = jnp.concatenate([kernel.compute(x[i : i + 2048], y).mean(axis=1) for i in starts])
        solver = KernelHerding(coreset_size=size, kernel=kernel)
        coreset, _ = solver.reduce(Data(x), HerdingState(means))
        return np.asarray(coreset.unweighted_indices)

    return _of("coreax", call)


def goodpoints_compress(points: Array, gamma: float, size: int, oversampling: int) -> Contender:
    """compress_kt, which knows no target: about `size` points that represent the points.

    More `oversampling` (0, 1, ..) is slower and closer to them.
    """

    def call() -> Array:
        from goodpoints.compress import compress_kt

        # It returns 2^g sqrt(bins n') points, with n' a power of 4 times the bins.
        per_bin, bins = 4 ** math.floor(math.log(len(points), 4)), 1
        while bins * math.sqrt(per_bin) * 2**oversampling < 0.9 * size:
            per_bin, bins = per_bin // 4, bins * 4
        return compress_kt(
            points,
            b"gaussian",
            k_params=np.array([1 / gamma]),
            g=oversampling,
            num_bins=bins,
            seed=0,
        )

    return _of("goodpoints", call)
