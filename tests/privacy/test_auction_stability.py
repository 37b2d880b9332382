"""The Auction's two lemmas, by brute force through the real roles, and what breaks them."""

import dataclasses

import numpy as np
import pytest
import transcripts

from dpsumm import Auction, Requests
from dpsumm.audit.auction_twins import (
    CoinTies,
    FloatBids,
    ForgetsOnDrop,
    NextBestInHand,
    OwnPointsRanked,
    UnsentPointsRanked,
)
from dpsumm.audit.auction_worlds import Script, SteeredCurator, World, compare
from dpsumm.errors import ProtocolError
from dpsumm.privacy import Ledger
from dpsumm.protocol.messages import BidRequest, Bids, SendRequest
from dpsumm.release import Exact

# Enough that a bound that is reached in one world of twenty is reached: 0.95**300 < 1e-6.
ENOUGH = 300


def draw_worlds(rng, kind, *, n_owners=4, n_records=4, seeds=False, **script):
    """Neighbouring worlds on a 3 x 3 lattice, so that scores tie and records repeat."""
    points = rng.integers(-1, 2, (n_owners, n_records, 2)).astype(float)
    first = {f"o{i}": points[i] for i in range(n_owners)}
    changed, row = rng.integers(1, n_owners), rng.integers(n_records)
    second, rows = dict(first), None
    if kind == "replace":
        new = points[changed].copy()
        new[row] = rng.integers(-1, 2, 2)
        second[f"o{changed}"] = new
    else:
        second[f"o{changed}"] = np.delete(points[changed], row, axis=0)
        rows = [np.arange(n_records) for _ in range(n_owners)]
        rows[changed] = np.delete(rows[changed], row)
    seed_points = rng.integers(-1, 2, (2, 2)).astype(float) if seeds else None
    given = {"size": 6, "batch": 1, "asked": 0.3, **script}
    made = Script.draw(rng, n_owners=n_owners, seed_points=seed_points, **given)
    return first, second, made, rows


def moved(rng, kind, curator=SteeredCurator, drop=None, **more):
    first, second, script, rows = draw_worlds(rng, kind, **more)
    return compare(first, second, script, rng, curator=curator, rows=rows, drop=drop)


# --- Lemmas 1 and 2 ---------------------------------------------------------------------------

CASES = {
    "plain": {},
    "batch": {"batch": 3, "size": 9},
    "last batch cut": {"batch": 4, "size": 6},
    "seeds": {"seeds": True},
    "exhausted owners": {"n_owners": 3, "n_records": 2, "size": 5, "asked": 0.8},
    "everybody asked": {"asked": 1.0},
    "nobody else asked": {"asked": 0.0, "size": 8},
    "two owners": {"n_owners": 2, "n_records": 6},
}
# How far neighbours may come apart: points of the summary.
BOUND = {"replace": 2, "remove": 1}


@pytest.mark.parametrize("kind", ["replace", "remove"])
@pytest.mark.parametrize("case", CASES)
def test_summaries_and_ranks_of_neighbours_stay_close(case, kind, rng):
    for _ in range(25):
        seen = moved(rng, kind, **CASES[case])
        assert seen.points <= BOUND[kind]
        assert seen.ranks <= 1


@pytest.mark.parametrize("kind", ["replace", "remove"])
def test_the_bounds_hold_when_an_owner_is_dropped_on_the_way(kind, rng):
    for _ in range(40):
        drop = (int(rng.integers(4)), f"o{rng.integers(1, 5)}")
        seen = moved(rng, kind, drop=drop, n_owners=5, asked=0.5, batch=int(rng.integers(1, 3)))
        assert seen.points <= BOUND[kind]
        assert seen.ranks <= 1


@pytest.mark.parametrize("kind", ["replace", "remove"])
def test_both_bounds_are_reached(kind, rng):
    points = ranks = 0
    for _ in range(ENOUGH):
        seen = moved(rng, kind, size=8)
        points, ranks = max(points, seen.points), max(ranks, seen.ranks)
        if (points, ranks) == (BOUND[kind], 1):
            return
    pytest.fail(f"reached {points} points and rank {ranks} only")


