"""Mixtures of products of categorical columns are fitted to noisy tables, and sampled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpsumm.kernels import _core, inputs


class MixtureFit(NamedTuple):
    """What :func:`fit_mixture` returns.

    Attributes
    ----------
    pi : (K,) float64
        Weights of the components. They add up to 1.
    theta : (K, W) float64
        Shares of the categories in each component. Those of a column add up to 1.
    steps
        Steps taken; `max_steps` if the tables were never met within their noise.
    chi2
        Chi-square of the two-way cells at the end, divided by their number.

    See Also
    --------
    dpsumm.kernels.fit_mixture : Makes one.
    dpsumm.kernels.sample_mixture : Draws rows of it.

    Examples
    --------
    See :func:`fit_mixture`.

    >>> from dpsumm.kernels import MixtureFit
    >>> MixtureFit._fields
    ('pi', 'theta', 'steps', 'chi2')
    """

    pi: NDArray[np.float64]
    theta: NDArray[np.float64]
    steps: int
    chi2: float


def fit_mixture(
    sizes: Sequence[int],
    pairs: ArrayLike,
    pair_weights: ArrayLike,
    singles: ArrayLike,
    single_weights: ArrayLike,
    *,
    components: int = 150,
    step: float = 0.06,
    init: float = 0.5,
    stop: float = 1.0,
    max_steps: int = 2500,
    seed: int = 0,
) -> MixtureFit:
    """Fit a mixture of products to noisy one-way and two-way tables.

    Weighted least squares by Adam (0.9, 0.99). It stops at the first step whose chi-square for each
    cell is at most `stop`: a closer fit would follow the noise.

    Parameters
    ----------
    sizes
        Categories of each column; W is their sum, at most 65,536.
    pairs : (W, W)
        Two-way tables side by side, as shares of the records. Symmetric.
    pair_weights : (W, W)
        One over the variance of each share; 0 where there is no table, as on the diagonal.
    singles : (W,)
        One-way tables, as shares.
    single_weights : (W,)
        One over their variances.
    components
        Products in the mixture, K.
    step
        Rate of the first step. It falls to 1e-4 at `max_steps`.
    init
        Standard deviation of the first values around `singles`, in nats.
    stop
        Chi-square for each cell of a pair at which the fit ends.
    max_steps
        Steps at most.
    seed
        Of the first values: a public number. The same numbers give the same bits on every
        processor.

    Raises
    ------
    InvalidParameterError
        A parameter out of range.
    InvalidDataError
        A table holds NaN or infinite values.

    Privacy
    -------
    Post-processing. Only the tables are read, so a model of released tables has no cost.

    See Also
    --------
    dpsumm.kernels.pair_counts : Exact two-way tables, before noise.
    dpsumm.kernels.sample_mixture : Draws rows of the fitted mixture.
    dpsumm.kernels.MixtureFit : The class of the result.

    Examples
    --------
    Two columns that always agree, of 1,000 records and noise of standard deviation 5:

    >>> import numpy as np
    >>> from dpsumm.kernels import fit_mixture
    >>> pairs = np.zeros((4, 4))
    >>> pairs[:2, 2:] = pairs[2:, :2] = [[0.5, 0], [0, 0.5]]
    >>> weights = np.zeros((4, 4))
    >>> weights[:2, 2:] = weights[2:, :2] = (1000 / 5) ** 2
    >>> fit = fit_mixture(
    ...     [2, 2], pairs, weights, np.full(4, 0.5), np.full(4, 1e4), components=2
    ... )
    >>> joint = (fit.pi * fit.theta[:, 0]) @ fit.theta[:, 2]
    >>> bool(abs(joint - 0.5) < 0.02), fit.chi2 <= 1
    (True, True)
    """
    sizes = inputs.sizes(sizes)
    fitted = _core.fit_mixture(
        sizes,
        inputs.matrix(pairs, "pairs"),
        inputs.matrix(pair_weights, "pair_weights"),
        inputs.vector(singles, "singles"),
        inputs.vector(single_weights, "single_weights"),
        inputs.whole(components, "components", 1, 2**16),
        inputs.number(step, "step"),
        inputs.number(init, "init"),
        inputs.number(stop, "stop"),
        inputs.whole(max_steps, "max_steps", 1, 10**6),
        inputs.whole(seed, "seed", 0, 2**64 - 1),
    )
    return MixtureFit(*fitted)


def sample_mixture(
    pi: ArrayLike,
    theta: ArrayLike,
    sizes: Sequence[int],
    n: int,
    *,
    given: Sequence[int | None] | None = None,
    seed: int | None = None,
) -> NDArray[np.uint32]:
    """Draw rows of a mixture of products. Of those with given categories, if any are given.

    Parameters
    ----------
    pi : (K,)
        Weights of the components.
    theta : (K, W)
        Shares of the categories in each component.
    sizes
        Categories of each column; W is their sum.
    n
        Rows to draw.
    given
        For each column the category that all rows have, or None to draw it. The components are
        drawn by their chances given those categories (Bayes' rule).
    seed
        Repeats a draw. By default one from the operating system.

    Returns
    -------
    (n, columns) uint32
        Categories, from 0 in each column.

    Raises
    ------
    InvalidParameterError
        A parameter out of range, or no component has the given categories.

    Privacy
    -------
    Post-processing of the model.

    See Also
    --------
    dpsumm.kernels.fit_mixture : Fits the mixture.

    Examples
    --------
    >>> from dpsumm.kernels import sample_mixture
    >>> theta = [[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]]  # two columns that agree
    >>> rows = sample_mixture([0.5, 0.5], theta, [2, 2], 100)
    >>> bool((rows[:, 0] == rows[:, 1]).all())
    True
    >>> sample_mixture([0.5, 0.5], theta, [2, 2], 2, given=[None, 1]).tolist()
    [[1, 1], [1, 1]]
    """
    sizes = inputs.sizes(sizes)
    codes = [None] * len(sizes) if given is None else list(given)
    codes = [None if x is None else inputs.whole(x, "given", 0, 2**32 - 1) for x in codes]
    return _core.sample_mixture(
        inputs.vector(pi, "pi"),
        inputs.matrix(theta, "theta"),
        sizes,
        codes,
        inputs.whole(n, "n", 0, 2**31 - 1),
        inputs.seed(seed),
    )
