"""The exponential mechanism and MWEM, over integer scores and sums."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpsumm.errors import InvalidParameterError
from dpsumm.kernels import _core, inputs


def exponential_choice(scores: ArrayLike, epsilon: float, seed: int | None = None) -> int:
    """Draw an index with chances proportional to ``exp(epsilon * score)``. Exact.

    Parameters
    ----------
    scores : (n,) integers
        From 1 to 2**28 of them.
    epsilon
        Nats per unit of score, from 2**-32 to 2**10. Rounded down by a factor of at most
        ``1 - 2**-20``.
    seed
        From 0 to 2**64 - 1, for tests: repeatable, so not private. None: the operating system's
        randomness.

    Returns
    -------
    int
        From 0 to n - 1.

    Raises
    ------
    InvalidParameterError
        A parameter out of range. Scores that are not integers.
    OSError
        The operating system gave no random bytes.

    Privacy
    -------
    If one record moves no score by more than D, a draw is ``2 D epsilon``-DP with bounded range
    ``2 D epsilon``, so ``(2 D epsilon)**2 / 8``-zCDP (Cesar & Rogers 2021). Note the factor 2:
    `epsilon` is not the guarantee. Weights are powers of two with rational exponents (Ilvento
    2020), so nothing is added for arithmetic.

    See Also
    --------
    dpsumm.kernels.mwem : Selects coordinates by it.

    Examples
    --------
    >>> from dpsumm.kernels import exponential_choice
    >>> exponential_choice([3, 500, -2], epsilon=1.0)
    1
    """
    return _core.exponential_choice(
        inputs.integers(scores, "scores"), inputs.number(epsilon, "epsilon"), inputs.seed(seed)
    )


class MwemRun(NamedTuple):
    """The released numbers of a run of :func:`mwem`.

    Attributes
    ----------
    means : (d,) float64
        Private means of the coordinates, in [-1, 1]: the average over the iterates.
    theta : (d,) float64
        Tilts of the last iterate, where another run can start.

    See Also
    --------
    dpsumm.kernels.mwem : Makes one.

    Examples
    --------
    See :func:`mwem`.

    >>> from dpsumm.kernels import mwem
    >>> run = mwem([5, -5], 10, steps=1, iterations=3, epsilon_select=1.0, epsilon_measure=1.0)
    >>> run.means.shape == run.theta.shape == (2,)
    True
    """

    means: NDArray[np.float64]
    theta: NDArray[np.float64]


def mwem(
    sums: ArrayLike,
    count: int,
    *,
    steps: int,
    iterations: int,
    epsilon_select: float,
    epsilon_measure: float,
    theta: ArrayLike | None = None,
    seed: int | None = None,
) -> MwemRun:
    """Return private means of bounded coordinates by multiplicative weights (MWEM).

    Hardt, Ligett & McSherry 2012, over product distributions as in Sarpatwar et al. 2019, Algorithm
    2: each iteration selects a coordinate whose sum is far from that of the distribution so far,
    measures it with noise, and tilts its marginal. An iteration costs O(log d).

    Parameters
    ----------
    sums : (d,) integers
        Sums over records of coordinates in [-1, 1], in units of ``1 / steps``, as from
        :meth:`RandomFeatures.quantized_sum`.
    count
        Public number of records; ``count * steps`` is at most 2**53.
    steps
        Steps of the grid from -1 to 1.
    iterations
        Selections and measurements.
    epsilon_select
        A selection has weights ``exp(epsilon_select * |error of a sum|)``.
    epsilon_measure
        A measurement has discrete Laplace noise of scale ``1 / epsilon_measure``.
    theta : (d,), optional
        Of an earlier run, to start there. The uniform distribution by default.
    seed
        From 0 to 2**64 - 1, for tests: repeatable, so not private. None: the operating system's
        randomness.

    Raises
    ------
    InvalidParameterError
        A parameter out of range. Sums that no data of `count` records has.
    InvalidDataError
        `theta` holds NaN or infinite values.
    OSError
        The operating system gave no random bytes.

    Privacy
    -------
    With D the most that one record moves one sum, in real units (2 if replaced, 1 if added or
    removed): each iteration is a selection of bounded range ``2 D epsilon_select`` and a
    measurement that is ``D epsilon_measure``-DP. Assumes that `count` is public and `theta` was
    released before. Sums, scores and noise are integers. Floats are computed from the released
    transcript alone.

    See Also
    --------
    dpsumm.kernels.exponential_choice : Selects its measurements.
    dpsumm.kernels.MwemRun : The class of the result.

    Examples
    --------
    >>> from dpsumm.kernels import mwem
    >>> sums = [800 * 20, -600 * 20, 0]  # means 0.8, -0.6 and 0 of 1000 records
    >>> run = mwem(sums, 1000, steps=20, iterations=200, epsilon_select=1.0, epsilon_measure=1.0)
    >>> bool(abs(run.means - [0.8, -0.6, 0]).max() < 0.3)
    True
    """
    integers = inputs.integers(sums, "sums")
    if not len(integers):
        raise InvalidParameterError("sums must hold at least 1 coordinate")
    start = np.zeros(len(integers)) if theta is None else inputs.vector(theta, "theta")
    state = _core.Mwem(start, inputs.whole(steps, "steps", 1, 2**32 - 1))
    means = state.run(
        integers,
        inputs.whole(count, "count", 1),
        inputs.whole(iterations, "iterations", 1),
        inputs.number(epsilon_select, "epsilon_select"),
        inputs.number(epsilon_measure, "epsilon_measure"),
        inputs.seed(seed),
    )
    return MwemRun(means, state.theta)
