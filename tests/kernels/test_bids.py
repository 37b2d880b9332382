"""The cached bidder equals the slow one after any sequence of messages."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from dpsumm import kernels
from helpers.effort import examples
from reference import bids

LARGEST = 32767


class Messages(RuleBasedStateMachine):
    """Directions, dense and after sparse changes; points that arrive and leave; ties."""

    @initialize(
        n=st.integers(0, 12),
        width=st.integers(1, 12),
        span=st.sampled_from([1, 2, LARGEST]),
        seed=st.integers(0, 2**32 - 1),
    )
    def begin(self, n, width, span, seed):
        self.rng = np.random.default_rng(seed)
        self.width, self.span = width, span
        features = self._features(n)
        self.fast, self.slow = kernels.Bidder(features), bids.Bidder(features)
        self.directions = {
            "target": np.zeros(width, np.int64),
            "summary": np.zeros(width, np.int64),
        }

    def _features(self, n):
        return self.rng.integers(-self.span, self.span + 1, (n, self.width)).astype(np.int16)

    def _set(self, which, direction):
        self.directions[which] = direction
        getattr(self.fast, f"set_{which}")(direction)
        setattr(self.slow, which, direction)

    @rule(which=st.sampled_from(["target", "summary"]), size=st.sampled_from([1, 1000, 2**43]))
    def dense_direction(self, which, size):
        self._set(which, self.rng.integers(-size, size + 1, self.width))

    @rule(which=st.sampled_from(["target", "summary"]), size=st.sampled_from([1, 2**43]))
    def sparse_direction(self, which, size):
        direction = self.directions[which].copy()
        direction[self.rng.integers(self.width)] = self.rng.integers(-size, size + 1)
        self._set(which, direction)

    @rule(n=st.integers(0, 5))
    def append(self, n):
        features = self._features(n)
        free = np.setdiff1d(np.arange(60), self.slow.ids)
        if len(free) >= n:
            ids = self.rng.choice(free, n, replace=False).astype(np.int64)
            self.fast.append(features, ids)
            self.slow.append(features, ids)

    @rule(pick=st.integers(0, 10**6))
    def remove(self, pick):
        left = [row for row in range(len(self.slow.ids)) if row not in self.slow.gone]
        if left:
            row = left[pick % len(left)]
            self.fast.remove(row)
            self.slow.gone.add(row)

    @invariant()
    def bids_are_equal(self):
        for factors in ((1, 0), (0, 1), (7, 3), (2**31, 2**31), (-1, -2)):
            for count in (1, 3, 1000):
                assert self.fast.best(*factors, count) == self.slow.best(*factors, count)


Messages.TestCase.settings = examples(30, stateful_step_count=20)
test_bidder_equals_the_slow_one = Messages.TestCase


def test_equal_bids_go_to_the_smaller_id():
    bidder = kernels.Bidder(np.zeros((0, 2), np.int16))
    bidder.append(np.ones((3, 2), np.int16), np.array([30, 10, 20]))
    assert bidder.best(1, 1, 3) == ([1, 2, 0], [0, 0, 0])
    bidder.remove(1)
    assert bidder.best(1, 1, 3)[0] == [2, 0]


def test_scores_are_exact_beyond_64_bits():
    bidder = kernels.Bidder(np.full((1, 1), 32767, np.int16))
    bidder.set_target(np.array([2**47]))
    bidder.set_summary(np.array([-(2**47)]))
    factor = 2**62
    assert bidder.best(factor, factor, 1)[1] == [2 * factor * 32767 * 2**47]