@pytest.mark.parametrize(
    ("curator", "kind", "what"),
    [
        (OwnPointsRanked, "replace", "ranks"),
        (UnsentPointsRanked, "replace", "ranks"),
        (CoinTies, "remove", "points"),
        (CoinTies, "replace", "points"),
        (FloatBids, "remove", "points"),
        (NextBestInHand, "replace", "points"),
        (NextBestInHand, "remove", "ranks"),
    ],
)
def test_broken_curators_are_caught(curator, kind, what, rng):
    limit = 1 if what == "ranks" else BOUND[kind]
    for _ in range(2 * ENOUGH):
        if getattr(moved(rng, kind, curator), what) > limit:
            return
    pytest.fail("not caught")


def test_a_curator_that_forgets_points_on_a_drop_is_caught(rng):
    for _ in range(4 * ENOUGH):
        drop = (int(rng.integers(3)), f"o{rng.integers(1, 5)}")
        seen = moved(rng, "remove", ForgetsOnDrop, drop=drop, n_owners=5, asked=0.5)
        if seen.points > 1 or seen.ranks > 1:
            return
    pytest.fail("not caught")


def test_an_owner_that_sees_its_own_points_can_lose_rank_one_to_the_last(rng):
    """The worst case of `docs/privacy/auction.md`: one rank moves from 1 to K."""
    worst = 0
    for _ in range(4 * ENOUGH):
        worst = max(worst, moved(rng, "replace", OwnPointsRanked).ranks)
        if worst == 3:
            return
    pytest.fail(f"a rank moved by {worst} of 3")


# --- against a slow twin ----------------------------------------------------------------------


def slow_summary(owners, script, features):
    """Add the best of everything, by (score, owner, row): no owners, no bids, no coins."""
    grid = {name: features.on_grid(points).astype(object) for name, points in owners.items()}
    left = [(i, r) for i, name in enumerate(owners) for r in range(len(owners[name]))]
    picked = []
    while len(picked) < script.size:
        released = script.summary[len(picked)] if picked else np.zeros_like(script.target)
        score = {
            (i, r): (len(picked) + 1) * int(grid[name][r] @ script.target)
            - 2 * int(grid[name][r] @ released)
            for i, name in enumerate(owners)
            for r in range(len(owners[name]))
        }
        left.sort(key=lambda place: (-score[place], place))
        count = min(script.batch, script.size - len(picked))
        picked += left[:count]
        left = left[count:]
    return picked


@pytest.mark.parametrize("case", ["plain", "batch", "last batch cut", "exhausted owners"])
def test_the_summary_is_the_best_of_everything_whatever_the_coins(case, rng):
    for _ in range(8):
        owners, _, script, _ = draw_worlds(rng, "replace", **CASES[case])
        world = World(owners, script)
        while world.collect_bids() is not None:
            world.finish_round()
        picks = [
            (i, world.curator._received[world.curator.names[i]].rows[position])
            for i, position in world.curator._picks
        ]
        assert picks == slow_summary(owners, script, world.curator._features)
        selection = world.curator.select()
        assert [*zip(selection.owner, selection.row, strict=True)] == picks
        world.close()


def test_ranks_count_the_others_points_above_a_bid_sent_or_not(rng):
    for _ in range(10):
        owners, _, script, _ = draw_worlds(rng, "replace", batch=2, size=6)
        world = World(owners, script)
        sent = {i: set() for i in range(len(owners))}
        while (ranks := world.collect_bids()) is not None:
            curator, bid = world.curator, world.curator._bid
            grid = [curator._features.on_grid(p).astype(object) for p in owners.values()]
            place = {
                (i, r): (
                    bid.target_factor * int(grid[i][r] @ bid.target)
                    - bid.summary_factor * int(grid[i][r] @ bid.summary),
                    -i,
                    -r,
                )
                for i in range(len(owners))
                for r in range(len(grid[i]))
            }
            chosen = world.summary()
            best = [
                sorted((place[i, r] for r in range(len(g)) if (i, r) not in chosen), reverse=True)[
                    :2
                ]
                for i, g in enumerate(grid)
            ]
            for i, g in enumerate(grid):
                unsent = sorted(
                    (place[i, r] for r in range(len(g)) if r not in sent[i]), reverse=True
                )
                for b in range(2):
                    others = [v for j, places in enumerate(best) if j != i for v in places]
                    if b < len(unsent):
                        others = [v for v in others if v > unsent[b]]
                    assert ranks[i, b] == 1 + b + len(others)
            world.finish_round()
            for i, name in enumerate(owners):
                sent[i] = set(curator._received[name].rows)
        world.close()


# --- verification by the curator --------------------------------------------------------------


