"""What to expect of `Offers` before any data are touched, from public numbers alone."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

import numpy as np

from dpsumm.checks import check_even_features, check_number, check_whole
from dpsumm.errors import InvalidParameterError, MissingExtraError
from dpsumm.privacy import accounting
from dpsumm.privacy.events import Gaussian

# Measured by `make evidence` (docs/results.md), Offers with parsimony 4 on made-up data and MNIST
# with 40 to 2000 target points: MMD^2 over that at epsilon 3, against the noise relative to the
# target's sampling error; geometric means of what was measured near each. Further out it is not
# known.
NOISE = (0.25, 0.5, 0.75, 1.25, 2.0, 3.5, 7.5)
NOISE_FACTOR = (1.01, 1.04, 1.11, 1.2, 1.86, 2.61, 3.87)
# Over 14 scenarios, geometric means of MMD^2 to the target's distribution over that of the greedy
# on all data: Offers with parsimony 2, 4 and 8, with equal weights and with `Summary.weights`.
PARSIMONY = (2.0, 4.0, 8.0)
PARSIMONY_FACTOR = (2.26, 1.29, 1.15)
WEIGHTED_FACTOR = (1.26, 1.11, 1.06)
# Scenarios differ by so much from these means, either way.
SPREAD = 2.1
# Noise relative to sampling error that costs a twentieth of the quality, and that decides alone.
GOOD, BAD = 0.5, 1.5


@dataclass(frozen=True)
class Plan:
    """What public numbers say about a run of `Offers`; made by :func:`plan`.

    Attributes
    ----------
    target_size, size, epsilon, delta, parsimony
        As given.
    noise_multiplier
        Noise / sensitivity of the release, `dpsumm.summary.mechanisms.Gaussian`, at
        (epsilon, delta).
    score_noise
        Standard deviation of the noise in a point's score ``g . h(x)``, which lies in [-1, 1]: two
        vectors of norm 1 times the multiplier, over m; whatever the number of features.
    noise_to_sampling
        `score_noise` times the root of m: how many times the noise is the error that a target of m
        points has anyway, up to a constant of the data.
    noise_factor
        By how much the noise alone raises MMD^2 to fresh target points, measured.
    ratio, weighted_ratio
        Expected MMD^2 over that of the greedy that reads all data, with equal weights and with
        `Summary.weights`; within a factor of 2.1 either way on the data it was measured on, if
        `measured`, else a lower bound at best.
    reads
        Points of the owners that the curator reads, at the most: up to one more for each owner.
    n_features
        As given.
    broadcast_bytes
        Size of the release that every owner receives.
    least_epsilon
        Epsilon from which the noise costs about a twentieth or less at this target size.
    least_target_size
        Target points from which it does at this epsilon.
    """

    target_size: int
    size: int
    epsilon: float
    delta: float
    parsimony: float
    noise_multiplier: float
    score_noise: float
    noise_to_sampling: float
    noise_factor: float
    ratio: float
    weighted_ratio: float
    reads: int
    n_features: int
    broadcast_bytes: int
    least_epsilon: float
    least_target_size: int

    @property
    def measured(self) -> bool:
        """Whether the experiments behind `ratio` cover numbers like these."""
        return (
            self.noise_to_sampling <= NOISE[-1]
            and PARSIMONY[0] <= self.parsimony <= 2 * PARSIMONY[-1]
            and self.n_features >= 512
        )

    @property
    def advice(self) -> tuple[str, ...]:
        """Sentences that say what to do."""
        first = (
            "Try Pool() first if points like the target are common at the owners (a third or "
            "more): it costs no privacy.",
        )
        if self.noise_to_sampling <= GOOD:
            return (*first, "If they are rarer, Offers is the choice: the noise costs little here.")
        remedy = (
            f"An epsilon of {self.least_epsilon:.2g}, or a target of {self.least_target_size} "
            f"points at this epsilon, would make the noise cost about a twentieth."
        )
        if self.noise_to_sampling <= BAD:
            return (*first, "If they are rarer, Offers works, and the noise can be felt.", remedy)
        return (
            "The noise is above the signal: Offers would mostly follow the noise. Use Pool(), with "
            "a higher parsimony, unless points like the target are very rare.",
            remedy,
        )

    def __str__(self) -> str:
        expected = (
            f"about {self.ratio:.2f} times, {self.weighted_ratio:.2f} with weights; within a "
            f"factor of {SPREAD:g} on data like those measured"
            if self.measured
            else f"at least {self.ratio:.2f} times, and possibly many times: no experiment covers "
            f"this (parsimony 2 to 16, 512 features or more, noise below {NOISE[-1]:g})"
        )
        lines = [
            f"Offers, {self.size} points for a target of {self.target_size}, "
            f"epsilon {self.epsilon:g}, delta {self.delta:g}",
            f"  noise in a point's score   {self.score_noise:.4f} (scores lie in [-1, 1])",
            f"  against sampling error     {self.noise_to_sampling:.2f} "
            f"(below {GOOD:g} it costs little, above {BAD:g} it decides)",
            f"  MMD^2 against reading all  {expected}",
            f"  points read                at most about {self.reads}",
            f"  sent to every owner        {self.broadcast_bytes / 1000:.0f} kB, once",
        ]
        return "\n".join([*lines, *self.advice])

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Draw the expected ratio against epsilon, for this target size and others.

        `path` ends in .png, .svg or .pdf. Needs the extra ``report``.
        """
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise MissingExtraError("plot needs matplotlib: pip install 'dpsumm[report]'") from None
        figure = Figure(figsize=(6, 4), layout="constrained")
        axes = figure.subplots()
        epsilons = np.geomspace(0.1, 10, 41)
        sizes = (self.target_size // 4, self.target_size, 4 * self.target_size)
        for m in (m for m in sizes if m >= 2):
            multipliers = [accounting.gaussian_noise_multiplier(e, self.delta) for e in epsilons]
            ratios = [
                _parsimony_factor(self.parsimony, _factor(noise_to_sampling(z, m)))
                for z in multipliers
            ]
            axes.plot(
                epsilons,
                ratios,
                linewidth=2.5 if m == self.target_size else 1,
                label=f"target of {m}",
            )
        axes.plot([self.epsilon], [self.ratio], "o", color="black", label="this plan")
        axes.set(
            xscale="log",
            xlabel=f"epsilon of the target, at delta {self.delta:g}",
            ylabel="expected MMD² over reading all",
        )
        axes.set_xticks([0.1, 0.3, 1, 3, 10], ["0.1", "0.3", "1", "3", "10"])
        axes.grid(alpha=0.3)
        axes.legend()
        try:
            figure.savefig(os.fspath(path))
        except (OSError, ValueError) as error:
            raise InvalidParameterError(f"plot: cannot write {os.fspath(path)}: {error}") from None


def plan(
    target_size: int,
    size: int,
    *,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    parsimony: float = 4.0,
    n_features: int = 2048,
) -> Plan:
    """Return what to expect of a run, before any data are touched.

    Public numbers only: choosing epsilon, the parsimony or the number of features by looking at
    private data is not covered by any guarantee, choosing them by a plan is.

    Parameters
    ----------
    target_size
        Records of the target, m, at least 2.
    size
        Points of the summary, p, at least 1.
    epsilon, delta
        Budget of the target's records.
    parsimony, n_features
        As for `Offers`.

    Raises
    ------
    InvalidParameterError
        A number out of range.

    Examples
    --------
    >>> made = plan(1000, 400)
    >>> round(made.score_noise, 4), made.reads
    (0.0075, 1600)
    >>> plan(40, 60, epsilon=0.3).advice[0]
    'The noise is above the signal: Offers would mostly follow the noise. Use Pool(), with a \
higher parsimony, unless points like the target are very rare.'
    """
    for value, name, least in ((target_size, "target_size", 2), (size, "size", 1)):
        check_whole(value, name, least)
        check_number(value, name, least, 1e12)
    check_even_features(n_features)
    check_number(parsimony, "parsimony", 1, 1e6)
    multiplier = accounting.gaussian_noise_multiplier(epsilon, delta)
    relative = noise_to_sampling(multiplier, target_size)
    factor = _factor(relative)
    weighted = float(np.interp(parsimony, PARSIMONY, WEIGHTED_FACTOR))
    return Plan(
        target_size=target_size,
        size=size,
        epsilon=epsilon,
        delta=delta,
        parsimony=parsimony,
        noise_multiplier=multiplier,
        score_noise=2 * multiplier / target_size,
        noise_to_sampling=relative,
        noise_factor=factor,
        ratio=_parsimony_factor(parsimony, factor),
        weighted_ratio=weighted * factor,
        reads=math.ceil(parsimony * size),
        n_features=n_features,
        broadcast_bytes=8 * n_features,
        # The multiplier at which the noise is just GOOD, and what it guarantees.
        least_epsilon=accounting.compose([(Gaussian(GOOD * math.sqrt(target_size) / 2), 1)], delta),
        least_target_size=math.ceil((2 * multiplier / GOOD) ** 2),
    )


def noise_to_sampling(multiplier: float, target_size: int) -> float:
    """Return the noise in a score over the error that the target's sample has: 2 z / sqrt(m)."""
    return 2 * multiplier / math.sqrt(target_size)


def _factor(relative: float) -> float:
    """Interpolate what noise costs; beyond what was measured as the last measured."""
    return float(np.interp(math.log(relative), np.log(NOISE), NOISE_FACTOR))


def _parsimony_factor(parsimony: float, noise_factor: float) -> float:
    return float(np.interp(parsimony, PARSIMONY, PARSIMONY_FACTOR)) * noise_factor
