"""Points of owners that commit to their data before the release, and open what they send."""

import hashlib

from dpsumm import Offers
from dpsumm.data.openings import verify_openings
from dpsumm.summary.protocols.committed import CommittingOwner
from dpsumm.summary.protocols.messages import CommitRequest, OpenRequest
from dpsumm.summary.protocols.wire import CODEC
from simulator.oracles import Violation
from simulator.plan import CURATOR
from simulator.systems.points import Summaries


class Committed(Summaries):
    """An owner whose commitment is late is left out; without any the run does not go on."""

    may_refuse = ("only commitments from before",)

    def _openings(self, world, run):
        return world.folder / f"{run}.openings"

    def curate(self, world, run, **more):
        return super().curate(
            world, run, commitments=True, openings=self._openings(world, run), **more
        )

    def party(self, world, name):
        key = hashlib.sha256(name.encode()).digest()
        return CommittingOwner(super().party(world, name), self._tables[name], lambda: key)

    def payloads(self, message):
        decoded = CODEC.decode(message)
        if isinstance(decoded, OpenRequest):
            yield from super().payloads(CODEC.encode(decoded.request))

    def check_asked(self, world, run, letter):
        if isinstance(CODEC.decode(letter[-1]), CommitRequest) and world.books(
            CURATOR
        ).has_released(run):
            raise Violation("an owner is asked to commit after the release")

    def check(self, world, run, result):
        super().check(world, run, result)
        opened = verify_openings(self._openings(world, run), result.commitments.roots).owners
        places = {(name, one.position) for name in opened for one in opened[name][1]}
        rows = zip(result.owner, result.index, strict=True)
        if not {(result.names[owner], row) for owner, row in rows} <= places:
            raise Violation("a point of the summary is not opened")


COMMITTED = Committed("commitments", Offers(n_features=16), 6, deaf=False)
