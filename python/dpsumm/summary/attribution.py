"""What an owner's points were worth, with noise, for that owner to see."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass

import numpy as np

from dpsumm.errors import InvalidParameterError
from dpsumm.privacy import accounting
from dpsumm.privacy.events import Approximate, Charge, Protected, Unit
from dpsumm.privacy.ledger import Ledger, OtherReleaseError
from dpsumm.privacy.release import annex
from dpsumm.report.notes import warn_of_epsilon
from dpsumm.summary.result import Summary

# Attribution is released on a grid of this many steps per unit.
_LEVELS = 2**20
# Below it the noise is wider than the core's integers.
_LEAST_EPSILON = 1e-6


@dataclass(frozen=True)
class NoisyAttribution:
    """Per owner a noisy value, to be sent to that owner alone, and what it cost.

    Attributes
    ----------
    values
        Owner name to value plus noise, in multiples of 2**-20. May be outside [0, 1].
    noise_scale
        Scale of the discrete Laplace noise: worth showing next to the value.
    charges
        What was charged, for the target and for the owners: on top of `Summary.privacy`, which does
        not know of it. The ledger has both.

    See Also
    --------
    dpsumm.summary.release_attribution : Makes one; its example runs.
    """

    values: dict[str, float]
    noise_scale: float
    charges: tuple[Charge, ...]


def release_attribution(
    summary: Summary,
    *,
    epsilon: float,
    ledger: Ledger,
    key: str | None = None,
    collected: bool = False,
    seed: int | None = None,
) -> NoisyAttribution:
    """Charge and return each owner's attribution with noise, for that owner.

    Parameters
    ----------
    summary
        Of any protocol.
    epsilon
        Nats, 1e-6 to 1e6: towards one owner, for everything the value depends on. Above 10 a
        warning tells its odds.
    ledger
        Charged before anything is returned: epsilon is added to what the ledger's run has spent.
        The run must be over if it is the summary's.
    key
        Name of the release within the ledger's run. By default ``"attribution"``, and
        ``"collected attribution"`` for those. The same summary under the same key gets the same
        values again, uncharged; what differs needs another key, and is charged as well.
    collected
        Release `Summary.collected_attribution`, over all points that owners sent, instead of
        `Summary.attribution`, over those that were chosen. Both together cost twice epsilon.
    seed
        Tests only: the charge is then infinite.

    Raises
    ------
    InvalidParameterError
        `epsilon` is out of range, the summary has no owners, or `key` was released for another
        summary (its run, its size, its owners or their order), for the other of the two values, or
        with another epsilon. Nothing is charged.
    BudgetExceededError
        A cap has no room for it. Nothing is charged.

    Privacy
    -------
    Claim: epsilon-DP for the target and for the other owners' data, whatever changes in them
    (record or whole data set), for one owner that sees its own value. Argument: a value is clipped
    to [0, 1], so nothing moves it by more than 1, and Laplace noise of scale ``1 / epsilon`` is
    added. No smaller sensitivity is claimed: which points are chosen is not stable. Numerics:
    integer noise on a grid. Tested by: tests/summary/test_attribution.py.

    See Also
    --------
    dpsumm.Summary : Has the values without noise, for the curator alone.
    dpsumm.summary.NoisyAttribution : What it returns.

    Examples
    --------
    >>> import numpy as np, dpsumm
    >>> from dpsumm.summary import release_attribution
    >>> rng = np.random.default_rng(0)
    >>> owners = {"near": rng.normal(1, 1, (200, 2)), "far": rng.normal(-3, 1, (200, 2))}
    >>> summary = dpsumm.summarize(
    ...     owners, rng.normal(1, 1, (300, 2)), size=20, kernel=dpsumm.RBF(0.25)
    ... )
    >>> with dpsumm.Ledger() as book:
    ...     noisy = release_attribution(summary, epsilon=2.0, ledger=book)
    ...     round(book.spent("target")[0], 6)
    2.0
    >>> sorted(noisy.values), noisy.noise_scale
    (['far', 'near'], 0.5)
    """
    accounting.check_epsilon(epsilon)
    if epsilon < _LEAST_EPSILON:
        raise InvalidParameterError(
            f"epsilon must be at least {_LEAST_EPSILON:g} for an attribution, got {epsilon!r}; no "
            "noise wider than that is drawn"
        )
    warn_of_epsilon(epsilon, stacklevel=2)
    # Not `Pure`, whose composition wants a plan that was fixed before the run began: this one is
    # decided on after it, so it is added to the run's figure (docs/privacy/accounting.md, Lemma C).
    event = Approximate(epsilon, 0.0)
    # It holds for every unit: the run's own keeps one unit to a ledger.
    unit = next((c.unit for c in summary.privacy.charges), Unit.REPLACE_RECORD)
    charges = tuple(
        annex.charge_of(protected, "noisy attribution", event, unit=unit, seeded=seed is not None)
        for protected in (Protected.TARGET, Protected.OWNERS)
    )
    exact = summary.collected_attribution if collected else summary.attribution
    key = key or ("collected attribution" if collected else "attribution")
    if not exact:
        raise InvalidParameterError("summary has no owners")
    clipped = np.clip(np.array(list(exact.values())), 0.0, 1.0)

    def draw() -> bytes:
        steps = np.rint(clipped * _LEVELS).astype(np.int64)
        scale = math.nextafter(_LEVELS / epsilon, math.inf)  # a division may round down
        noise = annex.discrete_laplace(scale, len(steps), seed)
        noisy: bytes = (steps + noise).astype("<i8").tobytes()
        return noisy

    try:
        bound = _binding(summary, collected)
        noisy = annex.release("attribution", ledger, key, charges, draw, binding=bound)
    except OtherReleaseError:
        raise InvalidParameterError(
            f"key: run {ledger.run!r} of the ledger has released {key!r} of another summary, of "
            "other owners or in another order, with another epsilon or collected, or before dpsumm "
            "kept whose values they are; give this one a key of its own, under which it is charged "
            "as well"
        ) from None
    released = np.frombuffer(noisy, dtype="<i8")
    values = dict(zip(exact, (released / _LEVELS).tolist(), strict=True))
    return NoisyAttribution(values, 1.0 / epsilon, charges)


def _binding(summary: Summary, collected: bool) -> str:
    """Return a digest of whose values a release holds, of public facts alone.

    A release is numbers without names: under other names they would be other owners' numbers, each
    of which is charged for one owner.
    """
    facts = [summary.run, list(summary.names), len(summary), collected]
    if summary.ledger is None:  # then a run's name is not unique, and no run is resumed
        facts.append(None if summary.finished is None else summary.finished.isoformat())
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()
