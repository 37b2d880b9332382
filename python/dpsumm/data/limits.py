"""What a file may take of a machine: refused before memory is taken, by sizes alone.

A small file can unpack to more than a machine has, and the libraries that read it end the process
then. Only sizes are looked at, and the refusal is of the whole file.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from dpsumm.errors import InvalidDataError

#: Most columns of a file: each costs a reader some 10 kB, whatever is in it.
MOST_COLUMNS = 10_000
# A cell of text takes a view of 16 bytes, which is made anew in several steps, and its letters.
_CELL = 64
_BLOCK = 1 << 20
# Of a cell, or of a row.
_PLACE = re.compile(rb"""\br=["']([A-Z]{0,3})([0-9]{1,7})["']""")


def check_memory(needed: int, where: str) -> None:
    """Refuse what needs more memory than there is.

    Parameters
    ----------
    needed
        About how many bytes reading takes.

    Raises
    ------
    InvalidDataError
        Naming `where`.
    """
    if needed > memory():
        raise InvalidDataError(
            f"{where}: reading the file takes about {needed / 2**30:.1f} GiB of memory, more than "
            "there is. Give its rows in smaller files"
        )


def check_columns(n: int, where: str) -> None:
    """Refuse a file of more than `MOST_COLUMNS` columns."""
    if n > MOST_COLUMNS:
        raise InvalidDataError(
            f"{where}: the file has {n:,} columns, more than {MOST_COLUMNS:,}; leave out those "
            "that the schema has not, or check the separator"
        )


def memory() -> float:
    """Return how many bytes this process may still take, as far as the system tells."""
    found = [float("inf")]
    with contextlib.suppress(OSError, ValueError, IndexError):  # other systems than Linux
        text = Path("/proc/meminfo").read_text("ascii")
        found.append(1024 * int(text.partition("MemAvailable:")[2].split()[0]))
    with contextlib.suppress(ImportError, OSError, ValueError, IndexError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
            found.append(limit - pages * resource.getpagesize())
    with contextlib.suppress(OSError, ValueError):  # a container's
        group = Path("/sys/fs/cgroup")
        limit, used = (int((group / f"memory.{what}").read_text()) for what in ("max", "current"))
        found.append(limit - used)
    return min(found)


def read_text_file(path: Path, separator: str, where: str) -> bytes:
    """Return the bytes of a CSV file, unpacked if its name ends in ``.gz``.

    Raises
    ------
    InvalidDataError
        Its cells would take more memory than there is, or its first line has too many.
    """
    opener = gzip.open if path.name.lower().endswith(".gz") else io.open
    mark, size, cells = separator.encode(), 0, 0
    blocks = []
    with opener(path, "rb") as stream:
        for block in _blocks(stream):
            blocks.append(block)
            size += len(block)
            cells += block.count(mark) + block.count(b"\n")
            check_memory(3 * size + _CELL * cells, where)
    data = b"".join(blocks)
    check_columns(1 + data[: data.find(b"\n") + 1 or None].count(mark), where)
    return data


def check_workbook(path: Path, where: str) -> None:
    """Refuse an Excel file that unpacks to more than there is, or whose cells stand too far apart.

    Raises
    ------
    InvalidDataError
        As said.
    zipfile.BadZipFile
        It is damaged.
    """
    size = 0
    with zipfile.ZipFile(path) as book:
        for part in book.infolist():
            part.file_size = 2**63 - 1  # a lie about it would end the look too early
            row = column = 0
            tail = b""
            with book.open(part) as stream:
                for block in _blocks(stream):
                    size += len(block)
                    check_memory(8 * size, where)
                    text = tail + block
                    for letters, number in _PLACE.findall(text):
                        row = max(row, int(number))
                        column = max(column, _column(letters))
                    tail = text[-32:]
            check_columns(column, where)
            check_memory(_CELL * row * column, where)


def _blocks(stream: IO[bytes] | gzip.GzipFile) -> Iterator[bytes]:
    while block := stream.read(_BLOCK):
        yield block


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number
