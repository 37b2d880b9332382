"""A Merkle tree of fixed depth over an owner's rows, grown block by block in any order.

Leaves and nodes are hashed apart, as in RFC 6962: no node passes for a leaf. Where no row is, a
filler stands that only the owner can make and that looks like any other hash; so neither root nor
paths tell how many rows there are.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from hashlib import sha256

from dpsumm.errors import InvalidDataError

# Levels between a leaf and the root, and bytes of a hash and of a salt.
DEPTH, SIZE = 32, 32
MOST_ROWS = 2**DEPTH

# Level, from 0 for leaves, and number in it from the left.
Place = tuple[int, int]
Filler = Callable[[Place], bytes]


def leaf(salt: bytes, row: bytes) -> bytes:
    """Return the hash of a row."""
    return sha256(b"\x00" + salt + row).digest()


def node(left: bytes, right: bytes) -> bytes:
    """Return the hash of two hashes."""
    return sha256(b"\x01" + left + right).digest()


def climb(digest: bytes, position: int, path: bytes) -> bytes:
    """Return the root above a leaf: `path` has its DEPTH siblings, lowest first."""
    for level in range(DEPTH):
        sibling = path[SIZE * level : SIZE * (level + 1)]
        right = (position >> level) & 1
        digest = node(sibling, digest) if right else node(digest, sibling)
    return digest


class Forest:
    """The largest whole subtrees of the rows shown so far: at most 2 * DEPTH hashes a block.

    Parameters
    ----------
    positions
        Rows whose paths will be wanted; DEPTH hashes are kept for each.
    """

    def __init__(self, positions: Iterable[int] = ()) -> None:
        chosen = list(positions)
        self._wanted = [sorted({(p >> level) ^ 1 for p in chosen}) for level in range(DEPTH)]
        self._found: dict[Place, bytes] = {}
        self._tops: dict[Place, bytes] = {}

    def extend(self, first: int, leaves: list[bytes]) -> None:
        """Show the leaves of consecutive rows."""
        if first + len(leaves) > MOST_ROWS:
            raise InvalidDataError(f"commitments are for at most {MOST_ROWS} rows of an owner")
        level, hashes = 0, leaves
        while hashes:
            if first & 1:
                self.add((level, first), hashes[0])
                first, hashes = first + 1, hashes[1:]
            if len(hashes) & 1:
                self.add((level, first + len(hashes) - 1), hashes[-1])
                hashes = hashes[:-1]
            self._keep(level, first, hashes)
            hashes = [
                node(left, right) for left, right in zip(hashes[::2], hashes[1::2], strict=True)
            ]
            level, first = level + 1, first >> 1

    def add(self, place: Place, digest: bytes) -> None:
        """Add one node, and those above it as far as both children are known."""
        while True:
            level, number = place
            if level < DEPTH:
                self._keep(level, number, [digest])
            sibling = self._tops.pop((level, number ^ 1), None)
            if sibling is None:
                self._tops[place] = digest
                return
            digest = node(sibling, digest) if number & 1 else node(digest, sibling)
            place = level + 1, number >> 1

    def join(self, other: Forest) -> None:
        """Take over what another forest, of other rows and for the same paths, has found."""
        self._found.update(other._found)
        for place, digest in other._tops.items():
            self.add(place, digest)

    def root(self, filler: Filler) -> bytes:
        """Put fillers where no row is, and return the root.

        Raises
        ------
        InvalidDataError
            No row was shown, or some were left out.
        """
        while (place := min(self._tops, default=(0, 1))) != (DEPTH, 0):
            level, number = place
            if number & 1:
                raise InvalidDataError("a commitment needs all rows, and at least one")
            self.add((level, number + 1), filler((level, number + 1)))
        return self._tops[DEPTH, 0]

    def path(self, position: int) -> bytes:
        """Return the siblings of a row that was asked for, once `root` has been made."""
        return b"".join(self._found[level, (position >> level) ^ 1] for level in range(DEPTH))

    def _keep(self, level: int, first: int, hashes: list[bytes]) -> None:
        wanted = self._wanted[level]
        start, end = bisect_left(wanted, first), bisect_left(wanted, first + len(hashes))
        for number in wanted[start:end]:
            self._found[level, number] = hashes[number - first]
