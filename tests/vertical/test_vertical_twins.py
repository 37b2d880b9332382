"""Owners with one mistake each: every check must see the mistake, and let the honest one pass."""

import numpy as np
import pytest
from scipy import stats

import dpsumm.vertical.helper as helper_module
import dpsumm.vertical.secret_products as products_module
from dpsumm.audit.changed_noise import ChangedNoise, share_of
from dpsumm.privacy import Ledger
from dpsumm.privacy import release as kernel
from dpsumm.privacy.release import PaidNoise
from dpsumm.vertical.bins import merged_codes
from dpsumm.vertical.messages import ColumnCounts, MaskedRows
from dpsumm.vertical.owner import Owner
from dpsumm.vertical.wire import CODEC
from helpers.chance import FALSE_ALARM
from helpers.columns import NONCES, RUN, World


class SharedNoise(Owner):
    """BROKEN: takes the noise of both owners together for what is charged."""

    def _with_noise(self, product, k, exact, noise):
        return super()._with_noise(product, k, exact, share_of(noise, 0.5**0.5))


class WrongScale(Owner):
    """BROKEN: draws the noise in other units than the counts."""

    def _with_noise(self, product, k, exact, noise):
        return super()._with_noise(product, k, exact, share_of(noise, 2.0**-8))


class BareShare(Owner):
    """BROKEN: sends its share before the noise is added."""

    def _with_noise(self, product, k, exact, noise):
        super()._with_noise(product, k, exact, noise)
        return exact


class OneNoise(Owner):
    """BROKEN: draws one array of noise, and uses it for all tables of a size."""

    def _with_noise(self, product, k, exact, noise):
        kept = self.__dict__.setdefault("kept", {})
        one = ChangedNoise(noise, lambda drawn: kept.setdefault(drawn.size, drawn))
        return super()._with_noise(product, k, exact, one)


class FreshRetry(Owner):
    """BROKEN: draws anew what it is asked for again."""

    def _released(self, key, sums, draw, binding, kind):
        super()._released(key, sums, draw, binding, kind)
        return CODEC.decode(draw(PaidNoise(sums.queries)))


class ExactMerge(Owner):
    """BROKEN: has levels merged by their exact counts."""

    least = 0.0

    def _count(self, request):
        exact = np.concatenate(
            [
                np.bincount(column, minlength=size)
                for column, size in zip(self._codes.T, self._sizes, strict=True)
            ]
        )
        apart = np.where(exact < self.least, -1000, 1000)
        return ColumnCounts(apart, self._nonce)


def of_kind(kind, *arguments, **more):
    """Return a world of such owners."""
    world = World(*arguments, **more)
    world.owner_kind = kind
    return world


def noise_of_clinic(kind, rng, sizes, monkeypatch):
    """Return what the second owner added to tables of both, and the plan."""
    honest = kind._with_noise

    def quiet(self, product, k, exact, noise):
        noisy = honest(self, product, k, exact, noise)
        return exact if self.name == "bank" else noisy

    monkeypatch.setattr(kind, "_with_noise", quiet)
    world = of_kind(kind, rng, sizes, 50)
    released = world.run()
    across = [pair for pair in released.pairs if released.plan.is_cross(pair)]
    noise = {pair: released.pairs[pair] - world.exact(*pair, released) for pair in across}
    return noise, released.plan


@pytest.mark.parametrize(
    ("kind", "honest"),
    [(Owner, True), (SharedNoise, False), (WrongScale, False), (BareShare, False)],
)
def test_the_noise_in_a_share_is_what_its_owner_is_charged_for(rng, kind, honest, monkeypatch):
    """With the other owner's noise known, as it is to that owner."""
    found, plan = noise_of_clinic(kind, rng, [[40], [45]], monkeypatch)
    noise = found[0, 1]
    square = (noise.astype(float) ** 2).sum() / (plan.pair_std[0] ** 2 + 1 / 12)
    fits = FALSE_ALARM / 2 < stats.chi2.cdf(square, noise.size) < 1 - FALSE_ALARM / 2
    assert fits == honest


@pytest.mark.parametrize(("kind", "honest"), [(Owner, True), (OneNoise, False)])
def test_two_tables_have_two_noises(rng, kind, honest, monkeypatch):
    found, _ = noise_of_clinic(kind, rng, [[9, 9], [9]], monkeypatch)
    assert ((found[0, 2] != found[1, 2]).any()) == honest


