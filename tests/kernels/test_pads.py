"""Secret products against the plain ones, in any pieces; what is sent is uniform."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpsumm import kernels
from dpsumm.errors import InvalidParameterError
from dpsumm.kernels import Pad, one_hot_product, pair_counts
from helpers.chance import FALSE_ALARM
from reference.vertical import one_hot

SIGNED = {32: np.int32, 64: np.int64}


def some_codes(rng, rows, sizes):
    starts = np.cumsum([0, *sizes[:-1]])
    return np.stack([rng.integers(size, size=rows) for size in sizes], axis=1) + starts


def secret_product(left, right, widths, pieces, ring, noise=0):
    """Run the protocol on matrices in pieces of rows; return what is opened."""
    pads = [Pad(width, ring=ring) for width in widths]
    shares = [pads[0].share(widths[1]), pads[0].correction(pads[1], len(left))]
    bounds = [0, *pieces, len(left)]
    for start, end in pairwise(bounds):
        to_right = pads[0].mask(left[start:end], first_row=start)
        to_left = pads[1].mask(right[start:end], first_row=start)
        shares[0] = shares[0] + one_hot_product(left[start:end], widths[0], to_left)
        shares[1] = shares[1] + pads[1].product(to_right, first_row=start)
    word = shares[0].dtype
    noisy = shares[0] + np.asarray(noise).astype(word)
    return (noisy + shares[1]).view(SIGNED[ring])


@given(st.integers(0, 2**32), st.integers(0, 300), st.sampled_from([32, 64]))
def test_what_is_opened_is_the_product(seed, rows, ring):
    rng = np.random.default_rng(seed)
    sizes = [list(rng.integers(1, 9, size=n)) for n in rng.integers(1, 4, size=2)]
    left, right = (some_codes(rng, rows, s) for s in sizes)
    widths = [int(sum(s)) for s in sizes]
    pieces = sorted(rng.integers(0, rows + 1, size=3))
    noise = rng.integers(-50, 50, size=widths)
    found = secret_product(left, right, widths, pieces, ring, noise)
    wanted = one_hot(left, widths[0]).T @ one_hot(right, widths[1])
    np.testing.assert_array_equal(found, wanted + noise)


def test_the_worked_example():
    """The figures of docs/privacy/rows.md, by hand: the identity holds for any pads."""
    left, right = np.array([[1, 0], [0, 1], [1, 0]]), np.array([[1, 0, 0], [0, 0, 1], [0, 1, 0]])
    u, v = np.array([[1, 2], [3, 4], [-1, 6]]), np.array([[7, 8, 9], [10, 11, 12], [13, 14, -1]])
    c0, noise = np.array([[5, 5, 5], [6, 6, 6]]), np.array([[1, -1, 0], [2, 0, -3]])
    c1 = u.T @ v - c0
    np.testing.assert_array_equal(c1, [[19, 22, 41], [126, 138, 54]])
    share = (left - u).T @ v + c1
    np.testing.assert_array_equal(share, [[15, 17, 3], [4, 5, 6]])
    opened = left.T @ (right - v) + c0 + noise + share
    np.testing.assert_array_equal(opened, [[2, 0, 0], [2, 0, -2]])
    found = secret_product([[0], [1], [0]], [[0], [2], [1]], [2, 3], [1], 32, noise)
    np.testing.assert_array_equal(found, opened)


def uniform(words):
    """Return the p-value that words are uniform, by their top and low bytes together."""
    shift = words.dtype.itemsize * 8 - 8
    counts = [np.bincount((words >> s).ravel() & 0xFF, minlength=256) for s in (0, shift)]
    return min(1, 2 * min(stats.chisquare(c).pvalue for c in counts))


@pytest.mark.parametrize("ring", [32, 64])
def test_what_is_sent_and_each_share_are_uniform_whatever_the_records(ring):
    codes = np.zeros((2000, 1), int)  # the records that a pad hides worst: all alike
    left, right = Pad(20, ring=ring), Pad(30, ring=ring)
    shares = np.stack([Pad(20, ring=ring).share(30) for _ in range(40)])
    dealt = np.stack([Pad(2, ring=ring).correction(Pad(8, ring=ring), 30) for _ in range(2000)])
    for words in (left.mask(codes), right.mask(codes), shares, dealt):
        assert uniform(words.reshape(-1, words.shape[-1])) > FALSE_ALARM


def test_the_comparison_sees_a_mask_of_31_bits_and_none():
    masked = Pad(20).mask(np.zeros((2000, 1), int))
    assert uniform(masked & np.uint32(2**31 - 1)) < FALSE_ALARM
    assert uniform(one_hot(np.zeros((2000, 1), int), 20).astype(np.uint32)) < FALSE_ALARM


def test_a_key_that_is_used_twice_shows_the_difference():
    pad = Pad(3)
    first, second = pad.mask([[0], [1]]), pad.mask([[0], [2]])
    np.testing.assert_array_equal((first - second).view(np.int32), [[0, 0, 0], [0, 1, -1]])


def test_keys_are_fresh_kept_and_not_shown():
    one, other = Pad(2), Pad(2)
    assert one.key != other.key
    again = Pad(2, one.key)
    np.testing.assert_array_equal(again.mask([[1]]), one.mask([[1]]))
    assert repr(one) == "Pad(width=2, ring=32)"


@given(st.integers(0, 2**32), st.integers(0, 200))
def test_pairs_are_those_of_the_plain_product(seed, rows):
    rng = np.random.default_rng(seed)
    sizes = list(rng.integers(1, 6, size=rng.integers(1, 5)))
    codes, width = some_codes(rng, rows, sizes), int(sum(sizes))
    dense = one_hot(codes, width)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    wanted = np.where(owner[:, None] < owner, dense.T @ dense, 0)
    np.testing.assert_array_equal(pair_counts(codes, width), wanted)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Pad(2).mask([[2]]), "codes: must be below width, 2"),
        (lambda: Pad(2, b"short"), "key must be 32 bytes"),
        (lambda: Pad(2, ring=16), "ring must be 32 or 64"),
        (lambda: Pad(2, ring=64).product(np.ones((1, 1), np.uint32)), "masked must be of ring 64"),
        (lambda: Pad(2).correction(Pad(2, ring=64), 3), "right must have the same ring"),
        (
            lambda: one_hot_product([[0]], 1, np.ones((2, 1), np.uint32)),
            "masked: must have as",
        ),
        (lambda: one_hot_product([[0]], 1, [[1]]), "masked must be uint32 or uint64"),
        (lambda: pair_counts([[3, 4]], 4), "codes: must be below width, 4"),
    ],
)
def test_what_does_not_fit_is_refused(call, message):
    with pytest.raises(InvalidParameterError, match=message):
        call()


def test_a_sample_that_does_not_fit_the_memory_is_refused():
    with pytest.raises(MemoryError, match="does not fit the memory"):
        kernels.sample_mixture([1.0], np.ones((1, 2**14)), [1] * 2**14, 2**31 - 1)
