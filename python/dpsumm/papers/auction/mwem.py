"""The paper's release of a mean embedding: Algorithm 2, multiplicative weights."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpsumm import kernels
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy import accounting, events
from dpsumm.privacy.events import Event
from dpsumm.privacy.release import annex
from dpsumm.summary.release import LEVELS, Draw, Mechanism, Release, Sensitivity


@dataclass(frozen=True)
class Mwem(Mechanism):
    """The paper's release of the target: a mixture of distributions, fitted to noisy answers.

    It is Algorithm 2 of the paper, h2: multiplicative weights with the exponential mechanism (MWEM)
    over product distributions on the grid S^d.

    Parameters
    ----------
    iterations
        T: selections and measurements of one release.
    epsilon_select
        Selection draws a coordinate with weight ``exp(epsilon_select * |sum error|)``.
    epsilon_measure
        Measurement adds Laplace noise of scale ``1 / epsilon_measure`` to that coordinate's sum.
    steps
        2 / eta: features scaled into [-1, 1] are rounded at random, without bias, to the grid
        ``{-1, -1 + eta, .., 1}``.

    Privacy
    -------
    Claim: bounded range ``2 D epsilon_select`` for each selection, and ``D epsilon_measure``-DP for
    each measurement, where D is the number of vectors that one unit moves.
    Assumes: counts public. Warm start from released states only. Argument and numerics: the core's
    module ``mwem`` and ``docs/privacy/auction.md``. Tested by: tests/papers/test_mwem_release.py.

    See Also
    --------
    dpsumm.summary.Gaussian : The default.

    Examples
    --------
    >>> import dpsumm
    >>> dpsumm.papers.Mwem(iterations=3, epsilon_select=0.05, epsilon_measure=0.05).steps
    20
    """

    iterations: int
    epsilon_select: float
    epsilon_measure: float
    steps: int = 20

    def __post_init__(self) -> None:
        if self.iterations < 1:
            raise InvalidParameterError(f"iterations must be at least 1, got {self.iterations!r}")
        accounting.check_epsilon(self.epsilon_select, "epsilon_select")
        accounting.check_epsilon(self.epsilon_measure, "epsilon_measure")
        if not 1 <= self.steps <= 2**16:
            raise InvalidParameterError(f"steps must be between 1 and 65536, got {self.steps!r}")
        # What the core's samplers take, so that nothing fails after it was charged.
        if not 2.0**-32 <= self.epsilon_select / self.steps <= 2.0**10:
            raise InvalidParameterError(
                f"epsilon_select / steps must lie between 2**-32 and 2**10, got "
                f"{self.epsilon_select!r} / {self.steps!r}"
            )
        if not 2.0**-19 <= self.steps / self.epsilon_measure <= 2.0**39:
            raise InvalidParameterError(
                f"steps / epsilon_measure must lie between 2**-19 and 2**39, got "
                f"{self.steps!r} / {self.epsilon_measure!r}"
            )

    @classmethod
    def published(cls, epsilon: float, iterations: int) -> Mwem:
        """Return Algorithm 2 with the paper's one `epsilon` for selection and measurement.

        It buys ``2 D epsilon`` and ``D epsilon`` an iteration, not epsilon: see
        :func:`dpsumm.papers.auction.published.published_epsilon`.
        """
        return cls(iterations, epsilon, epsilon)

    def cost(self, sensitivity: Sensitivity) -> list[tuple[Event, int]]:
        """Return the events of one release."""
        moved = sensitivity.vectors
        return [
            (events.BoundedRange(2 * moved * self.epsilon_select), self.iterations),
            # Pure: discrete Laplace noise is not dominated by continuous Laplace noise.
            (events.Pure(moved * self.epsilon_measure), self.iterations),
        ]

    def draw(self, given: Draw) -> Release:
        """Return a release that goes on from the state of the one before."""
        if not isinstance(given.features, kernels.RandomFeatures):
            raise InvalidParameterError("features: Mwem takes random features only")
        scale = math.sqrt(given.features.n_features / 2)
        sums = given.features.quantized_sum(given.points, self.steps, given.seed)
        # After another kind of release (public seed points) there is no state: start anew.
        state = None if given.previous is None else given.previous.state
        run = annex.mwem(
            sums,
            given.count,
            steps=self.steps,
            iterations=self.iterations,
            epsilon_select=self.epsilon_select,
            epsilon_measure=self.epsilon_measure,
            theta=state,
            seed=given.seed,
        )
        steps = np.rint(run.means / scale * (LEVELS * given.count)).astype(np.int64)
        return Release(steps, given.count, run.theta)
