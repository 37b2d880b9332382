"""Multinomial logistic regression on codes: fitted to moments, and applied."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpsumm.kernels import _core, inputs


def fit_softmax(
    codes: ArrayLike,
    sizes: Sequence[int],
    moments: ArrayLike,
    ridges: ArrayLike,
    start: ArrayLike,
    *,
    max_steps: int = 60,
) -> NDArray[np.float64]:
    """Fit a multinomial logistic regression to moments, where labels of records are not known.

    A record's log-odds are those of `start` and the weights of its codes. The weights W minimise
    ``mean logsumexp(log-odds) - <W, moments> + sum ridges W**2 / 2`` over the records, by L-BFGS.
    Without ridges, the records then have the wanted share of each code with each class.

    Parameters
    ----------
    codes : (n, B) whole numbers
        Each record's code in each of B blocks, from 0. n is at least 1.
    sizes
        Codes of each block; W is their sum.
    moments : (W, K)
        Share of the records that have a code and a class, block after block.
    ridges : (W, K)
        How strongly each weight is pulled to 0; 0 or more.
    start : (K,)
        Shares of the classes without any code, above 0.
    max_steps
        Steps at most.

    Returns
    -------
    (W, K) float64
        Weights, with the same bits on every processor and with any number of threads.

    Raises
    ------
    InvalidParameterError, InvalidDataError
        A code, a size, a ridge or a share out of range, arrays that do not fit each other, or
        numbers that are not finite.

    Privacy
    -------
    Post-processing, if codes and moments are released.

    See Also
    --------
    dpsumm.kernels.softmax_shares : Applies the weights.

    Examples
    --------
    >>> from dpsumm.kernels import fit_softmax, softmax_shares
    >>> codes, sizes = [[0], [0], [1], [1]], [2]
    >>> moments = [[0.4, 0.1], [0.1, 0.4]]  # of half of the records each
    >>> weights = fit_softmax(codes, sizes, moments, [[1e-9] * 2] * 2, [0.5, 0.5])
    >>> softmax_shares([[0], [1]], sizes, weights, [0.5, 0.5]).round(3).tolist()
    [[0.8, 0.2], [0.2, 0.8]]
    """
    return _core.fit_softmax(
        inputs.integers(codes, "codes", inputs.UINT32, 2),
        inputs.sizes(sizes),
        inputs.matrix(moments, "moments"),
        inputs.matrix(ridges, "ridges"),
        inputs.vector(start, "start"),
        inputs.whole(max_steps, "max_steps", 1, 10**6),
    )


def softmax_shares(
    codes: ArrayLike, sizes: Sequence[int], weights: ArrayLike, start: ArrayLike
) -> NDArray[np.float64]:
    """Return each record's shares of the classes under a multinomial logistic regression.

    Parameters
    ----------
    codes : (n, B) whole numbers
    sizes
    weights : (W, K)
    start : (K,)
        As for `fit_softmax`.

    Returns
    -------
    (n, K) float64
        Shares, which add up to 1 in each row.

    Raises
    ------
    InvalidParameterError, InvalidDataError
        As for `fit_softmax`.

    Privacy
    -------
    Post-processing of the weights. The shares say of a record what its codes say.

    See Also
    --------
    dpsumm.kernels.fit_softmax : Fits the weights. Its example runs both.

    Examples
    --------
    >>> from dpsumm.kernels import softmax_shares
    >>> softmax_shares([[1]], [2], [[0.0, 0.0], [0.0, 0.0]], [0.25, 0.75]).round(3).tolist()
    [[0.25, 0.75]]
    """
    return _core.softmax_shares(
        inputs.integers(codes, "codes", inputs.UINT32, 2),
        inputs.sizes(sizes),
        inputs.matrix(weights, "weights"),
        inputs.vector(start, "start"),
    )
