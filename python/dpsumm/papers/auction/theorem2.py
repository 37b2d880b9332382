"""Theorem 2 of the paper with its parameters as printed, and a report of their value.

Claim
    None of ours: what is charged is what the mechanisms spend, as for every `Auction`. The report
    sets the theorem's claim, and the conditions that it makes, next to that.
Tested by
    tests/papers/test_theorem2.py
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from dpsumm.basics.checks import check_even_features, check_number, check_whole
from dpsumm.errors import InvalidParameterError
from dpsumm.papers.auction.mwem import Mwem
from dpsumm.privacy import accounting, portable
from dpsumm.privacy.events import Event
from dpsumm.summary.protocols.curator import Setting
from dpsumm.summary.release import SUMMARY, TARGET, Draw, Mechanism, Release, Sensitivity


@dataclass(frozen=True)
class Theorem2:
    """The formulas of Theorem 2 for one set of inputs, as printed. Logarithms are natural.

    Attributes
    ----------
    epsilon, delta, size, n_points, a
        Its inputs, see `Auction.theorem2`.
    """

    epsilon: float
    delta: float
    size: int
    n_points: int
    a: float
    dimension: int

    @classmethod
    def of(
        cls, epsilon: float, delta: float, size: int, n_points: int, a: float, dimension: int | None
    ) -> Theorem2:
        """Return the formulas for checked inputs, and for the least even d if none is given."""
        accounting.check_epsilon(epsilon)
        check_number(delta, "delta", 1e-300, math.nextafter(1 / math.e, 0))
        check_whole(size, "size", 2)
        check_whole(n_points, "n_points", size)
        check_number(a, "a", 1e-6, math.nextafter(1, 0))
        if dimension is not None:
            check_even_features(dimension)
        made = cls(epsilon, delta, size, n_points, a, dimension or 2)
        least = made.least_dimension
        if dimension is None:
            made = replace(made, dimension=2 * math.ceil(least / 2))
        try:
            made.target_release.cost(TARGET)
        except InvalidParameterError as error:
            raise InvalidParameterError(
                f"dimension: the theorem asks for d of at least {least:.0f}, and MWEM with d^2 "
                f"iterations cannot be run with {made.dimension} ({error}). Give a smaller "
                "dimension to run it all the same: the report says which conditions fail"
            ) from None
        return made

    @property
    def least_dimension(self) -> float:
        """The d asked for: ``16 log(2 N) log^2 p / a^2``."""
        return 16 * portable.log(2 * self.n_points) * portable.log(self.size) ** 2 / self.a**2

    @property
    def iterations(self) -> int:
        """``T = d^2``."""
        return self.dimension**2

    @property
    def epsilon_target(self) -> float:
        """``eps_v = eps / (16 T)``."""
        return self.epsilon / (16 * self.iterations)

    def epsilon_round(self, number: int) -> float:
        """``eps_{l,T} = eps / sqrt(16 T l log(1/delta) log p)`` of the l-th round."""
        logs = portable.log(1 / self.delta) * portable.log(self.size)
        return self.epsilon / math.sqrt(16 * self.iterations * number * logs)

    @property
    def least_target(self) -> float:
        """The records asked of the target: ``44 sqrt(2) sqrt(d) log d log^2 p / eps_v``."""
        d, log_p = self.dimension, portable.log(self.size)
        return 44 * math.sqrt(2 * d) * portable.log(d) * log_p**2 / self.epsilon_target

    @property
    def least_seeds(self) -> float:
        """The seed points asked for: ``121 * 8 d^2 log^2 d log(1/delta) log^5 p``."""
        logs = (
            portable.log(self.dimension) ** 2
            * portable.log(1 / self.delta)
            * portable.log(self.size) ** 5
        )
        return 121 * 8 * self.dimension**2 * logs

    def mwem(self, epsilon: float) -> Mwem:
        """Return Algorithm 2 with d^2 iterations on the grid of step ``eta = 1/d``."""
        return Mwem(self.iterations, epsilon, epsilon, steps=2 * self.dimension)

    @property
    def target_release(self) -> Mwem:
        """The mechanism of the target's release."""
        return self.mwem(self.epsilon_target)

    def check(self, setting: Setting) -> None:
        """Refuse a run of another size than the parameters were made for."""
        if setting.size != self.size:
            raise InvalidParameterError(
                f"size: the theorem's parameters were made for {self.size} points, and "
                f"{setting.size} are asked for. Give both the same"
            )

    def report(self, setting: Setting, n_seeds: int) -> tuple[str, ...]:
        """Return what the theorem asks for and claims, and sound figures of the same run."""
        log_p = portable.log(self.size)
        known = self.a + 1 / (self.epsilon * log_p)
        target = self._sound([self.target_release], TARGET)
        summary = self._sound((RoundMwem(self, n) for n in range(2, self.size + 1)), SUMMARY)
        return (
            self._conditions(setting, n_seeds),
            "If they all hold, Theorem 2 claims that what an owner receives in all rounds is "
            f"({self.epsilon:g}, {self.delta:g})-differentially private for the other owners' "
            "and for the target's records; that J(summary) is at least (1 - 1/e) J(OPT) - kappa, "
            "with kappa < O(log p sqrt(ln(d p) / d)) + a + 1/(eps log p) < 1, of which the last "
            f"two terms are {known:.3g} here; and that O(p K^(1/3)) points are read.",
            "Of our reading d, eta, T and both epsilons are certain. In the copy of the paper that "
            "we have, the roots in the condition on the target are letters, and the one on the "
            "seed points may lack a denominator. The request rule's inputs, eps_auc and tau, are "
            "not in the theorem.",
            f"Sound figures of the same run at delta = {self.delta:g}, for a replaced record: "
            f"epsilon = {target:.4g} for the target's release and {summary:.4g} for all summary "
            "releases; the request rule has none.",
        )

    def _conditions(self, setting: Setting, n_seeds: int) -> str:
        n_points = sum(setting.n_records.values())
        asked = (
            ("features", self.dimension, self.least_dimension),
            ("target records", len(setting.target), self.least_target),
            ("seed points", n_seeds, self.least_seeds),
        )
        parts = [
            f"at least {least:.4g} {what} ({have}: {_verdict(have >= least)})"
            for what, have, least in asked
        ]
        return (
            f"Theorem 2 asks for {', '.join(parts)} and at most {self.n_points} records of all "
            f"owners ({n_points}: {_verdict(n_points <= self.n_points)}); eta = 1/d and "
            f"T = d^2 = {self.iterations} are as printed."
        )

    def _sound(self, releases: Iterable[Mechanism], sensitivity: Sensitivity) -> float:
        cost = [event for release in releases for event in release.cost(sensitivity)]
        return accounting.compose(cost, self.delta)


def _verdict(holds: bool) -> str:
    return "holds" if holds else "fails"


@dataclass(frozen=True)
class RoundMwem(Mechanism):
    """Algorithm 2 with the epsilon of a round, which falls with its number."""

    theorem: Theorem2
    number: int = 1

    def in_round(self, number: int) -> RoundMwem:
        """Return the mechanism of a round. See `Mechanism.in_round`."""
        return replace(self, number=number)

    @property
    def _mwem(self) -> Mwem:
        return self.theorem.mwem(self.theorem.epsilon_round(self.number))

    def cost(self, sensitivity: Sensitivity) -> list[tuple[Event, int]]:
        """Return the events of this round's release. See `Mwem.cost`."""
        return self._mwem.cost(sensitivity)

    def draw(self, given: Draw) -> Release:
        """Return a release that goes on from the state of the one before. See `Mwem.draw`."""
        return self._mwem.draw(given)
