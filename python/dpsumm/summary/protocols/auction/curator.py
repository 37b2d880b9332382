"""The curator of the Auction: rounds, ranks, coins, verification."""

from __future__ import annotations

import bisect
import itertools
import secrets
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpsumm import kernels
from dpsumm.errors import InvalidParameterError, ProtocolError
from dpsumm.exchange.messages import Answer, Request
from dpsumm.kernels.features import FeatureKind
from dpsumm.privacy.events import Charge, Protected, Seeded
from dpsumm.summary.protocols.auction.requests import Profile
from dpsumm.summary.protocols.curator import (
    Curator,
    Selection,
    Setting,
    pool_of,
)
from dpsumm.summary.protocols.features import features_of
from dpsumm.summary.protocols.messages import (
    BidRequest,
    Bids,
    Points,
    SendRequest,
)
from dpsumm.summary.release import (
    SUMMARY,
    Draw,
    Mechanism,
    Release,
    release,
    summary_sensitivity,
)

# A place in the one total order of points: greater is better.
Place = tuple[int, int, int]  # score, -owner, -row


@dataclass(frozen=True, eq=False)
class Plan:
    """All of a run that is settled from public numbers before it begins; see `Auction`."""

    rounds: int
    spare_rounds: int
    batch: int
    profile: Profile
    virtual_bids: bool
    request_charges: tuple[Charge, ...]
    target: Mechanism
    summary: Mechanism
    n_features: int
    feature_kind: FeatureKind
    seed_points: NDArray[np.floating] | None
    seed_release: Mechanism
    reselect: bool


class _Received:
    """Points of one owner that the curator has, and which of them can still be picked."""

    def __init__(self, n_features: int) -> None:
        self.bidder = kernels.Bidder(np.empty((0, n_features), dtype=np.int16))
        self.rows: list[int] = []
        self.scaled: list[NDArray[np.floating]] = []
        self.parts: list[Points] = []

    def add(
        self, points: Points, scaled: NDArray[np.floating], features: NDArray[np.int16]
    ) -> None:
        self.bidder.append(
            features, points.rows
        )  # ties go to the lower row, not to the earlier one
        self.rows += [int(row) for row in points.rows]
        self.scaled += list(scaled)
        self.parts.append(points)


