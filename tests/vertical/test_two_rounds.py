"""Two rounds of tables: what is opened, what it costs, what is chosen, what nobody may ask for."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpsumm.errors import InvalidParameterError, ProtocolError
from dpsumm.privacy import Ledger
from dpsumm.vertical.chosen import chosen, grouped
from dpsumm.vertical.messages import Finish, Refine, Start, TwoWay
from dpsumm.vertical.noise import least_joined, plan_noise, refined
from dpsumm.vertical.wire import CODEC
from dpsumm.vertical.work import kept, restored
from helpers.chance import FALSE_ALARM
from helpers.columns import NAMES, NONCES, RUN, World

SIZES = [[8, 3, 2], [9, 2]]


@pytest.fixture
def silent(monkeypatch):
    """Owners without noise: what is opened is then the exact tables."""
    monkeypatch.setattr(
        "dpsumm.privacy.release.noise.rounded_normal",
        lambda std, size, seed: np.zeros(size, np.int64),
    )


@pytest.mark.parametrize("label", [None, 0, 4])
@pytest.mark.parametrize(
    "sizes", [SIZES, [[3, 1, 7, 2], [5, 4], [6, 2]], [[7, 2, 3, 4, 5], [1]]], ids=str
)
def test_what_is_opened_is_the_tables_of_both_rounds(rng, silent, sizes, label):
    world = World(rng, sizes, 300, label=label)
    world.in_two_rounds(again=1)
    released = world.run()
    active = [j for j, size in enumerate(world.layout.sizes) if size > 1]
    without = {pair for pair in combinations(active, 2) if label not in pair}
    assert set(released.coarse) == set(released.plan.coarse) == without
    assert len([pair for pair in released.pairs if label not in pair]) == len(active)
    assert {pair for pair in combinations(active, 2) if label in pair} == set(released.with_label)
    assert all(not noise.any() for noise in world.noise(released))
    assert {max(table.shape) for table in released.coarse.values()} <= {2, 3, 4}


@given(st.integers(0, 2**32))
def test_the_noise_of_both_rounds_is_what_was_planned(seed):
    label = 1 if seed % 2 else None
    world = World(np.random.default_rng(seed), SIZES, 200, label=label, seed=seed)
    world.in_two_rounds((0, 3), again=1)
    released = world.run()
    plan = released.plan
    for noise, (pair, std) in zip(world.noise(released), plan.every, strict=True):
        variance = std**2 * (2 if plan.is_cross(pair) else 1) + 1 / 6
        square = (noise.astype(float) ** 2).sum() / variance
        least = FALSE_ALARM / 10_000
        assert least < stats.chi2.cdf(square, noise.size) < 1 - least


def test_charges_are_those_of_all_tables_and_two_owners_stay_in_the_budget(rng):
    world = World(rng, SIZES, 200)
    world.in_two_rounds(again=1)
    plan = world.run().plan
    for p, name in enumerate(world.layout.owners):
        charges = world.books[name].charges()
        assert [charge.message.split(" (")[0] for charge in charges] == [
            "one-way tables", *["two-way tables"] * 2
        ]  # fmt: skip
        charged = sum(1 / charge.event.noise_multiplier**2 for charge in charges)
        assert charged == pytest.approx(plan.mu_charged(p) ** 2, rel=1e-9)
        assert charged >= plan.mu_charged(p) ** 2
        assert plan.mu_charged(p) <= 1 / world.budget.noise_multiplier


@given(st.integers(0, 2**32), st.floats(0.3, 5))
def test_whatever_is_chosen_nobody_learns_more_than_the_budget(seed, multiplier):
    rng = np.random.default_rng(seed)
    owners = int(rng.integers(2, 5))
    owner_of = sorted([*range(owners), *rng.integers(owners, size=5)])
    columns, label = len(owner_of), 0 if seed % 2 else None
    sizes = rng.integers(2, 30, size=columns)
    first = plan_noise(sizes, owner_of, multiplier, label=label)
    groups = np.minimum(sizes, rng.integers(2, 5, size=columns))
    plan = plan_noise(
        groups, owner_of, multiplier, label=label,
        singles=(first.counted, first.single_std), part=float(rng.uniform(0.1, 0.9)),
    )  # fmt: skip
    without = [pair for pair in plan.pairs if label not in pair]
    again = [without[k] for k in sorted(rng.permutation(len(without))[: rng.integers(1, 9)])]
    both = refined(plan, sizes, again, multiplier, again[:1])
    found = [both.mu(v) for v in (None, *range(owners))]
    assert max(found) <= 1 / multiplier
    assert [plan.mu(v) < mu for v, mu in zip((None, *range(owners)), found, strict=True)].count(
        True
    )
    floored = any(std == least_joined(2) for std in both.pair_std)
    if plan.joined and not floored:
        assert max(found) == pytest.approx(1 / multiplier, rel=1e-3)
    assert both.joined == plan.joined
    cross = [std for pair, std in both.every if both.is_cross(pair)]
    assert both.joined == (min(cross, default=9) >= 3 * 2**0.5)
    assert set(both.coarse) == set(without)
    assert {pair for pair in both.pairs if label not in pair} == set(again)
    # By hand, table by table.
    for observer, mu in zip((None, *range(owners)), found, strict=True):
        total = sum(2 / both.single_std**2 for j in both.counted if owner_of[j] != observer)
        for pair, std in [
            *zip(both.pairs, both.pair_std, strict=True),
            *zip(both.coarse, both.coarse_std, strict=True),
        ]:
            holders = {owner_of[j] for j in pair} - {observer}
            total += 2 / (std**2 * (len(holders) if both.joined else 1)) if holders else 0
        assert mu**2 == pytest.approx(total, rel=1e-12)


def test_what_was_opened_is_restored_from_its_bytes(rng):
    world = World(rng, SIZES, 200, label=1)
    world.in_two_rounds(again=1)
    released = world.run()
    again = restored(world.layout, world.budget, kept(released))
    assert again.plan == released.plan
    for name in ("pairs", "coarse", "with_label"):
        one, other = getattr(released, name), getattr(again, name)
        assert list(one) == list(other)
        for pair in one:
            np.testing.assert_array_equal(one[pair], other[pair])


def test_few_columns_or_pairs_are_counted_in_one_round(rng):
    world = World(rng, SIZES, 200)
    world.budget = replace(world.budget, coarse=0.2)
    assert not world.run().coarse
    world.in_two_rounds(again=2)  # as many pairs as there are
    world.books = {name: Ledger(run=RUN) for name in world.books}
    assert not world.run().coarse


def test_the_choice_of_an_earlier_life_stands(rng):
    """Tables that were kept decide, not those that are opened anew."""
    world = World(rng, SIZES, 200)
    world.in_two_rounds(again=1)
    owner, coordinator, opened = world.owner, world.coordinator, []

    def joint(name):
        made = owner(name)
        made._joint = True  # its shares are made anew in every life
        return made

    def keeping():
        made = coordinator()
        made._keep = lambda raw: opened.append(raw) or opened[0]
        return made

    world.owner, world.coordinator = joint, keeping
    released, again = world.run(), world.run()
    assert opened[0] != opened[1]
    assert again.plan == released.plan
    for pair, table in released.coarse.items():
        np.testing.assert_array_equal(table, again.coarse[pair])
    for book in world.books.values():
        assert len(book.charges()) == 3


def test_a_resumed_run_sends_the_same_bytes_and_is_charged_once(rng, tmp_path):
    paths = {name: tmp_path / name for name in NAMES[:2]}
    for path in paths.values():
        Ledger.create(path).close()
    lives = []
    world = None
    for _ in range(2):
        books = {name: Ledger(path, run=RUN) for name, path in paths.items()}
        if world is None:
            world = World(rng, SIZES, ledgers=books)
            world.nonces = NONCES
            world.in_two_rounds(again=1)
        world.books, world.sent = books, []
        world.run()
        lives.append([(name, raw) for name, _, raw in world.sent])
        for book in books.values():
            assert len(book.charges()) == 3
            book.close()
    assert lives[0] == lives[1]


@pytest.fixture
def asked(rng):
    """A world after its run, and what one owner was asked for, by kind."""
    world = World(rng, SIZES, 100, label=1)
    world.in_two_rounds(again=1)
    world.run()
    return world, [request for name, request, _ in world.sent if name == NAMES[0]]


def test_another_second_round_is_refused(asked):
    world, requests = asked
    owner = world.owner(NAMES[0])
    last = requests[-1]
    # Of the pairs that were chosen, some may be with the other owner alone, or none.
    other = replace(last, within=last.within * 2, noise=tuple(std * 2 for std in last.noise))
    for request in requests[:-1]:
        owner.answer(request)
    with pytest.raises(InvalidParameterError, match="settings"):
        owner.answer(other)
    assert len(world.books[NAMES[0]].charges()) == 3


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda asked: replace(asked, within=asked.within[:2]), "does not fit"),
        (lambda asked: replace(asked, within=asked.within.T + 9), "once"),
        (lambda asked: replace(asked, noise=()), "does not fit"),
        (lambda asked: replace(asked, within=_one(asked.within, (1, 2))), "the label"),
        (lambda asked: replace(asked, noise=(_one(asked.noise[0], (1, 0)),)), "the label"),
        (lambda asked: replace(asked, noise=(asked.noise[0] * 1e8,)), "ring"),
    ],
)
def test_a_second_round_that_does_not_fit_is_refused(asked, change, told):
    world, requests = asked
    world.books = {name: Ledger(run=RUN) for name in world.books}
    owner = world.owner(NAMES[0])
    for request in requests[:-1]:
        owner.answer(request)
    assert isinstance(requests[-1], Refine)
    with pytest.raises(ProtocolError, match=told):
        owner.answer(change(requests[-1]))
    assert len(world.books[NAMES[0]].charges()) == 2


def _one(noise, at):
    changed = noise.copy()
    changed[at] = 9.0
    return changed


def test_no_second_round_before_the_first_has_ended_or_where_there_is_none(asked, rng):
    world, requests = asked
    world.books = {name: Ledger(run=RUN) for name in world.books}
    owner = world.owner(NAMES[0])
    for request in requests:
        if isinstance(request, Finish):
            break
        owner.answer(request)
    with pytest.raises(ProtocolError, match="no second round"):
        owner.answer(requests[-1])
    single = World(rng, SIZES, 100, label=1)
    single.run()
    owner = single.owner(NAMES[0])
    single.books[NAMES[0]].close()
    owner._ledger = Ledger(run=RUN)
    for request in (r for name, r, _ in single.sent if name == NAMES[0]):
        owner.answer(request)
    with pytest.raises(ProtocolError, match="no second round"):
        owner.answer(requests[-1])


@pytest.mark.parametrize(
    "change",
    [
        lambda start: replace(start, groups=start.groups[:-1]),
        lambda start: replace(start, groups=start.groups + 1),
        lambda start: replace(start, groups=start.groups * 2),
        lambda start: replace(start, peer_groups=()),
        lambda start: replace(start, groups=np.zeros(0, np.int64)),
        lambda start: replace(start, peer_groups=(start.peer_groups[0][1:],)),
    ],
)
def test_groups_that_do_not_fit_are_refused(asked, change):
    world, requests = asked
    world.books = {name: Ledger(run=RUN) for name in world.books}
    owner = world.owner(NAMES[0])
    for request in requests:
        if isinstance(request, Start):
            with pytest.raises(ProtocolError, match="groups"):
                owner.answer(change(request))
            break
        owner.answer(request)


@given(st.lists(st.integers(-20, 1000), min_size=2, max_size=40))
def test_groups_are_two_to_four_in_order(counts):
    groups = grouped(np.array(counts, float))
    assert groups[0] == 0
    assert 1 <= groups[-1] <= 3
    assert set(np.diff(groups)) <= {0, 1}


def test_pairs_that_depend_are_chosen_and_named_ones_always():
    """Among 20 columns, by tables with noise."""
    rng = np.random.default_rng(0)
    n, std = 20_000, 150.0
    codes = rng.integers(0, 4, (n, 20))
    dependent = [(2 * k, 2 * k + 1) for k in range(6)]
    for i, j in dependent:
        codes[:, j] = np.where(rng.random(n) < 0.3, codes[:, i], codes[:, j])
    tables = {}
    for i, j in combinations(range(20), 2):
        exact = np.bincount(codes[:, i] * 4 + codes[:, j], minlength=16).reshape(4, 4)
        tables[i, j] = exact + np.rint(rng.normal(0, std, (4, 4))).astype(np.int64)
    shares = [np.bincount(column, minlength=4) / n for column in codes.T]
    stds = dict.fromkeys(tables, std)
    found = chosen(tables, shares, stds, n, 6, [(18, 19)])
    assert found == sorted([*dependent, (18, 19)])
    # One-way shares that are off make no dependence.
    off = [np.array([0.4, 0.2, 0.2, 0.2]), *shares[1:]]
    assert set(dependent) <= set(chosen(tables, off, stds, n, 7, ()))


@pytest.mark.parametrize("std", [0.7, 1.0, 1.3])
def test_what_two_rounds_of_shares_show_is_rounded_gaussian_noise(std):
    """Shares of one secret leave in both rounds, so the analyst sees more than two sums.

    In a cell: a + b, c - a and d - b of four rounded normals, a and c of one owner, b and d of the
    other. Their law is the density of normals plus uniform numbers at the integers, which is
    rounding, up to exp(-(pi std)^2 / 2); docs/privacy/rows.md has the argument.
    """
    reach = round(5 * std)
    at = np.arange(-2 * reach, 2 * reach + 1)

    def law(x):
        return stats.norm.cdf((x + 0.5) / std) - stats.norm.cdf((x - 0.5) / std)

    def view(a):
        """Sum over a, for each of the three numbers."""
        total, one, other = at[:, None, None], at[:, None], at
        seen = np.zeros((len(at),) * 3)
        for x in a:
            seen += law(x) * law(one + x) * law(total - x) * law(other + total - x)
        return seen

    steps = 4
    exact = view(np.arange(-2 * reach, 2 * reach + 1))
    smooth = view(np.arange(-2 * reach * steps, 2 * reach * steps + 1) / steps) / steps
    assert exact.sum() == pytest.approx(1, abs=1e-3)
    distance = np.abs(exact - smooth).sum() / 2
    bound = np.exp(-((np.pi * std) ** 2) / 2)
    assert 0.05 * bound < distance < 2 * bound


@pytest.mark.parametrize("label", [None, 4])
def test_nothing_but_tables_leaves_in_either_round(rng, monkeypatch, label):
    """Where there is no table, the answer is 0: neither bins beside groups nor pairs left out."""
    monkeypatch.setattr(
        "dpsumm.privacy.release.noise.rounded_normal",
        lambda std, size, seed: np.full(size, 7),
    )
    world = World(rng, SIZES, 200, label=label)
    world.in_two_rounds(again=1)
    released = world.run()
    plan = released.plan
    coarse = {pair: table.size for pair, table in released.coarse.items()}
    bins = {pair: int(np.prod(plan.shape(pair))) for pair in plan.pairs}
    first = {**coarse, **{pair: bins[pair] for pair in bins if pair not in coarse}}
    second = {pair: bins[pair] for pair in bins if pair in coarse}
    answers = [CODEC.decode(raw) for *_, raw in world.sent]
    answers = [one for one in answers if isinstance(one, TwoWay)]
    assert len(answers) == 4
    for number, tables in enumerate((first, second)):
        for place, one in enumerate(answers[2 * number : 2 * number + 2]):
            own = {j for j, p in enumerate(plan.owner_of) if p == place}
            within = sum(size for pair, size in tables.items() if {*pair} <= own)
            across = sum(size for pair, size in tables.items() if plan.is_cross(pair))
            assert np.count_nonzero(one.within) == within
            # Words of a share are 0 by chance once in 4 thousand million.
            assert across - 1 <= np.count_nonzero(one.shares[0]) <= across
