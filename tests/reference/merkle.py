"""A commitment's tree by recursion from the root, and a row's bytes put together by hand."""

import struct
from hashlib import sha256

DEPTH = 32


def node_at(place, leaves, filler):
    """The hash at (level, number) of the tree over some leaves, fillers where there are none."""
    level, number = place
    if number << level >= len(leaves):
        return filler(place)
    if level == 0:
        return leaves[number]
    left, right = (node_at((level - 1, 2 * number + side), leaves, filler) for side in (0, 1))
    return sha256(b"\x01" + left + right).digest()


def path_of(position, leaves, filler):
    """The hashes beside the way from a leaf to the root, lowest first."""
    beside = [(level, (position >> level) ^ 1) for level in range(DEPTH)]
    return b"".join(node_at(place, leaves, filler) for place in beside)


def row_bytes(row, values, label, along):
    """A record's bytes: `along` and `label` are texts, `label` None where there is none."""
    kind = {4: b"f4", 8: b"f8"}[values.dtype.itemsize]
    texts = ([] if label is None else [label]) + list(along)
    made = struct.pack("<q", row) + kind + struct.pack("<I", len(values))
    made += bytes([label is not None]) + struct.pack("<I", len(texts))
    for value in values:
        made += struct.pack("<f" if kind == b"f4" else "<d", value)
    for text in texts:
        made += struct.pack("<I", len(text.encode())) + text.encode()
    return made
