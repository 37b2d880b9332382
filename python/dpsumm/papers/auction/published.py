"""The paper's own privacy figures, for comparison with the sound ones."""

from __future__ import annotations

import math

from dpsumm.papers.auction.mwem import Mwem
from dpsumm.privacy import accounting
from dpsumm.privacy.events import Unit
from dpsumm.summary.release import Sensitivity


def published_epsilon(epsilon: float, iterations: int, delta: float) -> float:
    """Return the epsilon that the paper states for h2: advanced composition of `iterations` at
    `epsilon`.

    ``epsilon sqrt(2 T ln(1/delta)) + T epsilon (exp(epsilon) - 1)``. It counts each iteration once
    at `epsilon`. The mechanism spends ``2 D epsilon`` on the selection and ``D epsilon`` on the
    measurement, so for a guarantee use `Summary.privacy` instead.

    Examples
    --------
    >>> round(published_epsilon(0.01, 1656, 0.01), 4)
    1.4014
    >>> p = 400
    >>> round(published_epsilon(0.01 / (5 * p) ** 0.5, 5 * p, 1e-4), 4)
    0.043
    """
    accounting.check_epsilon(epsilon)
    accounting.check_delta(delta)
    first = epsilon * math.sqrt(2 * iterations * math.log(1 / delta))
    return first + iterations * epsilon * math.expm1(epsilon)


def published_figure(
    what: str, mechanism: Mwem, count: int, sensitivity: Sensitivity, delta: float
) -> str:
    """Return a sentence: the paper's epsilon of `count` releases next to a sound one."""
    iterations = count * mechanism.iterations
    stated = published_epsilon(mechanism.epsilon_select, iterations, delta)
    cost = [(event, n * count) for event, n in mechanism.cost(sensitivity)]
    sound = accounting.compose(cost, delta)
    return (
        f"For {what} the paper states epsilon = {stated:.4f} at delta = {delta:g}; a sound figure "
        f"is {sound:.4f} ({Unit.REPLACE_RECORD.value}), requests not counted."
    )
