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
from dpsumm.report.numbers import advised
from dpsumm.report.plan import Plan
from dpsumm.report.verdict import Verdict
from dpsumm.summary.kernel import RBF
from dpsumm.summary.mechanisms import Gaussian as GaussianRelease
from dpsumm.summary.protocols.features import MapChoice, features_of
from dpsumm.summary.protocols.messages import LandmarkMap
from dpsumm.summary.protocols.offers import Offers
from dpsumm.summary.release import LEVELS

# Fitted to runs of the scenarios of evidence/results/points.md on seeds that it does not report,
# at epsilon 0.3, 1 and 3: MMD^2 to the target's distribution over that of the greedy on all data is
# about ``base + (noise / scale)**2``, noise relative to the target's sampling error; for Offers
# with reads_per_record 2, 4 and 8, with equal weights and with `Summary.weights`.
READS_PER_RECORD = (2.0, 4.0, 8.0)
BASE, SCALE = (1.23, 1.02, 1.0), (1.23, 2.67, 9.59)
WEIGHTED_BASE, WEIGHTED_SCALE = (0.92, 0.96, 0.98), (1.33, 2.38, 4.97)
# Scenarios differ by at most so much from that without noise, either way, and by more the more
# noise there is; and the most noise they had.
SPREAD = 1.5
MOST_NOISE = 4.0
# Noise relative to sampling error that is small at 4 reads, and that is above the signal.
GOOD, BAD = 0.5, 1.5


@dataclass(frozen=True)
class PointsPlan(Plan):
    """Prediction of a run of `Offers` from public numbers, made by :func:`plan`.

    Attributes
    ----------
    target_size, size, epsilon, delta, reads_per_record
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
    ratio, weighted_ratio
        Expected MMD^2 over that of the greedy that reads all data, with equal weights and with
        `Summary.weights`. If `measured`, it was within a factor of `spread` either way on the data
        of the experiments. Otherwise it is a lower bound.
    reads
        Largest number of points that the curator reads, apart from rounding at each owner.
    n_features
        Features of the release.
    broadcast_bytes
        Size of the release that every owner receives.
    least_epsilon
        Epsilon from which the noise is small at this target size.
    least_target_size
        Target points from which it is small at this epsilon.

    See Also
    --------
    dpsumm.plan : Makes one, with an example.
    """

    target_size: int
    size: int
    epsilon: float
    delta: float
    reads_per_record: float
    noise_multiplier: float
    landmarks: bool
    sensitivity: float
    score_noise: float
    noise_to_sampling: float
    ratio: float
    weighted_ratio: float
    reads: int
    n_features: int
    broadcast_bytes: int
    least_epsilon: float
    least_target_size: int

    @property
    def spread(self) -> float:
        """Factor by which `ratio` may be off. It is larger if there is more noise."""
        return SPREAD * (1 + min(self.noise_to_sampling, MOST_NOISE))

    @property
    def measured(self) -> bool:
        """Whether the experiments behind `ratio` cover numbers like these."""
        return (
            self.noise_to_sampling <= MOST_NOISE
            and READS_PER_RECORD[0] <= self.reads_per_record <= 2 * READS_PER_RECORD[-1]
            and self.n_features >= 512
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
        """Whether Offers are useful where points like the target are rare at the owners."""
        if self.noise_to_sampling <= GOOD and not self.measured:
            why = "no experiment covers these numbers"
            return Verdict("the noise is small", why, Severity.WARNING)
        if self.noise_to_sampling <= GOOD:
            return Verdict("offers come close to reading all data", "the noise is small")
        if self.noise_to_sampling <= BAD:
            return Verdict("offers work", "the noise can be felt", Severity.WARNING)
        why = "they may gain nothing over `protocol=Pool()`, which costs no privacy"
        return Verdict("the noise is above the signal", why, Severity.ALARM)

    @property
    def _budget(self) -> tuple[float, float, int]:
        return self.epsilon, self.delta, self.target_size

    def _advice(self) -> Iterable[Note]:
        if self.noise_to_sampling > GOOD:
            yield Note(
                f"An epsilon of {advised(self.least_epsilon)}, or a target of "
                f"{self.least_target_size} points at this epsilon, would make the noise small.",
                Severity.INFO,
            )
        if self.noise_to_sampling > BAD:
            yield Note("Rehearse offers and pool with `dpsumm compare`.", Severity.INFO)
        else:
            yield Note(
                "Try `protocol=Pool()` first if points like the target are common at the owners "
                "(a third or more). It costs no privacy.",
                Severity.INFO,
            )

    def _rows(self) -> list[tuple[str, str]]:
        expected = (
            f"about {self.ratio:.2f} times, {self.weighted_ratio:.2f} with weights; within a "
            f"factor of {self.spread:.2g} on data like those measured"
            if self.measured
            else f"at least {self.ratio:.2f} times, and possibly many times: no experiment covers "
            f"this (reads_per_record 2 to 16, 512 features or more, noise below {MOST_NOISE:g})"
        )
        return [
            ("noise in a point's score", f"{self.score_noise:.4f} (scores lie in [-1, 1])"),
            (
                "against sampling error",
                f"{self.noise_to_sampling:.2f} (below {GOOD:g} it is small, above {BAD:g} it "
                "decides)",
            ),
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
            ratios = [
                _ratio(
                    self.reads_per_record, noise_to_sampling(z, m, self.sensitivity), BASE, SCALE
                )
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
    """
    for value, name, least in ((target_size, "target_size", 2), (size, "size", 1)):
        check_whole(value, name, least)
        check_number(value, name, least, 1e12)
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
    return PointsPlan(
        target_size=target_size,
        size=size,
        epsilon=epsilon,
        delta=delta,
        reads_per_record=reads_per_record,
        noise_multiplier=multiplier,
        landmarks=landmarks,
        sensitivity=sensitivity,
        score_noise=sensitivity * multiplier / target_size,
        noise_to_sampling=relative,
        ratio=_ratio(reads_per_record, relative, BASE, SCALE),
        weighted_ratio=_ratio(reads_per_record, relative, WEIGHTED_BASE, WEIGHTED_SCALE),
        reads=math.ceil(reads_per_record * size),
        n_features=n_features,
        broadcast_bytes=8 * n_features,
        # The multiplier at which the noise is just GOOD, and what it guarantees.
        least_epsilon=accounting.compose(
            [(Gaussian(GOOD * math.sqrt(target_size) / sensitivity), 1)], delta
        ),
        least_target_size=math.ceil((sensitivity * multiplier / GOOD) ** 2),
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


def _ratio(
    reads_per_record: float, noise: float, base: tuple[float, ...], scale: tuple[float, ...]
) -> float:
    """Return base + (noise / scale)**2, between the numbers of reads measured by their logarithms.

    Beyond them as the nearest, beyond the noise measured as at that.
    """
    place = math.log(reads_per_record)
    places = [math.log(measured) for measured in READS_PER_RECORD]
    least = math.exp(np.interp(place, places, np.log(base)))
    unit = math.exp(np.interp(place, places, np.log(scale)))
    return least + (min(noise, MOST_NOISE) / unit) ** 2
