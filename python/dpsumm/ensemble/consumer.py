"""The consumer of a vote: has the points, receives noisy votes, learns as often as it likes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpsumm.ensemble.messages import NoisyVotes
from dpsumm.ensemble.students.choose import Judged, Validation, choose
from dpsumm.ensemble.students.student import Candidate, Student
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
        return choose(found, validation)
