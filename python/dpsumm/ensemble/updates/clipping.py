"""A party's vector in a round has the moments of the public model's errors, at bounded length.

Claim
    Whole owner: every vector that `owner_vector` returns has ``|q| <= LEVELS`` in L2, in integers,
    whatever records, model and clip are. One party replaced moves the sum of all by at most ``2
    LEVELS``. One that is absent, empty or has no usable record is the zero vector, so that its
    coming or going moves it by ``LEVELS``.
    One record: a record that takes another's place moves what `records_vector` returns by at most
    ``2 LEVELS + 2 sqrt(size)``, size = (m + 1) K.
Argument
    Whole owner: entries are cut towards zero, which lengthens no vector. The length is then looked
    at in integers, and shrunk until it holds, so float error does not matter.
    One record: its part is ``g a (y - p)'``, a matrix of rank one, whose length is the product of
    two. It is cut to LEVELS. Blocks of at most 2**14 records are summed in floats and rounded once.
    A record is in the block of its place, usable or not, so that one block changes, and no other
    record's part does. The block's exact sum moves by at most 2 LEVELS. Rounding moves each entry
    of the difference by at most 1, sqrt(size) in all. Float error is at most ``n**2 2**-53 LEVELS
    <= 2**-5`` in an entry for n = 2**14 (Higham 2002, section 4.2), of either sum: below 1 in each
    difference, for which the second sqrt(size) is.
Assumes
    The model, the clip and the gains are functions of public numbers and earlier releases. A
    record's features do not depend on the other records: `party.Updater` makes them of all rows
    that the party has, since a product's last bits may depend on how many rows it has.
Tested by
    tests/ensemble/test_update_vectors.py, tests/release
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpsumm.ensemble.students.plain import softmax_of
from dpsumm.privacy.events import Unit
from dpsumm.privacy.release import Bound

# Length of a vector, in integer steps; of the clip in the units of the features.
LEVELS = 2**20
# Records that are summed in floats before they are rounded.
BLOCK = 2**14
# A class's public share, at least, where records are weighted by it.
_RARE = 1e-4

Array = NDArray[np.float64]


def bound_of(unit: Unit, size: int) -> Bound:
    """Return by how much one unit of the data moves a round's sum of (m + 1) K = size integers."""
    if unit is Unit.WHOLE_OWNER:
        return Bound(2.0 * LEVELS, unit)
    return Bound((2.0 * LEVELS + 2.0 * math.sqrt(size)) * (1 + 1e-12), unit)


def owner_vector(
    a: Array, y: Array, weights: Array, gains: Array, clip: float, shares: Array
) -> NDArray[np.int64]:
    """Return the mean of all records' moments, cut to the clip, in steps of clip / LEVELS.

    Parameters
    ----------
    a : (n, m + 1)
        Features, a constant first. Rows that are not finite are left out.
    y : (n, K)
        Labels, one-hot. A row of zeros for one that is not listed, which is left out. If none is
        listed all classes count as equally likely. From silence the curator would conclude that the
        model of the round is right.
    weights : (m + 1, K)
        Of the public model.
    gains : (m + 1,)
        Public factors of the features.
    shares : (K,)
        Of the classes, by the public model: a record weighs the root of its class's share over
        its share at this party, since a few classes would otherwise take the whole length.
    """
    nothing = np.zeros(weights.shape, dtype=np.int64)
    with np.errstate(all="ignore"):
        if not y.any():
            y = np.full_like(y, 1 / y.shape[1])
        missed = y - softmax_of(a @ weights)
        usable = np.isfinite(a).all(1) & np.isfinite(missed).all(1) & (y.sum(1) > 0)
        if not usable.any():
            return nothing
        a, y, missed = a[usable], y[usable], missed[usable]
        weight = y @ np.sqrt(np.maximum(shares, _RARE) / np.maximum(y.mean(0), 1e-9))
        mean = (a * gains).T @ (missed * (weight / weight.sum())[:, None])
        length = float(np.linalg.norm(mean))
    if not math.isfinite(length):
        return nothing
    return truncated(mean * (LEVELS / max(length, clip)))


def records_vector(
    a: Array, y: Array, weights: Array, gains: Array, clip: float
) -> NDArray[np.int64]:
    """Return the sum of all records' moments, each cut to the clip, in steps of clip / LEVELS.

    `a` and `y` have a row for each record that the party has, usable or not: a row's place says
    which block it is summed in. See `owner_vector` for the parameters.
    """
    total = np.zeros(weights.shape, dtype=np.int64)
    for start in range(0, len(a), BLOCK):
        block = slice(start, start + BLOCK)
        with np.errstate(all="ignore"):
            scaled, missed = a[block] * gains, y[block] - softmax_of(a[block] @ weights)
            length = np.linalg.norm(scaled, axis=1) * np.linalg.norm(missed, axis=1)
            usable = np.isfinite(length) & (y[block].sum(1) > 0)
            missed *= (LEVELS / np.maximum(length, clip))[:, None]
        total += np.rint(scaled[usable].T @ missed[usable]).astype(np.int64)
    return total


def truncated(vector: Array, levels: int = LEVELS) -> NDArray[np.int64]:
    """Return a vector's entries cut towards zero to integers, of length at most `levels`.

    Examples
    --------
    >>> truncated(np.array([3.9, -4.9]), levels=5).tolist()
    [3, -4]
    """
    cut = np.trunc(vector).astype(np.int64)
    while (square := int((cut * cut).sum())) > levels**2:
        cut = np.trunc(cut * (levels / math.sqrt(square) * (1 - 2**-30))).astype(np.int64)
    return cut
