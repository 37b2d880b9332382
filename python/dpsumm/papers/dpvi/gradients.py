"""The secret part of a step: responsibilities, norms, clipping, and the sum of gradients.

Per record, in unconstrained coordinates: ``g_pi = r - pi`` and ``g_theta_k = r_k (x - theta_k)``.
So ``|g|**2 = |r - pi|**2 + sum_k r_k**2 s_k`` with ``s_k`` a sum over owners of what each computes
alone. The secure computation needs r, one norm and one factor. The paper's tensor of derivatives
never exists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpsumm.papers.dpvi import fixed

Floats = NDArray[np.float64]
Arithmetic = Literal["float", "mended", "published", "plain"]

# Nats below its own best component at which an owner cuts a density: two owners' products stay
# above exp(-16), where the reciprocal is right.
FLOOR = 8.0
# To which the paper's Algorithm 4 raises an owner's largest log density; it does not say.
RAISED = -5.0


@dataclass(frozen=True, eq=False)
class Part:
    """One owner's numbers of some records, for each component.

    Attributes
    ----------
    logs : (B, K)
        Log density of its columns.
    squares : (B, K)
        Squared distance of its one-hot rows from its shares.
    """

    logs: Floats
    squares: Floats


def responsibilities(parts: Sequence[Part], pi: Floats) -> Floats:
    """Return the chances of the components given the records, (B, K), in floats."""
    return softmax(np.sum([part.logs for part in parts], axis=0) + np.log(pi))


def softmax(values: Floats) -> Floats:
    """Return shares that add up to 1 along the last axis."""
    shares = np.exp(values - values.max(axis=-1, keepdims=True))
    found: Floats = shares / shares.sum(axis=-1, keepdims=True)
    return found


def clip_factors(r: Floats, parts: Sequence[Part], pi: Floats, clip: float) -> Floats:
    """Return what each record's gradient is multiplied by, so that its norm is at most `clip`."""
    squares = np.sum([part.squares for part in parts], axis=0)
    norms = np.sqrt(((r - pi) ** 2).sum(axis=1) + (r * r * squares).sum(axis=1))
    factors: Floats = 1 / np.maximum(1.0, norms / clip)
    return factors


def in_fixed(
    parts: Sequence[Part], pi: Floats, clip: float, arithmetic: Arithmetic
) -> tuple[Floats, Floats, int]:
    """Return the same two in fixed point, and how many records had a density of 0.

    With ``"mended"`` an owner takes its own largest log density off and cuts at ``-FLOOR``, so that
    the sum over components stays above 0. ``"published"`` (Algorithm 4): it raises its largest one
    to a threshold. Owners that prefer different components then multiply to 0. ``"plain"``:
    densities as they are, which vanish for most records of many columns.
    """
    product = None
    for part in parts:
        top = part.logs.max(axis=1, keepdims=True)
        logs = part.logs
        if arithmetic == "mended":
            logs = np.maximum(logs - top, -FLOOR)
        elif arithmetic == "published":
            logs = logs + np.maximum(0.0, RAISED - top)
        density = fixed.to_fixed(np.exp(logs))
        product = density if product is None else fixed.multiply(product, density)
    assert product is not None
    weighted = fixed.multiply(product, fixed.to_fixed(pi)[None, :])
    total = weighted.sum(axis=1)
    r = fixed.multiply(weighted, fixed.reciprocal(total)[:, None])
    apart = r - fixed.to_fixed(pi)
    squares = fixed.to_fixed(np.sum([part.squares for part in parts], axis=0))
    norm = fixed.multiply(apart, apart).sum(axis=1)
    norm += fixed.multiply(fixed.multiply(r, r), squares).sum(axis=1)
    limit = fixed.to_fixed(clip)
    shrunk = fixed.multiply(limit, fixed.inverse_root(np.maximum(norm, fixed.to_fixed(1e-3))))
    factors = np.where(norm > fixed.to_fixed(clip * clip), shrunk, fixed.ONE)
    return (
        fixed.to_float(r),
        fixed.to_float(np.minimum(factors, fixed.ONE)),
        int((total == 0).sum()),
    )