class Run:
    """A run of the whole Auction, message by message."""

    def __init__(self, rng, protocol=None, *, size=6, dtype=np.float64, **more):
        self.owners = {n: rng.normal(size=(12, 3)).astype(dtype) for n in ("a", "b", "c")}
        target = rng.normal(size=(30, 3)).astype(dtype)
        self.roles = transcripts.roles_of(self.owners, target)
        self.book = Ledger(run=more.pop("run", None))
        sizes = {name: len(points) for name, points in self.owners.items()}
        protocol = protocol or Auction(n_features=16, **more)
        setting = transcripts.setting_of(target, sizes, self.book, size=size)
        self.curator = protocol.curator(setting)

    def step(self, skip=()):
        """Send one kind of message and take the answers, but for those of `skip`."""
        requests = self.curator.send()
        answers = {name: self.roles[name].answer(request) for name, request in requests.items()}
        for name, answer in answers.items():
            if name not in skip:
                self.curator.receive(name, answer)
        return requests, answers

    def finish(self):
        while self.step()[0]:
            pass
        return self.curator.select()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["paired", "phase"])
def test_bids_are_reproduced_bit_for_bit(kind, dtype, rng):
    for _ in range(5):
        run = Run(rng, dtype=dtype, feature_kind=kind, size=12, batch=2)
        assert len(run.finish().values) == 12


def wrong_answers(points):
    """Answers that are not the point that was bid."""
    other = points.values.copy()
    other[0, 0] = np.nextafter(other[0, 0] + 1e-3, np.inf)
    nan, infinite = points.values.copy(), points.values.copy()
    nan[0, 1], infinite[0, 1] = np.nan, np.inf
    yield "value", dataclasses.replace(points, values=other)
    yield "NaN", dataclasses.replace(points, values=nan)
    yield "infinity", dataclasses.replace(points, values=infinite)
    yield "row", dataclasses.replace(points, rows=points.rows + 1)
    yield "none", dataclasses.replace(points, rows=points.rows[:0], values=points.values[:0])
    yield "columns", dataclasses.replace(points, values=points.values[:, :2])
    yield "precision", dataclasses.replace(points, values=points.values.astype(np.float32))
    yield "labels", dataclasses.replace(points, labels=np.zeros(len(points.rows)))
    yield "kind", Bids((1,), (0,))


def test_a_point_that_is_not_the_one_bid_is_refused_and_changes_nothing(rng):
    run = Run(rng)
    run.step()
    _, answers = run.step(skip=("b",))
    for what, answer in wrong_answers(answers["b"]):
        with pytest.raises(ProtocolError, match="'b'"):
            run.curator.receive("b", answer)
        assert run.curator._picks == [], what
    with pytest.raises(ProtocolError, match="outstanding"):
        run.curator.send()
    run.curator.receive("b", answers["b"])
    assert len(run.curator._picks) == 1
    run.finish()


def test_bids_out_of_form_are_refused(rng):
    run = Run(rng, batch=2)
    _, answers = run.step(skip=("a",))
    good = answers["a"]
    (high, low), (first, second) = good.scores, good.rows
    for scores, rows in (
        ((low, high), (second, first)),
        ((high, high), (first, first)),
        ((high,), (first,)),
        ((high, low, low), (first, second, 11)),
        ((high, low), (-1, second)),
        ((2**126, low), (first, second)),
        ((high, low), (first,)),
    ):
        with pytest.raises(ProtocolError, match="'a'"):
            run.curator.receive("a", Bids(scores, rows))
    with pytest.raises(ProtocolError):
        run.curator.receive("a", run.roles["a"]._points(np.array([0])))
    with pytest.raises(ProtocolError, match="no request"):
        run.curator.receive("b", answers["b"])
    run.curator.receive("a", good)


def test_a_row_that_was_sent_cannot_be_bid_again(rng):
    run = Run(rng)
    run.step()
    run.step()
    _, answers = run.step(skip=("a",))
    sent = run.curator._received["a"].rows
    with pytest.raises(ProtocolError, match="not sent yet"):
        run.curator.receive("a", Bids(answers["a"].scores, (sent[0],)))


# --- failures ---------------------------------------------------------------------------------


def test_without_spare_rounds_a_failure_ends_the_run(rng):
    run = Run(rng)
    run.step(skip=("b",))
    with pytest.raises(ProtocolError, match="must stop"):
        run.curator.drop("b")