class AuctionCurator(Curator):
    """Alternates between asking for bids and asking for points, for a fixed number of rounds."""

    def __init__(self, plan: Plan, setting: Setting) -> None:
        super().__init__(setting)
        self._plan = plan
        self._active = list(self.names)
        self._round = 0
        self._spared = 0
        self._stopped = False
        self._target: Release | None = None
        self._last_summary: Release | None = None
        self._picks: list[tuple[int, int]] = []  # owner, position among its received points
        self._chosen = np.empty((setting.size, setting.target.shape[1]))
        self._waiting: dict[str, Request] = {}
        self._bids: dict[str, Bids] = {}
        self._new: dict[str, Points] = {}
        self._received = {name: _Received(plan.n_features) for name in self.names}
        self._rng = None if setting.seed is None else np.random.default_rng(setting.seed)
        seeds, schema = plan.seed_points, setting.schema
        if seeds is not None and (
            seeds.ndim != 2
            or seeds.shape[1] != len(setting.columns)
            or not (np.isfinite(seeds).all() if schema is None else schema.fits(seeds))
        ):
            raise InvalidParameterError(
                f"seed_points must be a finite (s, {len(setting.columns)}) array, as Schema.encode "
                "takes it (numbers in their own units)"
            )

    def send(self) -> dict[str, Request]:
        """Return the next round's messages; see `Curator.send`."""
        if self._stopped:
            raise ProtocolError("the run was stopped; it cannot go on")
        if self._waiting:
            raise ProtocolError(
                f"{len(self._waiting)} answers are outstanding; receive() them, or drop() "
                "the owners"
            )
        requests = self._ask_for_points() if self._bids else self._ask_for_bids()
        self._waiting = dict(requests)
        return requests

    def receive(self, name: str, answer: Answer) -> None:
        """Take bids or points; after the last points of a round its winners are added."""
        request = self._waiting.get(name)
        if isinstance(request, BidRequest):
            self._bids[name] = self._check_bids(name, answer, request.count)
        elif isinstance(request, SendRequest):
            self._new[name] = self._check_sent(name, answer, request)
        else:
            raise ProtocolError(f"{name!r} has no request to answer")
        del self._waiting[name]
        if isinstance(request, SendRequest) and not self._waiting:
            self._finish_round()

    def drop(self, *names: str) -> None:
        """Leave failed owners out for good and repeat the round as a new charged one.

        Their points in the summary stay; no round picks what else they sent. Owners are told
        nothing but the next round's request.

        Raises
        ------
        ProtocolError
            The plan has no spare round left, or the other owners hold fewer records than the
            summary has points: the run must stop. Or answers of others are outstanding.
        """
        for name in names:
            if name not in self._active:
                raise ProtocolError(f"{name!r} is not an owner of this run, or was dropped before")
        name = names[0]
        if any(isinstance(r, SendRequest) for n, r in self._waiting.items() if n not in names):
            raise ProtocolError("answers of other owners are outstanding; receive() them first")
        left = sum(self.setting.n_records[n] for n in self._active if n not in names)
        if self._spared == self._plan.spare_rounds:
            raise ProtocolError(
                f"{name!r} failed and the plan has no spare round: the run must stop. What was "
                "spent stays spent; plan with spare_rounds to survive failures"
            )
        if left < self.setting.size:
            raise ProtocolError(
                f"{name!r} failed and the other owners hold {left} records, fewer than the summary "
                f"({self.setting.size}): the run must stop. What was spent stays spent"
            )
        # In the books before it takes effect: a resumed run would not know, and draw new coins.
        self._spared += 1
        self.setting.ledger.release(f"drop-{self._spared}", [], lambda: "\n".join(names).encode())
        self._active = [name for name in self._active if name not in names]
        # The others have sent these for good: what is available must not depend on the coins.
        for name in names:
            self._new.pop(name, None)
        self._take_in()
        self._bids, self._waiting = {}, {}

    def result(self) -> Selection:
        """Return the winners in the order of the rounds, or the greedy's from all received."""
        start, n_before = {}, 0
        parts: list[tuple[int, Points]] = []
        for i, name in enumerate(self.names):
            start[i] = n_before
            parts += [(i, points) for points in self._received[name].parts]
            n_before += len(self._received[name].rows)
        pool = pool_of(self, parts)
        order = np.array([start[i] + position for i, position in self._picks], dtype=np.int64)
        if self._plan.reselect:
            order = self._order(pool)
        return self._selection(pool, order)

    # One round, in the order of its steps.

    def _ask_for_bids(self) -> dict[str, Request]:
        if len(self._picks) >= self.setting.size or self._round == self._plan.rounds:
            return {}
        request = self._bid_request()
        for name in self.names:
            bidder = self._received[name].bidder
            bidder.set_target(request.target)
            bidder.set_summary(request.summary)
        self._bid = request
        return dict.fromkeys(self._active, request)

    def _bid_request(self) -> BidRequest:
        target = self._release_target()
        summary = self._release_summary()
        n_chosen = 0 if summary is None else summary.count
        return BidRequest(
            feature_map=self._feature_map,
            target=target.steps,
            summary=np.zeros_like(target.steps) if summary is None else summary.steps,
            target_factor=n_chosen + 1,
            summary_factor=target.count,
            count=self._plan.batch,
        )

    def _release_target(self) -> Release:
        if self._target is None:
            ledger = self.setting.ledger
            if ledger.has("drop-1"):
                raise ProtocolError(
                    f"run {ledger.run!r} had dropped an owner, so it cannot be resumed; "
                    "begin a run of another name"
                )
            self._feature_map = self.feature_map(self._plan.n_features, self._plan.feature_kind)
            self._features = features_of(self._feature_map)
            self._target = self.release_target(self._plan.target, self._feature_map)
        return self._target

    def _release_summary(self) -> Release | None:
        """Release the noisy sum over the summary so far; the public seed points alone are free."""
        points = self._chosen[: len(self._picks)]
        if self._plan.seed_points is not None:
            seeds = self._plan.seed_points.astype(points.dtype)
            points = np.concatenate([self.scaled(seeds), points])
        if len(points) == 0:
            return None
        if not self._picks:
            given = Draw(self._features, points, SUMMARY, len(points), self.setting.seed)
            # Public points: recorded, so that a resumed run has the same, and not charged.
            drawn = self.setting.ledger.release(
                "seed-points",
                [],
                lambda: self._plan.seed_release.draw(given).to_bytes(),
            )
            self._last_summary = Release.from_bytes(drawn, self._plan.n_features, len(points))
            return self._last_summary
        previous = self._last_summary
        self._last_summary = release(
            self._plan.summary,
            self._features,
            points,
            key=f"summary-{self._round}",
            message="noisy mean embedding of the summary so far",
            protected=Protected.OWNERS,
            sensitivity=summary_sensitivity(self.setting.unit),
            ledger=self.setting.ledger,
            seed=self.setting.seed,
            previous=previous,
        )
        return self._last_summary

    def _check_bids(self, name: str, answer: Answer, count: int) -> Bids:
        if not isinstance(answer, Bids):
            raise ProtocolError(f"{name!r} was asked for bids")
        received = self._received[name].rows
        expected = min(count, self.setting.n_records[name] - len(received))
        if len(answer.scores) != expected or len(answer.rows) != expected:
            raise ProtocolError(f"{name!r}: {expected} bids were expected")
        places = _places(self.names.index(name), answer)
        if any(a <= b for a, b in itertools.pairwise(places)):
            raise ProtocolError(f"{name!r}: bids must come best first, without repeats")
        if any(row < 0 for row in answer.rows) or not set(received).isdisjoint(answer.rows):
            raise ProtocolError(f"{name!r}: bids must be for rows that were not sent yet")
        if any(abs(score) >= 2**126 for score in answer.scores):
            raise ProtocolError(f"{name!r}: a score is beyond any real bid")
        return answer

    def _ask_for_points(self) -> dict[str, Request]:
        ledger, plan = self.setting.ledger, self._plan
        charges = plan.request_charges
        if self.setting.seed is not None and charges:
            charges = (replace(charges[0], event=Seeded(), count=1),)
        # A charge alone, once a run, for the bits of all rounds; each round's are recorded below.
        ledger.release("requests", charges, lambda: b"")
        ranks = self._ranks()
        chances = plan.profile.probability[ranks - 1]
        # Recorded like any release: a resumed run asks for the same points, with the same coins.
        asked = ledger.release(
            f"requests-{self._round}-{self._spared}",
            [],
            lambda: self._toss(chances).astype(np.uint8).tobytes(),
            binding=f"{len(self._active)} owners, {plan.batch} bids",
        )
        flags = np.frombuffer(asked, dtype=np.uint8).astype(bool).reshape(ranks.shape)
        return {
            name: SendRequest(tuple(bool(flag) for flag in row))
            for name, row in zip(self._active, flags, strict=True)
        }

    def _ranks(self) -> NDArray[np.int64]:
        """Return the rank of each bid, (owners, batch): against what all others have left.

        The others' side counts points not in the summary, sent or unsent (virtual bids); an owner's
        own side its unsent points only: its own received points must not enter (Lemma 2). A missing
        bid ranks behind everything.
        """
        batch = self._plan.batch
        left = {}
        for name in self._active:
            i = self.names.index(name)
            mine = _places(i, self._bids[name])
            if self._plan.virtual_bids:
                mine += self._in_hand(name)
            left[name] = sorted(mine, reverse=True)[:batch]
        everything = sorted(place for places in left.values() for place in places)
        self._best_anywhere = everything[::-1][:batch]
        ranks = np.empty((len(self._active), batch), dtype=np.int64)
        for k, name in enumerate(self._active):
            own = sorted(left[name])
            bids: list[Place | None] = list(_places(self.names.index(name), self._bids[name]))
            bids += [None] * (batch - len(bids))
            for b, place in enumerate(bids):
                if place is None:
                    others = len(everything) - len(own)
                else:
                    others = _greater(everything, place) - _greater(own, place)
                ranks[k, b] = 1 + b + others
        return ranks

    def _in_hand(self, name: str) -> list[Place]:
        """Return the best received points of an owner that are not in the summary."""
        received = self._received[name]
        positions, scores = received.bidder.best(
            self._bid.target_factor, self._bid.summary_factor, self._plan.batch
        )
        i = self.names.index(name)
        return [(s, -i, -received.rows[p]) for p, s in zip(positions, scores, strict=True)]

    def _toss(self, chances: NDArray[np.float64]) -> NDArray[np.bool_]:
        shape = chances.shape
        data = (
            secrets.token_bytes(8 * chances.size)
            if self._rng is None
            else self._rng.bytes(8 * chances.size)
        )
        coins = np.frombuffer(data, dtype=np.uint64) >> np.uint64(11)
        return coins.reshape(shape) < (chances * 2.0**53).astype(np.uint64)

    def _check_sent(self, name: str, answer: Answer, request: SendRequest) -> Points:
        """Check that an owner sent what it bid: the same rows, and points that score the same."""
        bids = self._bids[name]
        wanted = {
            row: score
            for row, score, flag in zip(bids.rows, bids.scores, request.wanted, strict=False)
            if flag
        }
        points = self._check_points(name, answer, len(wanted), len(wanted))
        if [int(row) for row in points.rows] != sorted(wanted):
            raise ProtocolError(f"answer of {name!r}: not the rows that were asked for")
        grid = self._features.on_grid(self.scaled(points.values)).astype(np.int64)
        target, summary = grid @ self._bid.target, grid @ self._bid.summary
        for row, a, b in zip(points.rows, target, summary, strict=True):
            score = self._bid.target_factor * int(a) - self._bid.summary_factor * int(b)
            if score != wanted[int(row)]:
                raise ProtocolError(f"answer of {name!r}: a point does not match its bid")
        return points

    def _finish_round(self) -> None:
        """Add the best of everything to the summary."""
        self._take_in()
        best = sorted((p for name in self._active for p in self._in_hand(name)), reverse=True)
        count = min(self._plan.batch, self.setting.size - len(self._picks))
        if self._plan.virtual_bids and best[:count] != self._best_anywhere[:count]:
            self._stopped = True
            raise ProtocolError(
                "the best points are not in hand, so the data changed during the run; it must stop"
            )
        for _, minus_owner, minus_row in best[:count]:
            received = self._received[self.names[-minus_owner]]
            position = received.rows.index(-minus_row)
            received.bidder.remove(position)
            self._chosen[len(self._picks)] = received.scaled[position]
            self._picks.append((-minus_owner, position))
        self._round += 1
        self._bids = {}

    def _take_in(self) -> None:
        """Keep the points that came in this round."""
        for name, points in self._new.items():
            if len(points.rows):
                scaled = self.scaled(points.values)
                self._received[name].add(points, scaled, self._features.on_grid(scaled))
                bidder = self._received[name].bidder
                bidder.set_target(self._bid.target)
                bidder.set_summary(self._bid.summary)
        self._new = {}


def _places(owner: int, bids: Bids) -> list[Place]:
    return [(s, -owner, -row) for s, row in zip(bids.scores, bids.rows, strict=True)]


def _greater(ascending: list[Place], place: Place) -> int:
    return len(ascending) - bisect.bisect_right(ascending, place)
