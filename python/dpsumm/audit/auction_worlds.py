"""Two neighbouring worlds of the Auction, run through the real roles side by side.

Both worlds see the same releases (scripted, as Lemmas 1 and 2 of ``docs/privacy/auction.md`` ask)
and one owner, the observer, gets the same request bits; the coins of the others are their own in
each world. What is measured: by how many points the summaries differ, and by how much a rank of the
observer's bids does. For audits and tests only.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpsumm.data.inputs import read_inputs
from dpsumm.privacy.events import Event
from dpsumm.privacy.ledger import Ledger
from dpsumm.summary.kernel import RBF
from dpsumm.summary.mechanisms import Exact
from dpsumm.summary.protocols.auction.auction import Auction
from dpsumm.summary.protocols.auction.curator import AuctionCurator
from dpsumm.summary.protocols.auction.requests import Profile
from dpsumm.summary.protocols.curator import Setting
from dpsumm.summary.protocols.messages import BidRequest
from dpsumm.summary.protocols.owner import Owner
from dpsumm.summary.release import Draw, Mechanism, Release, Sensitivity


@dataclass(frozen=True, eq=False)
class Scripted(Mechanism):
    """A mechanism that releases what a script says, whatever the data: the same in both worlds."""

    steps: Mapping[int, NDArray[np.int64]]

    def cost(self, sensitivity: Sensitivity) -> list[tuple[Event, int]]:
        """Return nothing: the script does not depend on data."""
        return []

    def draw(self, given: Draw) -> Release:
        """Return the script's release for this number of points."""
        return Release(self.steps[given.count], given.count)


@dataclass(frozen=True, eq=False)
class Script:
    """All that two worlds share: sizes, request rule, releases.

    Attributes
    ----------
    size, batch
        Of the Auction.
    probability
        Of a request by rank; 1 for the first `batch` ranks.
    target : (d,) int64
        Released sum of the target.
    summary
        Number of points to the released sum of the summary, (d,) int64.
    seed_points
        As in `Auction`.
    """

    size: int
    batch: int
    probability: NDArray[np.float64]
    target: NDArray[np.int64]
    summary: Mapping[int, NDArray[np.int64]]
    seed_points: NDArray[np.float64] | None = None

    @classmethod
    def draw(
        cls,
        rng: np.random.Generator,
        *,
        n_owners: int,
        size: int,
        batch: int,
        asked: float,
        n_features: int = 4,
        seed_points: NDArray[np.float64] | None = None,
    ) -> Script:
        """Draw small integer releases, so that ties are frequent; ranks beyond the batch are asked
        for with probability `asked`.
        """
        probability = np.full(batch * n_owners + 1, asked)
        probability[:batch] = 1.0
        n_seeds = 0 if seed_points is None else len(seed_points)
        return cls(
            size,
            batch,
            probability,
            rng.integers(-2, 3, n_features),
            {n + n_seeds: rng.integers(-2, 3, n_features) for n in range(size + 1)},
            seed_points,
        )


class SteeredCurator(AuctionCurator):
    """The real curator; one owner's request bits can be given from outside."""

    observer = 0
    given: NDArray[np.bool_] | None = None

    def _toss(self, chances: NDArray[np.float64]) -> NDArray[np.bool_]:
        flags = super()._toss(chances)
        if self.given is not None:
            flags[self.observer] = self.given
        return flags


