"""DP variational inference of a mixture of products: the paper's method, corrected, in one process.

Tajeddine, Jälkö, Kaski and Honkela, *Privacy-preserving data sharing on vertically partitioned
data*. A reference to compare with, never the default. ``docs/paper-rows.md`` lists the corrections.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.checks import check_number, check_whole
from dpsumm.data.extract import Source
from dpsumm.data.schema import Schema
from dpsumm.errors import InvalidDataError, InvalidParameterError
from dpsumm.papers.dpvi import fixed
from dpsumm.papers.dpvi.figures import MARGIN, VPDP, Stated, stated_figures
from dpsumm.papers.dpvi.gradients import (
    Arithmetic,
    Floats,
    Part,
    clip_factors,
    in_fixed,
    responsibilities,
    softmax,
)
from dpsumm.privacy import accounting
from dpsumm.privacy.release import Bound, PaidNoise, Query
from dpsumm.privacy.seeds import check_seed
from dpsumm.vertical.agreed import Agreed
from dpsumm.vertical.inputs import read_held
from dpsumm.vertical.levels import USUAL_BINS, Bins
from dpsumm.vertical.model import Mixture

# Of the paper's section 6: UCI Adult's complete rows, batches of 100.
_PAPER_ROWS, _PAPER_BATCH, _PAPER_SIGMA = 30_162, 100, 2.042
_DECAY = (0.9, 0.999)
# Averaged at the end: the last fifth of the steps.
_AVERAGED = 0.8


@dataclass(frozen=True, eq=False)
class Inferred:
    """A trained mixture.

    Attributes
    ----------
    model
        Rows are drawn from it. Its `chi2` is NaN.
    privacy
        Towards analyst and owners.
    clipped
        Share of gradients that were clipped. Exact, so not for release.
    zeros
        Records, over all steps, whose density came out as 0 in fixed point. Not for release either.
    """

    model: Mixture
    privacy: VPDP
    clipped: float
    zeros: int


@dataclass(frozen=True)
class Dpvi:
    """The paper's method with public parameters.

    Parameters
    ----------
    components
        K, products of the mixture.
    steps, sample
        Steps, and the chance of a record to be in each (Poisson). 1: all records in every step,
        where nothing depends on who knows the batches.
    clip
        C, the largest norm of a record's gradient.
    noise_multiplier
        Standard deviation of each owner's noise, over C.
    rate
        Of Adam.
    batches_known
        Owners learn the batches, as in the paper. Then sampling hides nothing from them.
    arithmetic
        ``"float"``; ``"mended"``, fixed point as secure computation has it; ``"published"``, the
        same with the paper's renormalisation; ``"plain"``, the same without any.
    """

    components: int = 20
    steps: int = 80
    sample: float = 1.0
    clip: float = 1.0
    noise_multiplier: float = 70.0
    rate: float = 0.2
    batches_known: bool = True
    arithmetic: Arithmetic = "float"

    def __post_init__(self) -> None:
        """Check the ranges."""
        check_whole(self.components, "components", 1, 1000)
        check_whole(self.steps, "steps", 1, 10**6)
        for name, low, high in (
            ("sample", 1e-6, 1.0),
            ("clip", 1e-3, 100.0),
            ("noise_multiplier", 1e-3, 1e4),
            ("rate", 1e-6, 10.0),
        ):
            check_number(getattr(self, name), name, low, high)
        if self.clip * self.noise_multiplier * fixed.UNIT > 2.0**40:
            raise InvalidParameterError(
                "clip * noise_multiplier must be at most 256: noise is drawn in units of 2**-32"
            )
        if self.arithmetic not in get_args(Arithmetic):
            raise InvalidParameterError(
                f"arithmetic must be one of {get_args(Arithmetic)}, got {self.arithmetic!r}"
            )

    @classmethod
    def for_budget(cls, epsilon: float, delta: float = 1e-5, *, steps: int = 80) -> Dpvi:
        """Return all records in every step, with noise for (epsilon, delta) towards an owner.

        An owner knows its own noise, so each owner's alone gives the guarantee. The analyst, who
        knows none, learns less.
        """
        each = accounting.gaussian_noise_multiplier(epsilon, delta)
        return cls(steps=steps, noise_multiplier=2 * MARGIN * math.sqrt(steps) * each * (1 + 1e-9))

    @classmethod
    def published(cls, owners: int = 2) -> Dpvi:
        """Return the parameters of the paper's section 6. See `stated` for their figures.

        Its noise 2.042 is of all owners together.
        """
        return cls(
            steps=20_000,
            sample=_PAPER_BATCH / _PAPER_ROWS,
            noise_multiplier=_PAPER_SIGMA / math.sqrt(owners),
            rate=0.01,
            arithmetic="published",
        )

    @staticmethod
    def stated(owners: int = 2, delta: float = 1e-5) -> tuple[Stated, ...]:
        """Return what the paper states of its section 6, next to what holds."""
        sample = _PAPER_BATCH / _PAPER_ROWS
        return stated_figures(_PAPER_SIGMA, 20_000, sample, owners, delta)

    def privacy(self, owners: int, *, seeded: bool = False) -> VPDP:
        """Return the guarantees among so many owners."""
        return VPDP(
            owners, self.noise_multiplier, self.steps, self.sample, self.batches_known, seeded
        )

    def fit(
        self,
        owners: Mapping[str, Source],
        *,
        schema: Mapping[str, Schema],
        bins: Bins = USUAL_BINS,
        ids: str | None = None,
        seed: int | None = None,
    ) -> Inferred:
        """Train on owners' columns. See `dpsumm.synthesize` for the parameters. No ledger.

        Privacy
        -------
        `privacy` has the guarantees by observer, if gradients are summed and batches drawn
        secretly. Here both are simulated, so this is a reference and not for release.
        """
        agreed = Agreed.of({name: schema[name] for name in owners}, bins, ids, None)
        held = [
            read_held(source, name, agreed.schemas[name], agreed.levels[name], ids)
            for name, source in owners.items()
        ]
        if len({(len(one.codes), one.identifiers) for one in held}) > 1:
            raise InvalidDataError("owners: all need the same records. Intersect them first")
        check_seed(seed)
        codes = np.hstack([one.codes for one in held]).astype(np.int64)
        layout = agreed.layout
        parts = [layout.of_owner(p) for p in range(len(layout.owners))]
        return Training(self, codes, layout.sizes, parts, seed).run()


class Training:
    """The state of one training: a normal distribution over all unconstrained parameters."""

    def __init__(
        self,
        method: Dpvi,
        codes: NDArray[np.int64],
        sizes: tuple[int, ...],
        owners: list[list[int]],
        seed: int | None,
    ) -> None:
        self.method, self.sizes, self.owners = method, sizes, owners
        self._seed = seed
        self._rng = np.random.default_rng(secrets.randbits(256) if seed is None else seed)
        self.starts = np.concatenate([[0], np.cumsum(sizes)])
        self.rows = np.zeros((len(codes), int(self.starts[-1])))
        np.put_along_axis(self.rows, codes + self.starts[:-1], 1.0, axis=1)
        k, width = method.components, self.rows.shape[1]
        first = self._rng.normal(0, 0.5, k * width)
        self.mean = np.concatenate([np.zeros(k), first])
        self.log_std = np.full(k + k * width, -3.0)
        self._adam = [_Adam(len(self.mean)) for _ in range(2)]
        self._draws = self.zeros = 0
        self._clipped = self._seen = 0.0

    def run(self) -> Inferred:
        """Take all steps, average the last."""
        total, count = np.zeros_like(self.mean), 0
        for step in range(self.method.steps):
            self._step(step)
            if step >= _AVERAGED * self.method.steps:
                total, count = total + self.mean, count + 1
        pi, theta = self._shares(total / count)
        model = Mixture(pi, np.maximum(theta, 1e-12), self.sizes, self.method.steps, math.nan)
        privacy = self.method.privacy(len(self.owners), seeded=self._seed is not None)
        return Inferred(model, privacy, self._clipped / max(self._seen, 1.0), self.zeros)

    def _step(self, step: int) -> None:
        method, n = self.method, len(self.rows)
        batch = self.rows
        if method.sample < 1:
            batch = self.rows[self._rng.random(n) < method.sample]
        eta = self._rng.normal(size=len(self.mean))
        pi, theta = self._shares(self.mean + np.exp(self.log_std) * eta)
        gradient = self._noisy_sum(batch, pi, theta)
        # Post-processing from here on. A batch stands for 1 / sample as many records; the prior, a
        # uniform Dirichlet distribution, counts once.
        blocks = np.repeat(np.array(self.sizes, np.float64), self.sizes)
        prior = np.concatenate([1 - method.components * pi, (1 - blocks * theta).ravel()])
        ascent = (gradient / method.sample + prior) / n
        spread = ascent * eta * np.exp(self.log_std) + 1 / n  # with the entropy's gradient
        rate = method.rate * min(1.0, 2 * (1 - step / method.steps) + 0.02)
        self.mean += self._adam[0].step(ascent, rate)
        self.log_std += self._adam[1].step(spread, rate)
        np.clip(self.log_std, -8, 0, out=self.log_std)

    def _noisy_sum(self, batch: Floats, pi: Floats, theta: Floats) -> Floats:
        """Return the sum of clipped gradients with all owners' noise: all that anybody sees."""
        method = self.method
        parts = [self._part(batch, theta, columns) for columns in self.owners]
        if method.arithmetic == "float":
            r = responsibilities(parts, pi)
            factors = clip_factors(r, parts, pi, method.clip)
        else:
            r, factors, zeros = in_fixed(parts, pi, method.clip, method.arithmetic)
            self.zeros += zeros
        self._clipped += float((factors < 1).sum())
        self._seen += len(batch)
        weighted = r * factors[:, None]
        totals = weighted.sum(axis=0)
        of_pi = totals - factors.sum() * pi
        of_theta = weighted.T @ batch - totals[:, None] * theta
        total = fixed.to_fixed(np.concatenate([of_pi, of_theta.ravel()]))
        std = method.clip * method.noise_multiplier * fixed.UNIT
        for _ in self.owners:
            total = PaidNoise([Query.with_std(Bound(1.0), std, seed=self._noise_seed())]).on(total)
        return fixed.to_float(total)

    def _noise_seed(self) -> int | None:
        if self._seed is None:
            return None
        self._draws += 1
        return int(
            np.random.SeedSequence([self._seed, self._draws]).generate_state(1, np.uint64)[0]
        )

    def _part(self, batch: Floats, theta: Floats, columns: list[int]) -> Part:
        place = np.concatenate([np.arange(self.starts[j], self.starts[j + 1]) for j in columns])
        rows, shares = batch[:, place], theta[:, place]
        logs = rows @ np.log(np.maximum(shares, 1e-300)).T
        squares = len(columns) + (shares**2).sum(axis=1) - 2 * (rows @ shares.T)
        return Part(logs, squares)

    def _shares(self, values: Floats) -> tuple[Floats, Floats]:
        k = self.method.components
        z = values[k:].reshape(k, -1)
        blocks = [
            softmax(z[:, a:b]) for a, b in zip(self.starts[:-1], self.starts[1:], strict=True)
        ]
        return softmax(values[:k]), np.hstack(blocks)


class _Adam:
    """Steps of Adam."""

    def __init__(self, size: int) -> None:
        self._first, self._second, self._done = np.zeros(size), np.zeros(size), 0

    def step(self, slope: Floats, rate: float) -> Floats:
        self._done += 1
        self._first = _DECAY[0] * self._first + (1 - _DECAY[0]) * slope
        self._second = _DECAY[1] * self._second + (1 - _DECAY[1]) * slope**2
        first = self._first / (1 - _DECAY[0] ** self._done)
        second = self._second / (1 - _DECAY[1] ** self._done)
        moved: Floats = rate * first / (np.sqrt(second) + 1e-10)
        return moved
