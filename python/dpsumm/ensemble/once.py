"""A party's memory on its disk: made anew for every exchange, it still answers a run once."""

from __future__ import annotations

import os

from dpsumm.ensemble.messages import CODEC, ClassifierTask, VoteTask
from dpsumm.errors import InvalidParameterError, ProtocolError
from dpsumm.exchange.journal import Journal
from dpsumm.exchange.messages import Answer, Request
from dpsumm.exchange.roles import Party


class Once(Party):
    """Answers one task in a run of a name, and that one always with the same bytes.

    Claim: all that this party ever sends under one run's name is one answer to one task. So a
    curator has one set of votes for the charge of one release. Assumes that the file is kept, and
    that one file serves all processes of the party. Who removes it, or asks under another run's
    name, gets other votes: each is a run of its own. Tested by tests/ensemble/test_once.py and the
    audit "noisy votes: a party votes once".
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
        if not isinstance(request, (VoteTask, ClassifierTask)):
            return self._party.answer(request)
        asked = [CODEC.encode(request)]
        with Journal(self._path, request.run) as journal:
            try:
                known = journal.known(0, {self._name: asked})
            except InvalidParameterError:
                raise ProtocolError(
                    "this party has voted in a run of this name, and votes once; ask as before, or "
                    "give the new run another name"
                ) from None
            if self._name in known:
                kept = CODEC.decode(known[self._name], max_bytes=len(known[self._name]))
                assert isinstance(kept, Answer)
                return kept
            answer = self._party.answer(request)
            journal.record(0, self._name, asked, CODEC.encode(answer))
        return answer
