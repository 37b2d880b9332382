"""Two neighbouring worlds of the Auction, run through the real roles side by side.

Both worlds see the same releases (scripted, as Lemmas 1 and 2 of ``docs/privacy/auction.md`` ask)
and one owner, the observer, gets the same request bits. The coins of the others are their own in
each world. What is measured: by how many points the summaries differ, by how much a rank of the
observer's bids does, and whether the paper's step 14 does what it says. For audits and tests only.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpsumm.audit.settings import Unbooked, setting
from dpsumm.data.inputs import read_inputs
from dpsumm.papers.auction.auction import Auction
from dpsumm.papers.auction.curator import AuctionCurator, Round
from dpsumm.papers.auction.requests import Profile
from dpsumm.privacy.events import Event
from dpsumm.summary.mechanisms import Exact
from dpsumm.summary.protocols.messages import BidRequest
from dpsumm.summary.protocols.owner import Owner
from dpsumm.summary.release import Draw, Mechanism, Release, Sensitivity


@dataclass(frozen=True, eq=False)
class Scripted(Mechanism):
    """A mechanism that releases what a script says, whatever the data: the same in both worlds."""

    steps: Mapping[int, NDArray[np.int64]]

    def cost(self, sensitivity: Sensitivity) -> list[tuple[Event, int]]:
        """Return nothing, because the script does not depend on data."""
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
    tau
        As in `Requests.published`; None: step 14 is off.
    """

    size: int
    batch: int
    probability: NDArray[np.float64]
    target: NDArray[np.int64]
    summary: Mapping[int, NDArray[np.int64]]
    seed_points: NDArray[np.float64] | None = None
    tau: int | None = None

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
        tau: int | None = None,
    ) -> Script:
        """Draw small integer releases, so that ties are frequent. Ranks beyond the batch are asked
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
            tau,
        )


class SteeredCurator(AuctionCurator):
    """The real curator. One owner's request bits can be given from outside."""

    observer = 0
    given: NDArray[np.bool_] | None = None
    due: NDArray[np.bool_]

    def _due(self, round_: Round) -> NDArray[np.bool_]:
        self.due = super()._due(round_)
        return self.due

    def _toss(self, chances: NDArray[np.float64]) -> NDArray[np.bool_]:
        flags = super()._toss(chances)
        if self.given is not None:
            flags[self.observer] = self.given | (chances[self.observer] == 1)
        return flags


class World:
    """One run through the real roles, round by round.

    Parameters
    ----------
    owners
        Name to (m_i, 2) points. Two columns and gamma 0.5 throughout.
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
        sizes = {name: len(table) for name, table in owners.items()}
        about = setting(target, sizes, script.size, Unbooked("worlds"), delta=1e-5)
        mechanism = Scripted(script.summary)
        auction = Auction(
            reselect=False,
            batch=script.batch,
            n_features=len(script.target),
            summary_release=Exact(),
        )
        plan = replace(
            auction._plan(about),
            profile=Profile(script.probability),
            target=Scripted({2: script.target}),
            summary=mechanism,
            seed_release=mechanism,
            seed_points=script.seed_points,
            spare_rounds=1,
            tau=script.tau,
        )
        self.curator = curator(plan, about)
        self.tau = script.tau
        self._times_best: Counter[tuple[str, int]] = Counter()

    def collect_bids(self) -> NDArray[np.int64] | None:
        """Let all owners bid. Return the ranks of all bids, or None at the end of the run."""
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
        """Toss the coins, the observer's as `given`, and collect the points. One may be dropped."""
        self.curator.given = given
        for name, request in self.curator.send().items():
            if name != drop:
                self.curator.receive(name, self.roles[name].answer(request))
        if drop is not None:
            self.curator.drop(drop)

    def overdue(self) -> int:
        """Return how many points are their owner's best bid more than `tau` times by now.

        To be asked once after each `collect_bids`.
        """
        round_ = self.curator._round
        assert round_ is not None
        if self.tau is None:
            return 0
        best = [(name, row) for name, bids in round_.bids.items() for row in bids.rows[:1]]
        self._times_best.update(best)
        return sum(times > self.tau for times in self._times_best.values())

    def summary(self) -> set[tuple[int, int]]:
        """Return owner and row of the points picked so far."""
        names, picks = self.curator.names, self.curator._picks
        return {(i, self.curator._received[names[i]].rows[position]) for i, position in picks}


@dataclass(frozen=True)
class Moved:
    """How far two worlds came apart.

    Attributes
    ----------
    points
        Largest number of points of the second world's summary that are not in the first's.
    ranks
        Largest difference of a rank of the observer's bids.
    due
        Number of the observer's bids that step 14 asked for in one world only.
    overdue
        Largest number of points that were their owner's best more than `tau` times.
    """

    points: int
    ranks: int
    due: int = 0
    overdue: int = 0


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
        The first owner is the observer. Its data must be the same in both.
    script, curator
        See `World`.
    rows
        For the second world, row numbers in the first one's counting, by owner: for a record that
        was taken out.
    drop
        Round, from 0, in which this owner does not send its points and is dropped.
    """
    worlds = [World(data, script, curator) for data in (first, second)]
    points, moved, due, overdue = 0, 0, 0, 0
    chances = script.probability
    for round_ in itertools.count():
        ranks = [world.collect_bids() for world in worlds]
        if ranks[0] is None or ranks[1] is None:
            break
        overdue = max(overdue, *(world.overdue() for world in worlds))
        mine = [r[SteeredCurator.observer] for r in ranks if r is not None]
        moved = max(moved, int(np.abs(mine[0] - mine[1]).max()))
        asked = [chances[r - 1] for r in mine]
        # The same bits in both worlds, none that one of them could not have.
        must = (asked[0] == 1) | (asked[1] == 1)
        given = must | (rng.random(must.shape) < chances.min())
        for world in worlds:
            world.finish_round(given, drop[1] if drop and drop[0] == round_ else None)
        by_tau = [world.curator.due[SteeredCurator.observer] for world in worlds]
        due += int((by_tau[0] != by_tau[1]).sum())
        points = max(points, _difference(worlds, list(first.values()), list(second.values()), rows))
    return Moved(points, moved, due, overdue)


def _difference(
    worlds: Sequence[World],
    first: Sequence[NDArray[np.float64]],
    second: Sequence[NDArray[np.float64]],
    rows: Sequence[NDArray[np.int64]] | None,
) -> int:
    """Return how many points of either summary the other lacks, at most."""
    a = {(i, row, first[i][row].tobytes()) for i, row in worlds[0].summary()}
    b = {
        (i, row if rows is None else int(rows[i][row]), second[i][row].tobytes())
        for i, row in worlds[1].summary()
    }
    return max(len(a - b), len(b - a))
