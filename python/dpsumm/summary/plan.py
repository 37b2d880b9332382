"""What to expect of `Offers` before any data are touched, from public numbers alone."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpsumm.basics.checks import check_number, check_whole, plain
from dpsumm.data.schema import Schema
from dpsumm.data.short import SchemaLike, schema_of
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy import accounting
from dpsumm.privacy.events import Gaussian
from dpsumm.report.notes import Note, Severity
from dpsumm.report.numbers import advised, percent
from dpsumm.report.plan import Plan
from dpsumm.report.verdict import Verdict
from dpsumm.summary.kernel import RBF
from dpsumm.summary.made_up import check_rarity
from dpsumm.summary.mechanisms import Gaussian as GaussianRelease
from dpsumm.summary.protocols.features import MapChoice, features_of
from dpsumm.summary.protocols.messages import LandmarkMap
from dpsumm.summary.protocols.offers import Offers
from dpsumm.summary.release import LEVELS

# MMD^2 to the target's distribution over that of the greedy on all data is about ``base + (noise /
# scale)**3 / rarity``, noise relative to the target's sampling error, for Offers with
# reads_per_record 2, 4 and 8: in the middle, and what 1 and 9 of 10 runs are below. Fitted to
# made-up data, Adult and MNIST by `evidence.calibrate`, at epsilon 0.3, 1 and 3.
READS_PER_RECORD = (2.0, 4.0, 8.0)
Curve = tuple[tuple[float, ...], tuple[float, ...]]  # base, scale
LOW: Curve = (0.91, 0.86, 0.88), (8.73, 15.6, 20.0)
MIDDLE: Curve = (1.52, 1.09, 1.03), (3.37, 7.71, 10.74)
HIGH: Curve = (3.14, 1.56, 1.27), (1.35, 2.13, 3.37)
# Where nobody says how rare the target is: in the middle as `MadeUpOwners`, at the ends these.
RARITY, RARITIES = 0.1, (1.0, 0.01)
# The most noise that runs had, and the largest ratio that is told.
MOST_NOISE, MOST_RATIO = 4.0, 100.0
# Share of records like the target from which a pool may do.
COMMON = 1 / 3
# What noise that is small adds to the end of the range, and noise that decides.
SMALL, LOUD = 1.0, 30.0
# Noise relative to sampling error above which a release says more of noise than of the target.
BAD = 1.5


@dataclass(frozen=True)
class PointsPlan(Plan):
    """Prediction of a run of `Offers` from public numbers, made by :func:`plan`.

    Attributes
    ----------
    target_size, size, epsilon, delta, reads_per_record, rarity
        As given.
    noise_multiplier
        Noise / sensitivity of the release, `dpsumm.summary.mechanisms.Gaussian`, at
        (epsilon, delta).
    landmarks
        Whether the release is in landmark features.
    sensitivity
        Largest L2 distance by which one replaced record moves the sum of features. It is 2 for
        random features.
    score_noise
        Standard deviation of the noise in a point's score ``g . h(x)``, which is in [-1, 1]. It is
        `sensitivity` times the multiplier over m, for any number of features.
    noise_to_sampling
        `score_noise` times the root of m. This is the noise relative to the error that a target of
        m points has anyway, up to a constant of the data.
    ratio
        Expected MMD^2 over that of the greedy that reads all data.
    likely
        Range that it was in for 8 of 10 runs like this one. Without `rarity` it reaches from
        targets that all owners' records are like to those that 1 % are like.
    reads
        Largest number of points that the curator reads, apart from rounding at each owner.
    n_features
        Features of the release.
    broadcast_bytes
        Size of the release that every owner receives.
    least_epsilon
        Epsilon from which noise adds at most 1 to the end of the range, at this target size.
    least_target_size
        Target points from which it does so at this epsilon.

    See Also
    --------
    dpsumm.plan : Makes one, with an example.
    """

    target_size: int
    size: int
    epsilon: float
    delta: float
    reads_per_record: float
    rarity: float | None
    noise_multiplier: float
    landmarks: bool
    sensitivity: float
    score_noise: float
    noise_to_sampling: float
    ratio: float
    likely: tuple[float, float]
    reads: int
    n_features: int
    broadcast_bytes: int
    least_epsilon: float
    least_target_size: int

    @property
    def measured(self) -> bool:
        """Whether the experiments behind `ratio` cover numbers like these."""
        return (
            self.noise_to_sampling <= MOST_NOISE
            and READS_PER_RECORD[0] <= self.reads_per_record <= 2 * READS_PER_RECORD[-1]
            and self.n_features >= 512
            and (self.rarity is None or self.rarity >= min(RARITIES))
        )

    @property
    def title(self) -> str:
        """The run that is planned, in a line."""
        return (
            f"Offers, {self.size} points for a target of {self.target_size}, "
            f"epsilon {self.epsilon:g}, delta {self.delta:g}"
        )

    @property
    def verdict(self) -> Verdict:
        """Whether noise takes the points far from the target."""
        if self._small and not self.measured:
            why = "no experiment covers these numbers"
            return Verdict("the noise is small", why, Severity.WARNING)
        if self._small:
            why = f"points are about {self.ratio:.2g} times as far as by reading all data"
            return Verdict("the noise is small", why)
        if not self._loud:
            end = f"{self.likely[1]:.2g}"
            why = f"one run in ten is {end} times as far as by reading all data, or further"
            return Verdict("offers work", why, Severity.WARNING)
        why = "they may gain nothing over `protocol=Pool()`, which costs no privacy"
        return Verdict("the noise is above the signal", why, Severity.ALARM)

    @property
    def _small(self) -> bool:
        return self.target_size >= self.least_target_size

    @property
    def _loud(self) -> bool:
        return self.likely[1] > _curve(HIGH, self.reads_per_record)[0] + LOUD

    @property
    def _budget(self) -> tuple[float, float, int]:
        return self.epsilon, self.delta, self.target_size

    def _advice(self) -> Iterable[Note]:
        if not self._small:
            yield Note(
                f"An epsilon of {advised(self.least_epsilon)}, or a target of "
                f"{self.least_target_size} points at this epsilon, would make the noise small.",
                Severity.INFO,
            )
        if self._loud:
            yield Note("Rehearse offers and pool with `dpsumm compare`.", Severity.INFO)
        if self.rarity is None:
            yield Note(
                "Give `rarity`, a public guess of the share of the owners' records that are like "
                "the target. From a third on, try `protocol=Pool()` first. It costs no privacy.",
                Severity.INFO,
            )
        elif self.rarity >= COMMON:
            yield Note("Try `protocol=Pool()` first. It costs no privacy.", Severity.INFO)

    def _rows(self) -> list[tuple[str, str]]:
        low, high = self.likely
        expected = (
            f"about {_told(self.ratio)} times; {low:.2g} to {_told(high)} in 8 of 10 runs like "
            "this, "
            + (
                "if 1 % to all of the owners' records are like the target"
                if self.rarity is None
                else f"if {percent(self.rarity)} of the owners' records are like the target"
            )
            if self.measured
            else "unknown, because no experiment covers this (reads_per_record 2 to 16, "
            f"512 features or more, noise below {MOST_NOISE:g}, rarity from {min(RARITIES):g})"
        )
        return [
            ("noise in a point's score", f"{self.score_noise:.4f} (scores lie in [-1, 1])"),
            ("against sampling error", f"{self.noise_to_sampling:.2f}"),
            ("MMD^2 against reading all", expected),
            ("points read", f"at most about {self.reads}"),
            (
                "sent to every owner",
                f"{self.broadcast_bytes / 1000:.0f} kB, once: {self.n_features} "
                f"{'landmark' if self.landmarks else 'random'} features",
            ),
        ]

    def plot(self, axes: Any = None) -> Any:
        """Draw the expected ratio against epsilon, for this target size and others.

        Returns matplotlib's axes, whose ``figure.savefig(path)`` writes a file.

        Parameters
        ----------
        axes
            Drawn on. Those of a new pyplot figure by default.

        Raises
        ------
        MissingExtraError
            matplotlib is not installed.

        Examples
        --------
        >>> import dpsumm
        >>> from matplotlib.figure import Figure
        >>> dpsumm.plan(100, 50).plot(Figure().subplots()).get_ylabel()
        'expected MMD² over reading all'
        """
        from dpsumm.report import figures

        axes = figures.new_axes() if axes is None else axes
        epsilons = np.geomspace(0.1, 10, 41)
        sizes = (self.target_size // 4, self.target_size, 4 * self.target_size)
        for m in (m for m in sizes if m >= 2):
            multipliers = [accounting.gaussian_noise_multiplier(e, self.delta) for e in epsilons]
            noises = [noise_to_sampling(z, m, self.sensitivity) for z in multipliers]
            # Where no experiment covers the noise a line ends.
            low, ratios, high = np.array(
                [
                    _ratios(self.reads_per_record, noise, self.rarity)
                    if noise <= MOST_NOISE
                    else (np.nan,) * 3
                    for noise in noises
                ]
            ).T
            if m == self.target_size:
                axes.fill_between(
                    epsilons, low, high, alpha=0.15, color="C1", label="8 of 10 runs of this plan"
                )
            axes.plot(
                epsilons,
                ratios,
                linewidth=2.5 if m == self.target_size else 1,
                label=f"target of {m}",
            )
        axes.plot([self.epsilon], [self.ratio], "o", color="black", label="this plan")
        axes.set(
            xscale="log",
            yscale="log",
            xlabel=f"epsilon of the target, at delta {self.delta:g}",
            ylabel="expected MMD² over reading all",
        )
        axes.set_xticks([0.1, 0.3, 1, 3, 10], ["0.1", "0.3", "1", "3", "10"])
        axes.grid(alpha=0.3)
        axes.legend()
        return axes


def plan(
    target_size: int,
    size: int,
    *,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    protocol: Offers | None = None,
    schema: SchemaLike | None = None,
    kernel: RBF | None = None,
    rarity: float | None = None,
) -> PointsPlan:
    """Return what to expect of a run, before any data are touched.

    A plan is made from public numbers only. So guarantees cover an epsilon or a protocol that was
    chosen by a plan. They do not cover one that was chosen by looking at private data.

    Parameters
    ----------
    target_size
        Records of the target, m, at least 2.
    size
        Points of the summary, p, at least 1.
    epsilon, delta
        Budget of the target's records.
    protocol
        `Offers(reads_per_record=8)` and such, by default `Offers()`. A `sample` or another release
        than `Gaussian()` cannot be planned with.
    schema
        The data's, in any form that `dpsumm.summarize` takes. If it has bounds or categories for
        all columns, the release may be in landmark features, which need less noise. Without it
        random ones are planned with.
    kernel
        The run's, if it is not `RBF.for_schema`.
    rarity
        Share of the owners' records that are like the target, above 0 and at most 1. It must be a
        public guess, for example from a register. The rarer they are, the more a noisy release
        misses them.

    Raises
    ------
    InvalidParameterError
        A number is out of range, or the protocol is another one.

    See Also
    --------
    dpsumm.compare : Rehearses protocols on made-up data.
    dpsumm.summarize : The run itself.

    Examples
    --------
    >>> made = plan(1000, 400)
    >>> round(made.score_noise, 4), made.reads
    (0.0075, 1600)
    >>> plan(40, 60, epsilon=0.3).verdict.head
    'the noise is above the signal'
    >>> [plan(200, 60, rarity=rarity).verdict.level for rarity in (0.01, 0.3)]
    ['check', 'useful']
    """
    for value, name, least in ((target_size, "target_size", 2), (size, "size", 1)):
        check_whole(value, name, least)
        check_number(value, name, least, 1e12)
    if rarity is not None:
        check_rarity(rarity)
        rarity = plain(rarity)
    protocol = Offers() if protocol is None else protocol
    if (
        not isinstance(protocol, Offers)
        or protocol.sample is not None
        or (protocol.release != GaussianRelease())
    ):
        raise InvalidParameterError(
            "protocol: a plan is of Offers() without a sample and with the release Gaussian(). "
            "Rehearse others by dpsumm.compare (dpsumm compare)"
        )
    reads_per_record = protocol.reads_per_record
    landmarks, n_features, sensitivity = _released_in(
        protocol.map_choice, None if schema is None else schema_of(schema), kernel
    )
    epsilon, delta = plain(epsilon), plain(delta)
    multiplier = accounting.gaussian_noise_multiplier(epsilon, delta)
    relative = noise_to_sampling(multiplier, target_size, sensitivity)
    low, ratio, high = _ratios(reads_per_record, relative, rarity)
    rarest = min(RARITIES) if rarity is None else rarity
    small = _curve(HIGH, reads_per_record)[1] * (SMALL * rarest) ** (1 / 3)
    return PointsPlan(
        target_size=target_size,
        size=size,
        epsilon=epsilon,
        delta=delta,
        reads_per_record=reads_per_record,
        rarity=rarity,
        noise_multiplier=multiplier,
        landmarks=landmarks,
        sensitivity=sensitivity,
        score_noise=sensitivity * multiplier / target_size,
        noise_to_sampling=relative,
        ratio=ratio,
        likely=(low, high),
        reads=math.ceil(reads_per_record * size),
        n_features=n_features,
        broadcast_bytes=8 * n_features,
        least_epsilon=accounting.compose(
            [(Gaussian(small * math.sqrt(target_size) / sensitivity), 1)], delta
        ),
        least_target_size=math.ceil((sensitivity * multiplier / small) ** 2),
    )


def noise_to_sampling(multiplier: float, target_size: int, sensitivity: float = 2.0) -> float:
    """Return the noise in a score over the error that the target's sample has."""
    return sensitivity * multiplier / math.sqrt(target_size)


