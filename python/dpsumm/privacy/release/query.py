"""Queries for release, which are sums of integers that one unit of the data moves little.

Claim
    For integer vectors f with ``|f(D) - f(D')| <= norm`` in L2 for all neighbouring data D and D',
    ``f(D) + round(noise_std * N(0, I))`` has the guarantee of the Gaussian mechanism with noise
    multiplier ``noise_std / norm`` (Balle & Wang 2018, Theorem 8).
Argument
    Adding an integer commutes with rounding, so the release is the rounded value of ``f(D) +
    noise_std * N(0, I)``: post-processing of that mechanism.
Assumes
    `Bound.norm` is a bound. Each caller proves its own and names the page.
Numerics
    Sums are integers, the noise is exact (`dpsumm.kernels.noise`), the multiplier is rounded down.
Tested by
    tests/privacy/test_kernel.py, tests/release
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpsumm.errors import InvalidParameterError
from dpsumm.privacy import accounting, portable
from dpsumm.privacy.events import Gaussian, Unit


@dataclass(frozen=True)
class Bound:
    """The most by which one unit of the data moves a vector of integers.

    Attributes
    ----------
    norm
        In L2, above 0 and finite. Float error belongs in it: round up.
    unit
        The protected unit.
    """

    norm: float
    unit: Unit = Unit.REPLACE_RECORD

    def __post_init__(self) -> None:
        if not (math.isfinite(self.norm) and self.norm > 0):
            raise InvalidParameterError(f"norm must be finite and above 0, got {self.norm!r}")


@dataclass(frozen=True)
class Query:
    """Sums of integers that leave with Gaussian noise. Made by `at` or by `with_std`.

    Attributes
    ----------
    bound
        How far one unit of the data moves each sum.
    multiplier
        What the ledger is charged for: noise over sensitivity, at most.
    noise_std
        Standard deviation of the noise in each coordinate.
    times
        How many sums, one after the other, each with noise of its own. A later one may depend on
        the earlier noisy ones.
    seed
        Tests only: repeatable, so the charge is infinite.
    """

    bound: Bound
    multiplier: float
    noise_std: float
    times: int = 1
    seed: int | None = None

    def __post_init__(self) -> None:
        if not self.noise_std >= self.multiplier * self.bound.norm:
            raise InvalidParameterError("noise_std must be at least multiplier times norm")
        if self.times < 1 or (self.times > 1 and self.seed is not None):
            raise InvalidParameterError("times must be at least 1, and 1 with a seed")

    @classmethod
    def at(
        cls, bound: Bound, multiplier: float, *, times: int = 1, seed: int | None = None
    ) -> Query:
        """Return sums with as much noise as a multiplier needs."""
        return cls(bound, multiplier, multiplier * bound.norm, times, seed)

    @classmethod
    def with_std(cls, bound: Bound, noise_std: float, *, seed: int | None = None) -> Query:
        """Return a sum with given noise. Its multiplier is rounded down."""
        multiplier = noise_std / bound.norm
        while multiplier * bound.norm > noise_std:
            multiplier = math.nextafter(multiplier, 0.0)
        return cls(bound, multiplier, noise_std, seed=seed)


def multiplier_for(epsilon: float, delta: float, times: int = 1) -> float:
    """Return the noise multiplier at which so many releases cost (epsilon, delta) together."""
    whole = accounting.gaussian_noise_multiplier(epsilon, delta)
    if times == 1:
        return whole
    multiplier = portable.round_up(whole * math.sqrt(times) * (1 + 1e-12))
    while accounting.compose([(Gaussian(multiplier), times)], delta) > epsilon:
        multiplier *= 1 + 1e-9
    return multiplier
