"""Run audits: measure the claims, catch the twins, refuse an audit that could not fail."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext

import numpy as np

from dpsumm.audit.audit import Audit, Found, Outcome, Sampled, Twin
from dpsumm.audit.bound import ceiling, lower_bound
from dpsumm.audit.changed_noise import half_the_noise
from dpsumm.audit.suite import audits
from dpsumm.audit.witness import Search
from dpsumm.basics.checks import check_installed
from dpsumm.errors import InvalidParameterError

# An audit that could not measure this many times its claim proves too little by holding.
LEAST_CEILING = 1.5


def run_audits(
    *,
    quick: bool = False,
    seed: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> list[Outcome]:
    """Run the suite and return its outcomes.

    Parameters
    ----------
    quick
        A fraction of the trials for the claims: about a minute instead of some minutes. Twins are
        caught all the same. Claims are held to weaker bounds.
    seed
        Of the made-up data. Noise and coins always come from the operating system: they are what
        is audited.
    progress
        Called with (stage, done, total).

    Raises
    ------
    InvalidParameterError
        An audit could not fail, or has no twin. Before anything is run.
    MissingExtraError
        SciPy is not installed.

    See Also
    --------
    dpsumm.audit.Outcome : The outcome of each.
    dpsumm.audit.lower_bound : The bound that an audit measures.

    Examples
    --------
    About a minute of one processor:

    >>> from dpsumm.audit import run_audits
    >>> outcomes = run_audits(quick=True)  # doctest: +SKIP
    >>> all(outcome.passed for outcome in outcomes)  # doctest: +SKIP
    True
    """
    check_installed("scipy", "audits need", "learn")
    rng = np.random.default_rng(seed)
    suite = audits()
    limits = [limits_of(audit, quick=quick) for audit in suite]
    outcomes = []
    for i, (audit, (claimed, most)) in enumerate(zip(suite, limits, strict=True)):
        found = _find(audit, audit.subject, claimed, trials_of(audit, quick=quick), rng)
        caught = tuple(_caught(audit, twin, claimed, rng) for twin in audit.twins)
        outcomes.append(Outcome(audit, claimed, most, found, caught))
        if progress is not None:
            progress("audits", i + 1, len(suite))
    return outcomes


def trials_of(audit: Audit, *, quick: bool) -> int:
    """Return the trials of an audit's claim."""
    return audit.quick_trials if quick else audit.trials


def limits_of(audit: Audit, *, quick: bool) -> tuple[float | None, float | None]:
    """Return an audit's claim and ceiling, None of a search.

    Raises
    ------
    InvalidParameterError
        The audit could not fail: it has no twin, a twin gets more trials than the claim, or the
        ceiling is below `LEAST_CEILING` times the claim, in quick mode even.
    """
    most = max((twin.trials or audit.quick_trials for twin in audit.twins), default=math.inf)
    if not most <= audit.quick_trials <= audit.trials:
        raise InvalidParameterError(
            f"audit {audit.name!r}: needs a twin, and at least as many trials as each twin has"
        )
    if isinstance(audit.subject, Search):
        return None, None
    claimed = audit.subject.claimed(audit.delta)
    least = ceiling(audit.quick_trials, audit.delta)
    if not 0 < claimed * LEAST_CEILING <= least:
        raise InvalidParameterError(
            f"audit {audit.name!r}: {audit.quick_trials} trials measure at most {least:.3f}, too "
            f"little for a claim of {claimed:.3f}. Raise quick_trials or claim less"
        )
    return claimed, ceiling(trials_of(audit, quick=quick), audit.delta)


def _caught(audit: Audit, twin: Twin, claimed: float | None, rng: np.random.Generator) -> Found:
    with half_the_noise() if twin.halved else nullcontext():
        return _find(audit, twin.subject, claimed, twin.trials or audit.quick_trials, rng)


def _find(
    audit: Audit,
    subject: Sampled | Search,
    claimed: float | None,
    trials: int,
    rng: np.random.Generator,
) -> Found:
    if isinstance(subject, Search):
        witness = subject.find(rng, trials)
        return Found(None, witness, trials, witness is not None)
    assert claimed is not None
    first, second = (subject.scores(world, trials) for world in (0, 1))
    measured = lower_bound(first, second, audit.delta).epsilon
    return Found(measured, None, trials, measured > claimed)