def _released_in(
    choice: MapChoice, schema: Schema | None, kernel: RBF | None
) -> tuple[bool, int, float]:
    """Return whether a run's features are landmarks, their number, and their sensitivity."""
    n_columns = 0 if schema is None else len(schema.cells)
    choice.check_columns(schema, n_columns)
    if schema is None or not schema.bounded:
        return False, choice.n_random, 2.0
    gamma = (RBF.for_schema(schema) if kernel is None else kernel).gamma
    # Where landmarks lie hardly matters for their bound, so any seed does.
    recipe = choice.recipe(schema, gamma, n_columns, 0, GaussianRelease())
    if not isinstance(recipe, LandmarkMap):
        return False, recipe.n_features, 2.0
    moved = features_of(recipe, schema).grid_difference(LEVELS) / LEVELS
    return True, recipe.n_features, moved


def _curve(curve: Curve, reads_per_record: float) -> tuple[float, float]:
    """Return base and scale, between the reads measured by their logarithms; beyond as there."""
    place, places = math.log(reads_per_record), np.log(READS_PER_RECORD)
    base, scale = (float(np.exp(np.interp(place, places, np.log(one)))) for one in curve)
    return base, scale


def _ratio(curve: Curve, reads_per_record: float, noise: float, rarity: float) -> float:
    """Return ``base + (noise / scale)**3 / rarity``, at most as much as was measured."""
    base, scale = _curve(curve, reads_per_record)
    return min(base + (min(noise, MOST_NOISE) / scale) ** 3 / rarity, MOST_RATIO)


def _ratios(
    reads_per_record: float, noise: float, rarity: float | None
) -> tuple[float, float, float]:
    """Return the ratio's low end, middle and high end."""
    common, rare = RARITIES if rarity is None else (rarity, rarity)
    middle = RARITY if rarity is None else rarity
    return (
        _ratio(LOW, reads_per_record, noise, common),
        _ratio(MIDDLE, reads_per_record, noise, middle),
        _ratio(HIGH, reads_per_record, noise, rare),
    )


def _told(ratio: float) -> str:
    return f"{ratio:.2g}" if ratio < MOST_RATIO else f"{MOST_RATIO:.0f} or more"
