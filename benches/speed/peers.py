"""The same work as people do it today: plain NumPy, scikit-learn, coreax, goodpoints."""

from __future__ import annotations

import math

import numpy as np


def kernel_in_blocks(a, b, gamma, block=1000):
    """Yield kernel values of `block` rows of `a` with all of `b`, by one matrix product each."""
    norms = (b * b).sum(axis=1)
    for start in range(0, len(a), block):
        rows = a[start : start + block]
        squared = (rows * rows).sum(axis=1)[:, None] + norms - 2 * rows @ b.T
        np.maximum(squared, 0, out=squared)
        squared *= -gamma
        yield np.exp(squared, out=squared)


def numpy_greedy(points, target, gamma, size):
    """Exact greedy for J: one pass over all points for each pick."""
    attraction = np.concatenate(
        [block.mean(axis=1) for block in kernel_in_blocks(points, target, gamma)]
    )
    norms = (points * points).sum(axis=1)
    sums = np.zeros(len(points))
    chosen = []
    for t in range(size):
        # J(S + y) up to what y does not change, as in the core.
        score = attraction - sums / (t + 1)
        score[chosen] = -np.inf
        best = int(np.argmax(score))
        chosen.append(best)
        squared = norms + norms[best] - 2 * points @ points[best]
        sums += np.exp(-gamma * np.maximum(squared, 0))
    return np.array(chosen)


def numpy_mmd2(a, b, gamma):
    """Exact MMD^2 in blocks."""
    means = [
        sum(block.sum() for block in kernel_in_blocks(x, y, gamma)) / (len(x) * len(y))
        for x, y in ((a, a), (a, b), (b, b))
    ]
    return means[0] - 2 * means[1] + means[2]


def sklearn_features(points, gamma, n_features):
    """Random Fourier features of scikit-learn, fitted beforehand."""
    from sklearn.kernel_approximation import RBFSampler

    sampler = RBFSampler(gamma=gamma, n_components=n_features, random_state=1)
    sampler.fit(points[:10])
    return lambda: sampler.transform(points)


def coreax_herding(points, target, gamma, size):
    """Kernel herding of coreax with the mean embedding of the target; float32, as JAX has it."""
    import equinox
    import jax
    import jax.numpy as jnp
    from coreax.data import Data
    from coreax.kernels import SquaredExponentialKernel
    from coreax.solvers import KernelHerding
    from coreax.solvers.coresubset import HerdingState

    kernel = SquaredExponentialKernel(length_scale=math.sqrt(0.5 / gamma))
    solver = KernelHerding(coreset_size=size, kernel=kernel, unique=True)
    x, y = jnp.asarray(points), jnp.asarray(target)
    means = equinox.filter_jit(lambda rows: kernel.compute(rows, y).mean(axis=1))
    reduce = equinox.filter_jit(lambda state: solver.reduce(Data(x), state)[0].unweighted_indices)

    def work():
        parts = [means(x[start : start + 5000]) for start in range(0, len(x), 5000)]
        return np.asarray(jax.block_until_ready(reduce(HerdingState(jnp.concatenate(parts)))))

    return work


def goodpoints_compress(points, gamma, size):
    """Compress with kernel thinning of goodpoints: towards the points themselves, no target."""
    from goodpoints import compress

    # It returns 2^g sqrt(n') points, n' the largest power of four up to n.
    used = 4 ** int(math.log(len(points), 4))
    g = max(0, math.ceil(math.log2(size / math.sqrt(used))))
    data = np.ascontiguousarray(points, dtype=np.float64)
    return lambda: compress.compress_kt(data, b"gaussian", k_params=np.array([1 / gamma]), g=g)
