"""A party of a vote, whose classifiers stay at home while their votes leave."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpsumm.ensemble.curator import check_votes
from dpsumm.ensemble.declared import Declared
from dpsumm.ensemble.messages import CODEC, VOTES, Classifiers, ClassifierTask, Votes, VoteTask
from dpsumm.ensemble.rows import Ballot
from dpsumm.ensemble.terms import Label
from dpsumm.errors import ProtocolError
from dpsumm.exchange.messages import Answer, Request
from dpsumm.exchange.roles import Party


class Voter(Party):
    """Votes once in a run, as long as this object lives. Its votes are for the curator alone.

    One that is made anew for every exchange is made with `dpsumm.ensemble.once.Once`.

    Parameters
    ----------
    ballots
        What each of its classifiers votes, one for each shard of its records. They may depend on
        its own records, its own coins and the task, on nothing of another party.
    """

    codec = CODEC
    forgets = True

    def __init__(self, ballots: Sequence[Ballot], classes: Sequence[Label] | None = None) -> None:
        self._ballots = tuple(ballots)
        self._classes = None if classes is None else tuple(sorted(classes))
        self._given: Votes | None = None

    def answer(self, request: Request) -> Answer:
        """Vote. Asked the same again, return the same votes."""
        if not isinstance(request, VoteTask):
            raise ProtocolError(f"no answer to a {type(request).__name__}")
        terms = request.terms
        if self._given is not None:
            if (self._given.run, self._given.digest) == (request.run, terms.digest):
                return self._given
            raise ProtocolError("this party has voted, and votes once")
        if self._classes is not None and self._classes != terms.classes:
            raise ProtocolError("the classes of the task are not those that this party agreed to")
        if terms.shards != len(self._ballots):
            raise ProtocolError(
                f"the task is for {terms.shards} shards, this party has {len(self._ballots)} "
                "classifiers"
            )
        votes = np.zeros((terms.n_points, terms.n_classes), dtype=np.int64)
        for ballot in self._ballots:
            # A classifier may work in place, and the points are everybody's: on its own copy.
            votes += ballot(request.points.copy(), terms)
        given = Votes(request.run, terms.digest, votes.astype(VOTES))
        check_votes(given.votes, terms)
        self._given = given
        return given


class Declarer(Party):
    """Sends its classifiers as plain numbers, because the points to vote on do not come to it.

    They are for the curator alone, which lets them vote.

    Parameters
    ----------
    classifiers
        For all shards. They may depend on the party's own records and coins, on nothing else.
    """

    codec = CODEC

    def __init__(self, classifiers: Declared, classes: Sequence[Label], n_columns: int) -> None:
        self._classifiers, self._n_columns = classifiers, n_columns
        self._classes = tuple(sorted(classes))

    def answer(self, request: Request) -> Answer:
        """Send the classifiers, the same whenever it is asked."""
        if not isinstance(request, ClassifierTask):
            raise ProtocolError(f"no answer to a {type(request).__name__}")
        if (request.classes, request.shards, request.n_columns) != (
            self._classes,
            self._classifiers.shards,
            self._n_columns,
        ):
            raise ProtocolError(
                "the task is for other classes, shards or columns than those of this party"
            )
        return Classifiers(request.run, self._n_columns, self._classifiers)
