"""A commit of SQLite of which a part reached the disk: pages new, old, and one of either half.

What is left is what SQLite leaves: the journal with the old pages, and the file half written
(sqlite.org/fileformat.html, section 3).
"""

import struct
from pathlib import Path

_MAGIC = bytes.fromhex("d9d505f920a163d7")
_SECTOR, _NONCE = 512, 77


def tear(path: Path, before: bytes, share: float) -> bool:
    """Let only a share of a commit have happened, as at a loss of power; whether there was one.

    Parameters
    ----------
    path
        Of the database, after the commit and with no connection open.
    before
        Its bytes before.
    share
        Part of the changed pages, from 0 to less than 1, that was written.
    """
    after = path.read_bytes()
    if after == before or not before:
        return False
    size = int.from_bytes(after[16:18], "big") or 65536
    count = max(len(before), len(after)) // size
    changed = [i for i in range(count) if _page(before, i, size) != _page(after, i, size)]
    records = b"".join(
        struct.pack(">I", i + 1)
        + _page(before, i, size)
        + struct.pack(">I", _checksum(_page(before, i, size)))
        for i in changed
        if _page(before, i, size)
    )
    n_records = len(records) // (size + 8)
    header = _MAGIC + struct.pack(">5I", n_records, _NONCE, len(before) // size, _SECTOR, size)
    path.with_name(f"{path.name}-journal").write_bytes(header.ljust(_SECTOR, b"\0") + records)
    whole, half = divmod(share * len(changed), 1)
    torn = bytearray(before.ljust(len(after), b"\0"))
    for place, i in enumerate(changed):
        new = _page(after, i, size)
        kept = size if place < whole else int(half * size) if place == whole else 0
        torn[i * size : i * size + kept] = new[:kept]
    path.write_bytes(bytes(torn))
    return True


def _page(data: bytes, i: int, size: int) -> bytes:
    return data[i * size : (i + 1) * size]


def _checksum(page: bytes) -> int:
    return (_NONCE + sum(page[i] for i in range(len(page) - 200, 0, -200))) % 2**32
