"""The product of two owners' one-hot matrices, which neither of them sees."""

from __future__ import annotations

import secrets
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpsumm.errors import InvalidParameterError
from dpsumm.kernels import _core, inputs


class Pad:
    """A one-time pad for a one-hot matrix, of words of ChaCha20 that only its holders know.

    Two owners hold the one-hot matrices A and B of the same records. A helper makes a pad for each,
    gives it to that owner, and gives the right owner the :meth:`correction`. The owners exchange
    their masked matrices. Each computes a share, and the shares add up to ``A.T @ B``, exactly.

    Parameters
    ----------
    width
        Columns of the one-hot matrix, 1 to 65,536.
    key : 32 bytes, optional
        A fresh one from the operating system by default. **A key is for one product**: two
        matrices under one key reveal their difference.
    ring
        Bits of a word, 32 or 64. Sums are exact while they fit a signed word.

    Raises
    ------
    InvalidParameterError
        A parameter out of range.

    Privacy
    -------
    What :meth:`mask` returns, and each share alone, is uniform for any records, for
    anyone who lacks the key of that side. Assumes that the helper keeps away from both owners, and
    ChaCha20. The sum of both shares is exact: who opens it sees the counts, so owners add their
    noise to their shares before.

    See Also
    --------
    dpsumm.kernels.one_hot_product : An owner's product of masked rows.

    Examples
    --------
    The left owner's matrix has columns for one feature of 2 categories, the right one's for one of
    3. Rows are the same three people. A code says which column of its row is 1.

    >>> from dpsumm.kernels import Pad, one_hot_product
    >>> left, right = [[0], [1], [0]], [[0], [2], [1]]
    >>> pad_left, pad_right = Pad(2), Pad(3)
    >>> dealt = pad_left.correction(pad_right, rows=3)
    >>> to_right, to_left = pad_left.mask(left), pad_right.mask(right)
    >>> share_left = one_hot_product(left, 2, to_left) + pad_left.share(3)
    >>> share_right = pad_right.product(to_right) + dealt
    >>> (share_left + share_right).view("int32").tolist()
    [[1, 1, 0], [0, 0, 1]]
    """

    def __init__(self, width: int, key: bytes | None = None, *, ring: Literal[32, 64] = 32) -> None:
        self.width = inputs.whole(width, "width", 1, 2**16)
        self._key = inputs.key(secrets.token_bytes(32) if key is None else key)
        if ring not in (32, 64):
            raise InvalidParameterError(f"ring must be 32 or 64, got {ring!r}")
        self.ring: Literal[32, 64] = ring

    @property
    def key(self) -> bytes:
        """The secret: 32 bytes."""
        return self._key

    def __repr__(self) -> str:
        return f"Pad(width={self.width}, ring={self.ring})"

    def mask(self, codes: ArrayLike, *, first_row: int = 0) -> inputs.Words:
        """Return one-hot rows less the pad, the message to the other owner.

        Parameters
        ----------
        codes : (n, d) integers
            Columns of the one-hot matrix that are 1, d in each row.
        first_row
            Number of the first of these rows in the whole matrix, so that it can go in pieces.

        Returns
        -------
        (n, width) uint32 or uint64
        """
        first_row = inputs.whole(first_row, "first_row", 0, 2**40)
        return _core.pad_mask(_codes(codes), self.width, self._key, first_row, self.ring)

    def product(self, masked: ArrayLike, *, first_row: int = 0) -> inputs.Words:
        """Return the product of the other owner's masked rows with this pad.

        Parameters
        ----------
        masked : (n, a) uint32 or uint64
            What the other owner's `mask` returned, rows `first_row` and the following.
        first_row
            As for `mask`. The products of all pieces add up.

        Returns
        -------
        (a, width), as `masked`
        """
        first_row = inputs.whole(first_row, "first_row", 0, 2**40)
        return _core.pad_product(self._words(masked), self._key, self.width, first_row)

    def share(self, other_width: int) -> inputs.Words:
        """Return what the left owner adds to its share, (width, other_width)."""
        width = inputs.whole(other_width, "other_width", 1, 2**16)
        return _core.pad_share(self._key, self.width, width, self.ring)

    def correction(self, right: Pad, rows: int) -> inputs.Words:
        """Return what the helper deals to the right owner, (width, right.width).

        Parameters
        ----------
        right
            The right owner's pad. This one is the left owner's.
        rows
            Rows of both matrices.

        Raises
        ------
        InvalidParameterError
            The pads are of two rings.
        """
        if right.ring != self.ring:
            raise InvalidParameterError("right must have the same ring")
        rows = inputs.whole(rows, "rows", 0, 2**40)
        return _core.pad_correction(rows, self._key, self.width, right._key, right.width, self.ring)

    def _words(self, masked: ArrayLike) -> inputs.Words:
        words = inputs.words(masked, "masked")
        if words.dtype.itemsize * 8 != self.ring:
            raise InvalidParameterError(f"masked must be of ring {self.ring}, got {words.dtype}")
        return words


def one_hot_product(codes: ArrayLike, width: int, masked: ArrayLike) -> inputs.Words:
    """Return ``X.T @ masked`` for the one-hot matrix X of some codes, in words that wrap.

    Parameters
    ----------
    codes : (n, d) integers
        Columns of X that are 1, d in each row.
    width
        Columns of X, 1 to 65,536.
    masked : (n, b) uint32 or uint64
        What the other owner's :meth:`Pad.mask` returned for the same rows.

    Returns
    -------
    (width, b), as `masked`
        The products of all pieces of rows add up.

    Raises
    ------
    InvalidParameterError
        A code is not below `width`, or the rows differ.

    See Also
    --------
    dpsumm.kernels.Pad : Hides the factors.
    dpsumm.kernels.pair_counts : The same tables where one party has all columns.

    Examples
    --------
    See :class:`Pad`.

    >>> import numpy as np
    >>> from dpsumm.kernels import one_hot_product
    >>> one_hot_product([[0], [1], [0]], 2, np.array([[1], [2], [4]], "uint32")).tolist()
    [[5], [2]]
    """
    width = inputs.whole(width, "width", 1, 2**16)
    return _core.one_hot_product(_codes(codes), width, inputs.words(masked, "masked"))


def pair_counts(codes: ArrayLike, width: int) -> NDArray[np.int64]:
    """Return in how many rows each two codes occur together: all two-way tables at once.

    Parameters
    ----------
    codes : (n, d) integers
        Categories of d columns. Those of each column begin where the former one's end.
    width
        Categories of all columns, 1 to 65,536.

    Returns
    -------
    (width, width) int64
        The count for a code of an earlier column (row) and one of a later column (column).
        Elsewhere 0.

    Raises
    ------
    InvalidParameterError
        A code is not below `width`.

    See Also
    --------
    dpsumm.kernels.one_hot_product : The same where two parties hold the columns.
    dpsumm.kernels.fit_mixture : Fits a model to noisy tables.

    Examples
    --------
    Two columns of 2 and 3 categories:

    >>> from dpsumm.kernels import pair_counts
    >>> pair_counts([[0, 2], [1, 4], [0, 3], [0, 2]], 5)[:2, 2:].tolist()
    [[2, 1, 0], [0, 0, 1]]
    """
    return _core.pair_counts(_codes(codes), inputs.whole(width, "width", 1, 2**16))


def _codes(codes: ArrayLike) -> NDArray[np.uint32]:
    return inputs.integers(codes, "codes", inputs.UINT32, 2)
