"""The paper's output perturbation of a regularised student, with its constants.

J. Hamm, Y. Cao, M. Belkin: *Learning privately from multiparty data*, ICML 2016. Algorithm 1 with
Theorem 1: the student learns the parties' majority labels. Algorithm 2 with Theorem 3: it learns
their soft votes. Both release the minimiser with noise on its parameters. ``docs/paper-learn.md``
shows which constants are too large, and why `dpsumm.learn` differs.

**Not private** in spite of the theorems. Noise and minimiser are floating-point numbers, and their
last bits depend on the data (Mironov 2012). For research, on data that may be seen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpsumm.basics.checks import check_number
from dpsumm.data.inputs import Source
from dpsumm.data.short import SchemaLike, schema_of
from dpsumm.ensemble.inputs import Space, read_parties
from dpsumm.ensemble.messages import Votes, VoteTask
from dpsumm.ensemble.students.bases import inside
from dpsumm.ensemble.students.student import Array, chances_of
from dpsumm.ensemble.terms import Terms
from dpsumm.privacy import accounting
from dpsumm.privacy.events import NonPrivate
from dpsumm.privacy.seeds import check_seed

# Gradient norm at which the solver stops, relative to 1 + ||W||; and what rounding may hide of one.
_TAU, _HIDDEN = 1e-9, 1e-12


@dataclass(frozen=True, eq=False)
class Published:
    """A model of :func:`published`, with what the theorems say of it.

    Attributes
    ----------
    classes_ : (K,)
        Labels, ascending.
    weights : (d + 1, K), or (d + 1, 1) for two classes
        With noise. The last row is the constant feature's.
    sensitivity
        L2, of all weights together, that the noise is for.
    tau
        Certified norm of the gradient at the solver's answer, which the sensitivity includes if the
        constants are exact: the minimiser is within ``tau / lam`` of it.
    event
        Its cost in a ledger. No guarantee, because of floating point.

    See Also
    --------
    dpsumm.papers.hamm.published : Makes one. Its example runs.
    """

    classes_: NDArray[Any]
    weights: Array = field(repr=False)
    sensitivity: float
    tau: float
    event: NonPrivate
    _radius: float = field(repr=False)
    _space: Space = field(repr=False)

    def predict(self, points: Source) -> NDArray[Any]:
        """Return the most probable class of each point, (n,)."""
        chosen: NDArray[Any] = self.classes_[self.predict_proba(points).argmax(1)]
        return chosen

    def predict_proba(self, points: Source) -> Array:
        """Return probabilities of the classes, (n, K)."""
        x = inside(self._space.points(points, "points"), self._radius)
        return chances_of(softmax(x @ self.weights))


def published(
    parties: Mapping[str, Any] | Sequence[Any],
    public_points: Source,
    *,
    classes: ArrayLike,
    epsilon: float,
    lam: float,
    majority: bool = False,
    exact: bool = False,
    delta: float | None = None,
    learner: Any = None,
    schema: SchemaLike | None = None,
    seed: int | None = None,
) -> Published:
    """Return the paper's student, with noise on its weights. **Not private**: floating point.

    Parameters
    ----------
    parties, public_points, classes, learner, schema
        As for :func:`dpsumm.learn`.
    epsilon
        What the noise is calibrated to.
    lam
        Regularisation, from 1e-6 up. Must not be chosen by looking at the result on private data.
    majority
        Algorithm 1, on the majority's labels. Otherwise Algorithm 2, on soft votes.
    exact
        With the exact sensitivities instead of the published ones, see :func:`sensitivity_of`.
    delta
        Gaussian noise at (epsilon, delta) instead of the paper's, which is for delta = 0.
    seed
        Repeats the noise.

    See Also
    --------
    dpsumm.learn : What this package does instead.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsumm.papers import published
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(300, 30, 2))
    >>> parties = [(points, (points[:, 0] > 0).astype(int)) for points in x]
    >>> made = published(
    ...     parties, rng.normal(size=(1000, 2)), classes=[0, 1], epsilon=10, lam=0.1, seed=0
    ... )
    >>> made.event.reason[:14], made.sensitivity  # 2 / (M lam)
    ('floating point', 0.0666...)
    """
    accounting.check_epsilon(epsilon)
    check_number(lam, "lam", 1e-6, 1e6, "1e-3 to 1")
    check_seed(seed)
    given = read_parties(
        parties,
        public_points,
        schema=None if schema is None else schema_of(schema),
    )
    terms = Terms.of(given.points, classes, len(given.names))
    shares = np.zeros((terms.n_points, terms.n_classes))
    task = VoteTask("published", terms, given.points)
    for party in given.roles(terms, learner, seed, declared=False).values():
        answer = party.answer(task)
        assert isinstance(answer, Votes)
        shares += answer.votes
    shares /= terms.n_parties
    if majority:
        shares = np.eye(terms.n_classes)[shares.argmax(1)]
    targets = shares[:, 1:] if terms.n_classes == 2 else shares
    radius = float(np.linalg.norm(given.points, axis=1).max()) or 1.0
    weights, tau = minimise(inside(given.points, radius), targets, lam)
    sensitivity = sensitivity_of(
        lam,
        None if majority else terms.n_parties,
        terms.n_classes,
        exact=exact,
        tau=tau if exact else 0.0,
    )
    noise = perturbation(weights.shape, sensitivity, epsilon, delta, np.random.default_rng(seed))
    return Published(
        classes_=terms.labels,
        weights=weights + noise,
        sensitivity=sensitivity,
        tau=tau,
        event=NonPrivate("floating point: the last bits of weights and noise tell of the data"),
        _radius=radius,
        _space=given.space,
    )


def sensitivity_of(
    lam: float, n_parties: int | None, n_classes: int, *, exact: bool, tau: float = 0.0
) -> float:
    """Return how far one party moves the weights, in L2, all together.

    Published: ``2 / lam`` for majority labels (`n_parties` None), ``2 / (M lam)`` for soft votes.
    Exact, for the logistic and the softmax loss: ``unit / lam`` and ``unit / (M lam)``, unit 1 for
    two classes and sqrt(2) for more, since gradients of two labels differ by at most that. For
    majority labels no more than ``2 sqrt(2 ln(K) / lam)``, since lam/2 ||W||^2 <= ln K. And what
    the solver left, twice ``tau / lam``.
    """
    share = lam * (1 if n_parties is None else n_parties)
    if not exact:
        return 2 / share
    bound = (1.0 if n_classes == 2 else math.sqrt(2)) / share
    if n_parties is None:
        bound = min(bound, 2 * math.sqrt(2 * math.log(n_classes) / lam))
    return bound + 2 * tau / lam


def perturbation(
    shape: tuple[int, ...],
    sensitivity: float,
    epsilon: float,
    delta: float | None,
    rng: np.random.Generator,
) -> Array:
    """Return noise for an L2 sensitivity, by uniform direction and Gamma radius, or Gaussian."""
    if delta is not None:
        multiplier = accounting.gaussian_noise_multiplier(epsilon, delta)
        return rng.normal(0.0, multiplier * sensitivity, shape)
    direction = rng.normal(size=shape)
    radius = rng.gamma(direction.size, sensitivity / epsilon)
    return np.asarray(direction / np.linalg.norm(direction) * radius)


def softmax(z: Array) -> Array:
    """Return probabilities of the second class, (n, 1), or of all."""
    if z.shape[1] == 1:
        return np.asarray(0.5 * (1 + np.tanh(z / 2)))
    powers = np.exp(z - z.max(1, keepdims=True))
    return np.asarray(powers / powers.sum(1, keepdims=True))


def minimise(x: Array, targets: Array, lam: float) -> tuple[Array, float]:
    """Return the minimiser of the regularised likelihood, and its certified gradient norm.

    ``mean logsumexp(x W) - <W, x' targets / n> + lam/2 ||W||^2``, by damped Newton steps from 0.
    There is no limit of steps, because stopping early would depend on the data.
    """
    n, d = x.shape
    columns = targets.shape[1]
    s = x.T @ targets / n

    def value(w: Array) -> float:
        z = x @ w
        top = np.maximum(z.max(1), 0.0) if columns == 1 else z.max(1)
        powers = np.exp(z - top[:, None]).sum(1) + (np.exp(-top) if columns == 1 else 0.0)
        return float((np.log(powers) + top).mean() - (w * s).sum() + lam / 2 * (w * w).sum())

    w = np.zeros((d, columns))
    while True:
        chances = softmax(x @ w)
        gradient = x.T @ chances / n - s + lam * w
        size = 1 + float(np.linalg.norm(w))
        tau = float(np.linalg.norm(gradient))
        if tau <= _TAU * size:
            return w, tau + _HIDDEN * size
        hessian = np.zeros((columns, d, columns, d))
        for a in range(columns):
            for b in range(a, columns):
                p = chances[:, a] * ((a == b) - chances[:, b])
                hessian[a, :, b, :] = hessian[b, :, a, :] = (x * p[:, None]).T @ x / n
        matrix = hessian.reshape(columns * d, columns * d) + lam * np.eye(columns * d)
        step = np.linalg.solve(matrix, gradient.T.ravel()).reshape(columns, d).T
        slope, length, before = float((gradient * step).sum()), 1.0, value(w)
        # Near the minimum the value is flat to its last bits; a whole step is right there.
        while value(w - length * step) > before - length * slope / 4 + 1e-14 * abs(before):
            length /= 2
            if length < 1e-10:
                length = 1.0
                break
        w = w - length * step
