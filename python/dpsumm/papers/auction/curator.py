"""The curator of the Auction: rounds, coins, verification."""

from __future__ import annotations

import itertools
import secrets
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dpsumm.errors import ProtocolError
from dpsumm.exchange.messages import Answer, Request
from dpsumm.papers.auction.plan import Plan
from dpsumm.papers.auction.ranks import Place, best_of, places_of, ranks_of
from dpsumm.papers.auction.received import Received, Sent
from dpsumm.papers.auction.releases import Releases
from dpsumm.privacy.events import Seeded
from dpsumm.privacy.release import annex
from dpsumm.summary.protocols.curator import Curator, Selection, Setting, pool_of
from dpsumm.summary.protocols.messages import BidRequest, Bids, Points, SendRequest


@dataclass(eq=False)
class Round:
    """One round, filled in from top to bottom."""

    request: BidRequest
    waiting: dict[str, BidRequest | SendRequest]
    bids: dict[str, Bids] = field(default_factory=dict)
    left: Sequence[list[Place]] = ()
    sent: dict[str, Sent] = field(default_factory=dict)


class AuctionCurator(Curator):
    """Alternates between asking for bids and asking for points, for a fixed number of rounds."""

    def __init__(self, plan: Plan, setting: Setting) -> None:
        super().__init__(setting)
        plan.check(setting)
        self._plan = plan
        self._releases = Releases(plan, self)
        self._active = list(self.names)
        self._round: Round | None = None
        self._finished = 0
        self._spared = 0
        self._stopped = False
        # Rounds in which an owner's point was its best bid, by owner and row.
        self._times_best: Counter[tuple[str, int]] = Counter()
        self._picks: list[tuple[int, int]] = []  # owner, position among its received points
        self._chosen = np.empty((setting.size, setting.target.shape[1]))
        self._received = {n: Received(i, plan.n_features) for i, n in enumerate(self.names)}
        self._rng = None if setting.seed is None else np.random.default_rng(setting.seed)

    def send(self) -> dict[str, Request]:
        """Return the next round's messages. See `Curator.send`."""
        if self._stopped:
            raise ProtocolError("the run was stopped. It cannot go on")
        if self._round is None:
            self._round = self._begin_round()
        elif self._round.waiting:
            raise ProtocolError(
                f"{len(self._round.waiting)} answers are outstanding. `receive()` them, or drop() "
                "the owners"
            )
        else:
            self._round.waiting = self._ask_for_points(self._round)
        return {} if self._round is None else dict(self._round.waiting)

    def receive(self, name: str, answer: Answer) -> None:
        """Take bids or points. After the last points of a round its winners are added."""
        round_ = self._round
        if round_ is None or name not in round_.waiting:
            raise ProtocolError(f"{name!r} has no request to answer")
        request = round_.waiting[name]
        if isinstance(request, BidRequest):
            round_.bids[name] = self._check_bids(name, answer, request.count)
        else:
            round_.sent[name] = self._check_sent(name, answer, round_, request)
        del round_.waiting[name]
        if not round_.waiting:
            if isinstance(request, BidRequest):
                round_.left = self._left(round_)
            else:
                self._finish_round(round_)

    def drop(self, *names: str) -> None:
        """Leave failed owners out for good and repeat the round as a new charged one.

        Their points in the summary stay. No round picks their other points. Owners receive only
        the next round's request.
        """
        for name in names:
            if name not in self._active:
                raise ProtocolError(f"{name!r} is not an owner of this run, or was dropped before")
        round_, name = self._round, names[0]
        if round_ and any(
            isinstance(asked, SendRequest) and other not in names
            for other, asked in round_.waiting.items()
        ):
            raise ProtocolError("answers of other owners are outstanding. `receive()` them first")
        left = sum(self.setting.n_records[n] for n in self._active if n not in names)
        if self._spared == self._plan.spare_rounds:
            raise ProtocolError(
                f"{name!r} failed and the plan has no spare round: the run must stop. "
                f"{self._way_out}. Plan with spare_rounds to survive failures"
            )
        if left < self.setting.size:
            raise ProtocolError(
                f"{name!r} failed and the other owners hold {left} records, fewer than the summary "
                f"({self.setting.size}): the run must stop. {self._way_out}"
            )
        # In the books before it takes effect: a resumed run would not know, and draw new coins.
        self._spared += 1
        self.setting.ledger.record(f"drop-{self._spared}", lambda: "\n".join(names).encode())
        self._active = [name for name in self._active if name not in names]
        if round_:
            # The others have sent these for good: what is available must not depend on the coins.
            round_.sent = {name: s for name, s in round_.sent.items() if name not in names}
            self._take_in(round_)
        self._round = None

    @property
    def _way_out(self) -> str:
        """What is left to do when the run must stop: requests so far depend on whom it dropped."""
        if self._spared:
            return "What was spent stays spent: begin a run of another name"
        return (
            "What was spent stays spent: put the owner right and run again under the same name, "
            "nothing is charged twice"
        )

    def result(self) -> Selection:
        """Return the winners in the order of the rounds, or the greedy's from all received."""
        start, n_before = {}, 0
        parts: list[tuple[int, Points]] = []
        for i, received in enumerate(self._received.values()):
            start[i] = n_before
            parts += [(i, points) for points in received.parts]
            n_before += len(received.rows)
        pool = pool_of(self, parts)
        order = np.array([start[i] + position for i, position in self._picks], dtype=np.int64)
        if self._plan.reselect:
            order = self._final_order(pool)
        return self._selection(pool, order)

    # One round, in the order of its steps.

    def _begin_round(self) -> Round | None:
        if len(self._picks) >= self.setting.size or self._finished == self._plan.rounds:
            return None
        request = self._releases.request(self._finished, self._chosen[: len(self._picks)])
        return Round(request, dict.fromkeys(self._active, request))

    def _check_bids(self, name: str, answer: Answer, count: int) -> Bids:
        if not isinstance(answer, Bids):
            raise ProtocolError(f"{name!r} was asked for bids")
        received = self._received[name].rows
        expected = min(count, self.setting.n_records[name] - len(received))
        if len(answer.scores) != expected or len(answer.rows) != expected:
            raise ProtocolError(f"{name!r}: {expected} bids were expected")
        places = places_of(self._received[name].owner, answer)
        if any(a <= b for a, b in itertools.pairwise(places)):
            raise ProtocolError(f"{name!r}: bids must come best first, without repeats")
        if any(row < 0 for row in answer.rows) or not set(received).isdisjoint(answer.rows):
            raise ProtocolError(f"{name!r}: bids must be for rows that were not sent yet")
        if any(abs(score) >= 2**126 for score in answer.scores):
            raise ProtocolError(f"{name!r}: a score is beyond any real bid")
        return answer

    def _left(self, round_: Round) -> list[list[Place]]:
        """Return the best places not in the summary, sent or unsent: virtual bids among the bids.

        For each owner that takes part. As published, those of unsent points alone.
        """
        batch = self._plan.batch
        bids = [self._places(round_, name) for name in self._active]
        if not self._plan.virtual_bids:
            return bids
        in_hand = self._in_hand(round_, batch)
        return [best_of(both, batch) for both in zip(bids, in_hand, strict=True)]

    def _places(self, round_: Round, name: str) -> list[Place]:
        return places_of(self._received[name].owner, round_.bids[name])

    def _in_hand(self, round_: Round, count: int) -> list[list[Place]]:
        """Return the best received places that are not in the summary, for each such owner."""
        return [self._received[name].best(round_.request, count) for name in self._active]

    def _ask_for_points(self, round_: Round) -> dict[str, BidRequest | SendRequest]:
        ledger, plan = self.setting.ledger, self._plan
        charges = plan.request_charges
        if self.setting.seed is not None and charges:
            charges = (replace(charges[0], event=Seeded(), count=1),)
        # A charge alone, once a run, for the bits of all rounds; each round's are recorded below.
        annex.release("request coins", ledger, "requests", charges, lambda: b"")
        ranks = self._ranks(round_)
        chances = np.where(self._due(round_), 1.0, plan.profile.probability[ranks - 1])
        # Recorded like any release: a resumed run asks for the same points, with the same coins.
        asked = ledger.record(
            f"requests-{self._finished}-{self._spared}",
            lambda: self._toss(chances).astype(np.uint8).tobytes(),
            binding=f"{len(self._active)} owners, {plan.batch} bids",
        )
        flags = np.frombuffer(asked, dtype=np.uint8).astype(bool).reshape(ranks.shape)
        return {
            name: SendRequest(tuple(bool(flag) for flag in row))
            for name, row in zip(self._active, flags, strict=True)
        }

    def _ranks(self, round_: Round) -> NDArray[np.int64]:
        bids = [self._places(round_, name) for name in self._active]
        return ranks_of(bids, round_.left, self._plan.batch)

    def _due(self, round_: Round) -> NDArray[np.bool_]:
        """Return which bids were their owner's best `tau` times: the paper's step 14.

        A function of the owner's own bids, so it is the same whatever the others hold.
        """
        due = np.zeros((len(self._active), self._plan.batch), dtype=bool)
        for k, name in enumerate(self._active):
            for row in round_.bids[name].rows[:1]:
                self._times_best[name, row] += 1
                due[k, 0] = self._times_best[name, row] == self._plan.tau  # then it is sent
        return due

    def _toss(self, chances: NDArray[np.float64]) -> NDArray[np.bool_]:
        shape = chances.shape
        data = (
            secrets.token_bytes(8 * chances.size)
            if self._rng is None
            else self._rng.bytes(8 * chances.size)
        )
        coins = np.frombuffer(data, dtype=np.uint64) >> np.uint64(11)
        return coins.reshape(shape) < (chances * 2.0**53).astype(np.uint64)

    def _check_sent(self, name: str, answer: Answer, round_: Round, request: SendRequest) -> Sent:
        """Check that an owner sent what it bid: the same rows, and points that score the same."""
        bids, bid = round_.bids[name], round_.request
        wanted = {
            row: score
            for row, score, flag in zip(bids.rows, bids.scores, request.wanted, strict=False)
            if flag
        }
        points = self._check_points(name, answer, len(wanted))
        if [int(row) for row in points.rows] != sorted(wanted):
            raise ProtocolError(f"answer of {name!r}: not the rows that were asked for")
        scaled = self.scaled(points.values)
        features = self._releases.features.on_grid(scaled)
        grid = features.astype(np.int64)
        target, summary = grid @ bid.target, grid @ bid.summary
        for row, a, b in zip(points.rows, target, summary, strict=True):
            score = bid.target_factor * int(a) - bid.summary_factor * int(b)
            if score != wanted[int(row)]:
                raise ProtocolError(f"answer of {name!r}: a point does not match its bid")
        return Sent(points, scaled, features)

    def _finish_round(self, round_: Round) -> None:
        """Add the best of everything to the summary."""
        self._take_in(round_)
        count = min(self._plan.batch, self.setting.size - len(self._picks))
        for _, minus_owner, minus_row in self._winners(round_, count):
            received = self._received[self.names[-minus_owner]]
            position = received.take(-minus_row)
            self._chosen[len(self._picks)] = received.scaled[position]
            self._picks.append((-minus_owner, position))
        self._finished += 1
        self._round = None

    def _winners(self, round_: Round, count: int) -> list[Place]:
        best = best_of(self._in_hand(round_, self._plan.batch), count)
        if self._plan.virtual_bids and best != best_of(round_.left, count):
            self._stopped = True
            raise ProtocolError(
                "the best points are not in hand, so the data changed during the run. It must stop"
            )
        return best

    def _take_in(self, round_: Round) -> None:
        """Keep the points that came in this round."""
        for name, sent in round_.sent.items():
            if len(sent.points.rows):
                self._received[name].add(sent)
        round_.sent = {}
