"""A party's memory on its disk. Made anew for every exchange, it still answers a run once."""

from __future__ import annotations

import os

from dpsumm.ensemble.holder import CODEC
from dpsumm.ensemble.messages import ClassifierTask, VoteTask
from dpsumm.ensemble.updates.messages import UpdateTask
from dpsumm.errors import InvalidParameterError, ProtocolError
from dpsumm.exchange.journal import Journal
from dpsumm.exchange.messages import Answer, Request
from dpsumm.exchange.roles import Party


class Once(Party):
    """Answers one task in a run of a name, and that one always with the same bytes.

    Claim: all that this party ever sends under one run's name is one answer to one task, or to each
    round of one run of updates. So a curator has one set of votes, or one vector a round, for the
    charge of one release. Assumes that the file is kept, and that one file serves all processes of
    the party. Without it, or under another run's name, the answers are others, and each is a run
    of its own. Tested by tests/ensemble/test_once.py and the audit "noisy votes: a party votes
    once".
    """

    codec = CODEC

    def __init__(self, party: Party, name: str, path: str | os.PathLike[str]) -> None:
        self._party, self._name, self._path = party, name, path

    @property
    def n_records(self) -> int:
        """Of the party."""
        return self._party.n_records

    def answer(self, request: Request) -> Answer:
        """Answer, after the answer is on the disk."""
        if not isinstance(request, (VoteTask, ClassifierTask, UpdateTask)):
            return self._party.answer(request)
        # What no request of the run may change, at step 0; then each round.
        asked = {0: [CODEC.encode(request)]}
        if isinstance(request, UpdateTask):
            agreed = [repr((request.terms, request.recipe)).encode()]
            asked = {0: agreed, 1 + request.step.number: asked[0]}
        with Journal(self._path, request.run) as journal:
            kept = [self._known(journal, step, given) for step, given in asked.items()]
            if (last := kept[-1]) is not None:
                answer = CODEC.decode(last, max_bytes=len(last))
                assert isinstance(answer, Answer)
                return answer
            answer = self._party.answer(request)
            for step, given in asked.items():
                journal.record(step, self._name, given, CODEC.encode(answer))
        return answer

    def _known(self, journal: Journal, step: int, asked: list[bytes]) -> bytes | None:
        """Return what was answered; None if nothing was. Refuse if it was to something else."""
        try:
            return journal.known(step, {self._name: asked}).get(self._name)
        except InvalidParameterError:
            raise ProtocolError(
                "this party has answered in a run of this name, and answers once. Ask as before, "
                "or give the new run another name"
            ) from None