class World:
    """One run through the real roles, round by round.

    Parameters
    ----------
    owners
        Name to (m_i, 2) points; two columns and gamma 0.5 throughout.
    script
        What the worlds share.
    curator
        The real one or a broken twin.
    """

    def __init__(
        self,
        owners: Mapping[str, NDArray[np.float64]],
        script: Script,
        curator: type[SteeredCurator] = SteeredCurator,
    ) -> None:
        target = np.zeros((2, 2))
        tables, _ = read_inputs(dict(owners), target)
        self.roles = {table.name: Owner(table) for table in tables}
        self.ledger = Ledger(run="worlds")
        setting = Setting(
            target=target,
            columns=("a", "b"),
            schema=None,
            n_records={name: len(table) for name, table in owners.items()},
            size=script.size,
            epsilon=1.0,
            delta=1e-5,
            kernel=RBF(0.5),
            labelled=False,
            ledger=self.ledger,
        )
        mechanism = Scripted(script.summary)
        auction = Auction(
            reselect=False,
            batch=script.batch,
            n_features=len(script.target),
            summary_release=Exact(),
        )
        plan = replace(
            auction._plan(setting),
            profile=Profile(script.probability),
            target=Scripted({2: script.target}),
            summary=mechanism,
            seed_release=mechanism,
            seed_points=script.seed_points,
            spare_rounds=1,
        )
        self.curator = curator(plan, setting)

    def collect_bids(self) -> NDArray[np.int64] | None:
        """Let all owners bid; return the ranks of all bids, or None at the end of the run."""
        requests = self.curator.send()
        if not requests:
            return None
        for name, request in requests.items():
            assert isinstance(request, BidRequest)
            self.curator.receive(name, self.roles[name].answer(request))
        round_ = self.curator._round
        assert round_ is not None
        return self.curator._ranks(round_)

    def finish_round(self, given: NDArray[np.bool_] | None = None, drop: str | None = None) -> None:
        """Toss the coins, the observer's as `given`, and collect the points; one may be dropped."""
        self.curator.given = given
        for name, request in self.curator.send().items():
            if name != drop:
                self.curator.receive(name, self.roles[name].answer(request))
        if drop is not None:
            self.curator.drop(drop)

    def summary(self) -> set[tuple[int, int]]:
        """Return owner and row of the points picked so far."""
        names, picks = self.curator.names, self.curator._picks
        return {(i, self.curator._received[names[i]].rows[position]) for i, position in picks}

    def close(self) -> None:
        """Close the books."""
        self.ledger.close()


@dataclass(frozen=True)
class Moved:
    """How far two worlds came apart.

    Attributes
    ----------
    points
        Largest number of points of the second world's summary that are not in the first's.
    ranks
        Largest difference of a rank of the observer's bids.
    """

    points: int
    ranks: int


def compare(
    first: Mapping[str, NDArray[np.float64]],
    second: Mapping[str, NDArray[np.float64]],
    script: Script,
    rng: np.random.Generator,
    *,
    curator: type[SteeredCurator] = SteeredCurator,
    rows: Sequence[NDArray[np.int64]] | None = None,
    drop: tuple[int, str] | None = None,
) -> Moved:
    """Run two neighbouring worlds in step and return how far they came apart.

    Parameters
    ----------
    first, second
        Owners' points. A point of the second world is the first's if owner, row and value are.
        The first owner is the observer; its data must be the same in both.
    script, curator
        See `World`.
    rows
        For the second world, row numbers in the first one's counting, by owner: for a record that
        was taken out.
    drop
        Round, from 0, in which this owner does not send its points and is dropped.
    """
    worlds = [World(data, script, curator) for data in (first, second)]
    points, moved = 0, 0
    chances = script.probability
    for round_ in itertools.count():
        ranks = [world.collect_bids() for world in worlds]
        if ranks[0] is None or ranks[1] is None:
            break
        mine = [r[SteeredCurator.observer] for r in ranks if r is not None]
        moved = max(moved, int(np.abs(mine[0] - mine[1]).max()))
        asked = [chances[r - 1] for r in mine]
        # The same bits in both worlds, none that one of them could not have.
        must = (asked[0] == 1) | (asked[1] == 1)
        given = must | (rng.random(must.shape) < chances.min())
        for world in worlds:
            world.finish_round(given, drop[1] if drop and drop[0] == round_ else None)
        points = max(points, _difference(worlds, list(first.values()), list(second.values()), rows))
    for world in worlds:
        world.close()
    return Moved(points, moved)


def _difference(
    worlds: Sequence[World],
    first: Sequence[NDArray[np.float64]],
    second: Sequence[NDArray[np.float64]],
    rows: Sequence[NDArray[np.int64]] | None,
) -> int:
    """Return how many points of either summary the other lacks, at the most."""
    a = {(i, row, first[i][row].tobytes()) for i, row in worlds[0].summary()}
    b = {
        (i, row if rows is None else int(rows[i][row]), second[i][row].tobytes())
        for i, row in worlds[1].summary()
    }
    return max(len(a - b), len(b - a))
