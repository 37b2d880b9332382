"""The tilted draw takes rows by how much likelier they are under a released mean embedding.

``exp(h(x) @ u)`` estimates the ratio up to a constant: :func:`tilt` fits u on a sample of rows, the
features' ``scores`` give every row its logarithm, and the rows with the least :func:`arrivals` are
the draw. This protects no record. It is an owner's choice among its own rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpsumm.errors import InvalidParameterError
from dpsumm.kernels import _core, inputs
from dpsumm.kernels.landmarks import Features


def tilt(
    features: Features, sample: ArrayLike, goal: ArrayLike, *, noise: float, least: float = 0.0
) -> NDArray[np.float64]:
    """Return the direction of the exponential tilt that brings a sample's mean features to a goal.

    Kernel principal axes of the sample. Along each, empirical Bayes weighs the goal's distance
    against its noise. The tilt is a ridge fit of the exponential family. Noise that hides all
    signal gives zeros, and so does a sample of equal rows. Ratios are then 1.

    Parameters
    ----------
    features
        The public feature map.
    sample : (s, n_columns)
        Rows drawn uniformly, all if they are few. Time grows with s times d.
    goal : (d,)
        The released mean of features.
    noise
        Standard deviation of the goal's noise in each coordinate, at least 0.
    least
        The ratios' effective sample size over the sample is at least this share of it, from 0 to 1:
        the direction is shortened until it is.

    Returns
    -------
    (d,) float64
        The same bits on every machine and with any number of threads.

    Raises
    ------
    InvalidParameterError
        A parameter out of range, shapes that do not fit, an empty sample.
    InvalidDataError
        NaN or infinite values.

    See Also
    --------
    dpsumm.kernels.arrivals : Draws rows by their rates.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsumm.kernels import RandomFeatures, tilt
    >>> features = RandomFeatures(1, 512, gamma=0.5, seed=1)
    >>> rows, target = np.linspace(-2, 2, 50)[:, None], np.linspace(1, 2, 50)[:, None]
    >>> u = tilt(features, rows, features.transform(target).mean(axis=0), noise=0.001)
    >>> log_ratio = features.scores(rows, u)
    >>> bool(log_ratio[40] > log_ratio[10] + 2)
    True
    """
    if not isinstance(features, Features):
        kind = type(features).__name__
        raise InvalidParameterError(f"features must be a feature map, got {kind}")
    return features._map.tilt(
        inputs.points(sample, "sample"),
        inputs.vector(goal, "goal"),
        inputs.number(noise, "noise"),
        inputs.number(least, "least"),
    )


def arrivals(log_rates: ArrayLike, uniform: ArrayLike) -> NDArray[np.float64]:
    """Return random keys of rows. The q rows with the least keys are a draw by their rates.

    Row i arrives after an exponential time of rate ``exp(log_rates[i])``. The key is the time's
    logarithm. So the q least are drawn without replacement, each next one in proportion to its rate
    among those left (Efraimidis & Spirakis 2006), and the least of the least of parts are those of
    the whole.

    Parameters
    ----------
    log_rates : (n,)
    uniform : (n,)
        Independent and uniform in [0, 1).

    Returns
    -------
    (n,) float64

    Raises
    ------
    InvalidParameterError
        Lengths that do not fit, or numbers of `uniform` outside [0, 1).
    InvalidDataError
        NaN or infinite rates.

    See Also
    --------
    dpsumm.kernels.tilt : The direction that rates may follow.

    Examples
    --------
    >>> from dpsumm.kernels import arrivals
    >>> arrivals([0.0, 5.0], [0.5, 0.5]).round(3).tolist()
    [-0.367, -5.367]
    """
    return _core.arrivals(inputs.vector(log_rates, "log_rates"), inputs.vector(uniform, "uniform"))
