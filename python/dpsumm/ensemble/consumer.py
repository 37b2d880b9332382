"""The consumer of a vote: has the points, receives noisy votes, learns as often as it likes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpsumm.ensemble.messages import NoisyVotes
from dpsumm.ensemble.students.bases import Neighbours
from dpsumm.ensemble.students.choose import Judged, Validation, choose
from dpsumm.ensemble.students.plain import Plain
from dpsumm.ensemble.students.student import Candidate, Fitted, Student
from dpsumm.ensemble.terms import Terms
from dpsumm.errors import ProtocolError


class Consumer:
    """Everything it does after `receive` is post-processing.

    Parameters
    ----------
    points : (N, d) float64
        The public points.
    """

    def __init__(self, points: NDArray[np.float64], terms: Terms) -> None:
        self.points, self.terms = points, terms
        self._votes: NoisyVotes | None = None

    @property
    def votes(self) -> NoisyVotes:
        """The received message."""
        if self._votes is None:
            raise ProtocolError("no noisy votes have come yet")
        return self._votes

    def receive(self, votes: NoisyVotes) -> None:
        """Take the curator's message. The same once more changes nothing."""
        if votes.terms != self.terms:
            raise ProtocolError("the noisy votes are not on this consumer's points and terms")
        known = self._votes
        if known is not None and not (
            known.run == votes.run and np.array_equal(known.counts, votes.counts)
        ):
            raise ProtocolError("other noisy votes on the same points have come before")
        self._votes = votes

    def fit(
        self, students: Sequence[Student], validation: Validation | None = None
    ) -> tuple[Candidate, tuple[Judged, ...]]:
        """Return the candidate that is used, and what all were judged by."""
        found = [one for s in students for one in s.candidates(self.points, self.votes)]
        used, judged = choose(found, validation)
        return replace(used, fitted=averaged(used.fitted)), judged


def averaged(fitted: Fitted) -> Fitted:
    """Return a fit on the neighbour graph as the neighbours' mean of the shares at N public points.

    Its own form is a mean of 100 eigenvectors and its weights. Where some of the eigenvectors
    nearly depend on one another, weights may be 1e14, and a prediction depends on the order of a
    sum. The mean is linear, so shares at the public points, (N, columns), predict the same.
    """
    plain = fitted.plain()
    if not (isinstance(plain, Plain) and isinstance(plain.features, Neighbours)):
        return fitted
    shares = plain.weights[0] + plain.features.vectors @ plain.weights[1:]
    columns = shares.shape[1]
    weights = np.vstack([np.zeros((1, columns)), np.eye(columns)])
    return Plain(replace(plain.features, vectors=shares), weights, plain.softmax)