def test_two_tables_never_share_a_noise(rng, monkeypatch):
    """Of all that is drawn in a run, seeded."""
    draws, draw = [], kernel.noise.rounded_normal

    def spy(std, size, seed):
        noise = draw(std, size, seed)
        draws.append((seed, noise.tobytes()))
        return noise

    monkeypatch.setattr(kernel.noise, "rounded_normal", spy)
    World(rng, [[9, 8], [7, 9]], 50, seed=3).run()
    assert len(draws) == 4 + 2 + 2 * 4
    assert len({seed for seed, _ in draws}) == len({noise for _, noise in draws}) == len(draws)


@pytest.mark.parametrize(("kind", "same"), [(Owner, True), (FreshRetry, False)])
def test_what_is_asked_for_again_is_the_same(rng, kind, same):
    world = of_kind(kind, rng, [[9, 8], [7]], 50)
    world.nonces = NONCES
    world.run()
    first, world.sent = world.sent, []
    world.run()
    answers = [[raw for _, _, raw in sent] for sent in (first, world.sent)]
    assert (answers[0] == answers[1]) == same


@pytest.mark.parametrize("honest", [True, False], ids=["fresh pads", "a reused seed"])
def test_two_runs_do_not_show_how_their_records_differ(rng, honest, monkeypatch):
    """The twin: pads that are not bound to the runs' nonces."""
    if not honest:
        bound = helper_module.pad_of

        def reused(secret, **about):
            return bound(secret, **about | {"nonces": ("0" * 32, "0" * 32)})

        monkeypatch.setattr(helper_module, "pad_of", reused)
        monkeypatch.setattr(products_module, "pad_of", reused)
    world, seen = World(rng, [[5], [4]], rows=200), []
    for _ in range(2):
        world.books = {name: Ledger(run=RUN) for name in world.books}
        world.codes[0] = world.codes[0][rng.permutation(200)]
        world.sent = []
        world.run()
        answers = [CODEC.decode(raw) for name, _, raw in world.sent if name == "bank"]
        seen.append(next(a.masked[0] for a in answers if isinstance(a, MaskedRows)))
    apart = (seen[0] - seen[1]).view(np.int32)
    assert (np.abs(apart).max() > 1) == honest


def complete(codes):
    """BROKEN: leave out records of which any owner lacks a value."""
    whole = (np.hstack(codes) > 0).all(axis=1)
    return [part[whole] for part in codes]


@pytest.mark.parametrize(("kept", "honest"), [(list, True), (complete, False)])
def test_what_one_owner_lacks_does_not_move_another_s_tables(rng, kept, honest):
    """Level 0 is a missing value. One record of the clinic loses its own, noise is the same."""
    world, found = World(rng, [[4, 3], [5]], 200, seed=3), []
    codes = [part.clip(1) for part in world.codes]
    for missing in (False, True):
        codes[1][7] = 0 if missing else 1
        world.codes = kept(codes)
        world.books = {name: Ledger(run=RUN) for name in world.books}
        released = world.run()
        of_bank = [released.singles[0], released.singles[1], released.pairs[0, 1].ravel()]
        found.append(np.concatenate(of_bank))
    assert (found[0] == found[1]).all() == honest


@pytest.mark.parametrize(("kind", "honest"), [(Owner, True), (ExactMerge, False)])
def test_one_record_does_not_decide_what_is_merged(rng, kind, honest, monkeypatch):
    """A level at the limit: its fate is the noise's, on whichever side its count is."""
    merged = []
    probe = World(rng, [[3], [2]], 400, keep=3.0)
    limit = int(np.ceil(3.0 * probe.coordinator()._first.single_std))
    assert 10 < limit < 200
    monkeypatch.setattr(ExactMerge, "least", limit)
    for count in (limit - 1, limit):
        fates = []
        for _ in range(40):  # a fair coin's are all alike in one of 2**39
            world = of_kind(kind, rng, [[3], [2]], 400, keep=3.0)
            world.codes[0][:, 0] = np.where(np.arange(400) < count, 0, 2)
            released = world.run()
            codes = released.codes[0]
            fates.append(bool(codes[0] == codes[1]))
            least = 3.0 * released.plan.single_std
            np.testing.assert_array_equal(codes, merged_codes(released.singles[0], least))
        merged.append(np.mean(fates))
    assert (0 < min(merged) <= max(merged) < 1) == honest