@pytest.mark.parametrize("when", ["bids", "points"])
def test_a_dropped_owner_repeats_the_round_under_the_same_release(when, rng):
    run = Run(rng, spare_rounds=1)
    for _ in range(4):
        run.step()
    before, charged = list(run.curator._picks), run.book.charges()
    if when == "points":
        requests, _ = run.step()
        run.step(skip=("b",))
    else:
        requests, _ = run.step(skip=("b",))
    shown = next(iter(requests.values()))
    charged = run.book.charges()
    run.curator.drop("b")
    assert run.curator._picks == before
    repeated, _ = run.step()
    assert set(repeated) == {"a", "c"}
    again = next(iter(repeated.values()))
    assert isinstance(again, BidRequest)
    assert transcripts.encoded(again) == transcripts.encoded(shown)
    assert run.book.charges() == charged
    with pytest.raises(ProtocolError, match="no request"):
        run.curator.receive("b", Bids((0,), (0,)))
    with pytest.raises(ProtocolError, match="dropped before"):
        run.curator.drop("b")
    with pytest.raises(ProtocolError, match="must stop"):
        run.curator.drop("c")
    selection = run.finish()
    assert len(selection.values) == 6
    # What it had in the summary before stays; nothing comes after.
    late = selection.owner[len(before) :]
    assert not (late == 1).any()


def test_points_that_came_before_a_drop_stay_available(rng):
    """Else what is available would depend on the coins, and Lemma 1 would fail."""
    run = Run(rng, spare_rounds=1)
    run.step()
    _, answers = run.step(skip=("b",))
    run.curator.drop("b")
    _, bids = run.step()
    for name in "ac":
        sent = set(answers[name].rows)
        assert sent <= set(run.curator._received[name].rows)
        assert not sent & set(bids[name].rows)
    run.finish()


def test_a_drop_waits_for_the_answers_of_the_others(rng):
    run = Run(rng, spare_rounds=1)
    run.step()
    run.step(skip=("b", "c"))
    with pytest.raises(ProtocolError, match="outstanding"):
        run.curator.drop("b")


def test_spare_rounds_are_charged_beforehand(rng):
    """A repeated round sends its release again, so only its request bits are paid for."""
    target = rng.normal(size=(30, 3))
    sizes = {f"owner {i}": 12 for i in range(20)}
    plans = []
    for spare in (0, 5):
        protocol = Auction(spare_rounds=spare, requests=Requests.PRIVATE, epsilon_owners=20.0)
        setting = transcripts.setting_of(target, sizes, Ledger(), size=6)
        plans.append(protocol.curator(setting)._plan)
    noise = [plan.summary.noise_multiplier for plan in plans]
    assert noise[0] == pytest.approx(noise[1], rel=1e-6)
    assert plans[0].profile.expected < 0.9 * plans[1].profile.expected


# --- what an owner receives -------------------------------------------------------------------


def test_a_resumed_run_sends_the_same_messages(rng, tmp_path):
    owners = {n: rng.normal(size=(15, 3)) for n in "abcdefgh"}
    target = rng.normal(size=(30, 3))
    sizes = {name: 15 for name in owners}
    received = []
    for steps in (7, 100):
        roles = transcripts.roles_of(owners, target)
        with Ledger(tmp_path / "books", run="died") as book:
            protocol = Auction(requests=Requests.PRIVATE, epsilon_owners=20.0, n_features=16)
            setting = transcripts.setting_of(target, sizes, book, size=6)
            curator, messages = protocol.curator(setting), []
            assert curator._plan.profile.probability.min() < 0.9
            while len(messages) < steps and (requests := curator.send()):
                messages.append([transcripts.encoded(r) for r in requests.values()])
                for name, request in requests.items():
                    curator.receive(name, roles[name].answer(request))
            received.append(messages)
    assert received[1][:7] == received[0]
    assert len(received[1]) == 12


def test_with_all_requests_the_bits_are_constant(rng):
    run = Run(rng, batch=2)
    while requests := run.step()[0]:
        for request in requests.values():
            if isinstance(request, SendRequest):
                assert request.wanted == (True, True)
    assert {c.message.split(" (")[0] for c in run.book.charges()} == {
        "target's noisy mean embedding",
        "noisy mean embedding of the summary so far",
    }


def test_exact_releases_are_charged_as_infinite(rng):
    run = Run(rng, target_release=Exact(), summary_release=Exact())
    run.finish()
    assert all(type(c.event).__name__ == "NonPrivate" for c in run.book.charges())
