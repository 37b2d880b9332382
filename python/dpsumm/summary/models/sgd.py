"""DP-SGD: a small network, trained by noisy sums of clipped gradients, each over all points.

Claim
    All noisy sums together, and so the weights, are (epsilon, delta)-DP for `Examples.changed`
    replaced rows, given everything that was released before.
Assumes
    A row's gradient is a function of that row, its answer and the weights alone (`network.py`).
Argument
    ``docs/privacy/private-models.md``, "DP-SGD". A replaced row takes one vector of length at most
    `GRID` out of a sum and puts another one in. So the sum moves by ``2 changed GRID``. Every sum
    is over all rows: no sampling, no amplification, and steps compose as Gaussian mechanisms do.
Numerics
    All results of the library are cut to integers and measured exactly. A vector that is too long
    counts as 0. Sums and noise are integers. All use of noisy sums is post-processing.
Tested by
    tests/summary/test_model_sgd.py
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.checks import check_installed, check_number, check_whole
from dpsumm.privacy.events import Observer, Protected
from dpsumm.privacy.ledger import Ledger
from dpsumm.privacy.release import Bound, PaidNoise, Query, Sums, multiplier_for, release
from dpsumm.summary.models.training import Examples, Released, Shapes, Trainer, parts

# Length of the longest gradient, in steps of the integers that gradients are cut to.
GRID = 2**20


@dataclass(frozen=True)
class DpSgd:
    """A network of one hidden layer, trained by DP-SGD (extra ``sgd``).

    Every step takes all points, which has the least noise for a given guarantee, and summaries are
    small. All parameters are public. Do not choose them by looking at the summary.

    Parameters
    ----------
    hidden
        Hidden units, 0 to 1000; 0: a linear model.
    steps
        1 to 10,000. Each has its own noise, so four times the steps have twice the noise.
    clip
        Length to which each point's gradient is shortened, above 0.
    rate
        Of the optimiser (Adam), above 0.

    See Also
    --------
    dpsumm.summary.Summary.private_model : Trains with it.

    Examples
    --------
    >>> from dpsumm.summary import DpSgd
    >>> DpSgd(hidden=0, steps=40)  # `Summary.private_model(method=...)` takes it
    DpSgd(hidden=0, steps=40, clip=1.0, rate=0.1)
    """

    hidden: int = 16
    steps: int = 60
    clip: float = 1.0
    rate: float = 0.1

    def check(self) -> None:
        """Refuse values out of range, and settings that cannot be run.

        Raises
        ------
        InvalidParameterError, MissingExtraError
            With the way out.
        """
        check_whole(self.hidden, "hidden", 0, 1000)
        check_whole(self.steps, "steps", 1, 10_000)
        check_number(self.clip, "clip", 1e-6, 1e6, "1")
        check_number(self.rate, "rate", 1e-6, 1e3, "0.1")
        check_installed("jax_privacy", "DpSgd needs", "sgd")


@dataclass(frozen=True)
class SgdNoise:
    """PaidNoise of DP-SGD, from public numbers.

    Attributes
    ----------
    epsilon, delta
        What all steps cost together.
    query
        The sums of all steps.
    """

    epsilon: float
    delta: float
    query: Query

    @classmethod
    def of(
        cls,
        epsilon: float,
        delta: float,
        *,
        steps: int,
        changed: int,
    ) -> SgdNoise:
        """Return the noise at which so many steps cost (epsilon, delta)."""
        bound = Bound(2 * changed * GRID * (1 + 1e-12))
        return cls(
            epsilon, delta, Query.at(bound, multiplier_for(epsilon, delta, steps), times=steps)
        )


class SgdTrainer(Trainer):
    """Draws a network."""

    def __init__(self, examples: Examples, method: DpSgd) -> None:
        self.noise = SgdNoise.of(
            examples.epsilon,
            examples.delta,
            steps=method.steps,
            changed=examples.changed,
        )
        self._examples, self._method = examples, method

    @property
    def public(self) -> tuple[object, ...]:
        """See `Trainer.public`."""
        return self.noise, self._method, self._examples.rows.shape

    def release(self, book: Ledger, key: str, message: str, binding: str) -> Released:
        """See `Trainer.release`."""
        cost = self.noise.epsilon, self.noise.delta
        sums = Sums([self.noise.query], Protected.OWNERS, message, Observer.PUBLIC, cost)
        return sums.charges[0], release(book, key, sums, self.draw, binding=binding)

    def draw(self, noise: PaidNoise) -> bytes:
        """Return the mean of the later steps' weights. See `network.Steps`."""
        from dpsumm.summary.models.network import Network, Steps

        examples, method, shapes = self._examples, self._method, self._shapes
        network = Network(shapes, examples.rows, examples.answers, method.clip)
        steps = Steps(shapes, method.rate, method.steps)
        for _ in range(method.steps):
            noisy = noise.on(sum_of(network.gradients(steps.weights), method.clip))
            steps.take(noisy.astype(np.float64) * (method.clip / GRID / len(examples.rows)))
        return steps.mean.astype("<f8").tobytes()

    @property
    def _shapes(self) -> Shapes:
        columns = 1 if self._examples.classes == 2 else self._examples.classes
        d, hidden = self._examples.rows.shape[1], self._method.hidden
        return ((d, hidden), (hidden + 1, columns)) if hidden else ((d, columns),)

    def layers(self, drawn: bytes) -> tuple[NDArray[np.float64], ...]:
        """See `Trainer.layers`."""
        return parts(np.frombuffer(drawn, dtype="<f8"), self._shapes)


def sum_of(blocks: Iterable[NDArray[np.floating[Any]]], clip: float) -> NDArray[np.int64]:
    """Return the sum of gradients (rows, weights) in integers, each at most as long as `GRID`.

    One that is longer after all, or no number, counts as 0.
    """
    total: NDArray[np.int64] | None = None
    for block in blocks:
        inside = np.clip(np.nan_to_num(block.astype(np.float64) / clip), -1, 1)
        # Towards 0, so that none gets longer.
        whole = np.trunc(inside * GRID).astype(np.int64)
        squared = np.einsum("ij,ij->i", whole, whole)
        whole[squared > GRID**2] = 0
        found = whole.sum(0)
        total = found if total is None else total + found
    assert total is not None
    return total
