"""Untrusted files: limits of memory, and libraries whose messages may quote data.

A small file can unpack to more than a machine has, and the libraries that read it end the process
then. So it is refused before memory is taken, as a whole, and by sizes alone.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, TypeVar
from xml.parsers import expat

from dpsumm.errors import InvalidDataError, MissingExtraError

T = TypeVar("T")
#: Most columns of a file: each costs a reader some 10 kB, whatever is in it.
MOST_COLUMNS = 10_000
# A cell of text takes a view of 16 bytes, which is made anew in several steps, and its letters.
CELL = 64
_BLOCK = 1 << 20
_TEXTS = ("string", "binary", "large_string", "large_binary")
_PLACE = re.compile("([A-Z]{1,3})([1-9][0-9]{0,6})")
# The first record of a CSV file, as far as quotes are around fields.
_FIRST = re.compile(rb'(?:[^"\n]++|"[^"]*+")*+')
_QUOTED = re.compile(rb'"[^"]*+"')


def guarded(read: Callable[[], T], where: str, kind: str) -> T:
    """Run a reader. Its own messages may quote data, so they are replaced, never passed on."""
    try:
        return read()
    except (InvalidDataError, MissingExtraError):  # words of this package's own
        raise
    except MemoryError:
        raise InvalidDataError(
            f"{where}: the file needs more memory than there is, or is damaged. Check it, or give "
            f"{'fewer columns' if kind == 'SQL' else 'its rows in smaller files'}"
        ) from None
    except PermissionError:
        raise InvalidDataError(f"{where}: no permission to read the file") from None
    except BaseException as error:
        # polars' panics are no `Exception`; whoever has not imported polars cannot meet one.
        if type(error).__name__ == "NoDataError":
            raise InvalidDataError(f"{where}: the file is empty") from None
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        if kind == "SQL":
            raise InvalidDataError(
                f"{where}: the database did not answer the query. Check that it runs and lets you "
                "in, and try the SELECT in its own shell"
            ) from None
        advice = (
            "that it is complete, that it is UTF-8 text, that all rows have the same number of "
            "fields, that no line but the last ones is blank, that quotes are around fields or "
            "doubled inside them, and that the separator is right"
            if kind == "CSV"
            else "that it is complete and what its suffix says"
        )
        raise InvalidDataError(f"{where}: not a well-formed {kind} file. Check {advice}") from None


def import_polars() -> Any:
    """Return polars."""
    try:
        import polars
    except ImportError:
        raise MissingExtraError(
            "reading files needs polars: pip install dpsumm[files], or pass arrays or data frames"
        ) from None
    return polars


def import_pyarrow() -> Any:
    """Return pyarrow with its Parquet reader."""
    try:
        import pyarrow.compute
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError(
            "reading Parquet files needs pyarrow: pip install dpsumm[files], or pass arrays or "
            "data frames"
        ) from None
    return pyarrow


def check_memory(needed: int, where: str) -> None:
    """Refuse what needs more memory than there is."""
    if needed > memory():
        raise InvalidDataError(
            f"{where}: reading the file takes about {needed / 2**30:.1f} GiB of memory, more than "
            "there is. Give its rows in smaller files"
        )


def check_columns(n: int, where: str) -> None:
    """Refuse a file of more than `MOST_COLUMNS` columns."""
    if n > MOST_COLUMNS:
        raise InvalidDataError(
            f"{where}: the file has {n:,} columns, more than {MOST_COLUMNS:,}. Leave out those "
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
    """Return the bytes of a CSV file, unpacked if its name ends in ``.gz``."""
    opener = gzip.open if path.name.lower().endswith(".gz") else io.open
    mark, size = separator.encode(), 0
    blocks = []
    with opener(path, "rb") as stream:
        for block in _blocks(stream):
            blocks.append(block)
            size += len(block)
            check_memory(3 * size, where)
    data = b"".join(blocks)
    first = _FIRST.match(data)
    check_columns(1 + _QUOTED.sub(b"", first[0] if first else b"").count(mark), where)
    return data


def check_workbook(path: Path, where: str) -> None:
    """Refuse an Excel file whose cells would take more memory than there is.

    Cells may be far apart, and one text may be in many of them. So each part is parsed first, and
    a part that two parsers could read in two ways is refused.
    """
    size, shared = 0, list[int]()
    with zipfile.ZipFile(path) as book:
        parts = sorted(book.infolist(), key=lambda part: not _holds_shared(part))
        names = [part.filename.casefold() for part in parts]
        if len(set(names)) < len(names) or sum(map(_holds_shared, parts)) > 1:
            raise ValueError("two parts of one name")
        for part in parts:
            if part.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ValueError("packed in another way")
            part.file_size = 2**63 - 1  # a lie about it would end the look too early
            cells = _Cells(shared)
            with book.open(part) as stream:
                for block in _blocks(stream):
                    size += len(block)
                    check_memory(8 * size, where)
                    if part.filename.casefold().endswith((".xml", ".rels")):
                        cells.parser.Parse(block)
            check_columns(cells.columns, where)
            check_memory(CELL * cells.rows * cells.columns + 4 * cells.letters, where)


def _holds_shared(part: zipfile.ZipInfo) -> bool:
    return part.filename.casefold().endswith("sharedstrings.xml")


class _Cells:
    """How far the cells of a workbook's part reach, and how many bytes the texts take in them."""

    def __init__(self, shared: list[int]) -> None:
        self.rows = self.columns = self.letters = 0
        self._shared, self._row, self._column = shared, 0, 0
        self._text: list[str] = []
        self.parser = expat.ParserCreate("utf-8")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.StartDoctypeDeclHandler = self._refuse

    def _start(self, name: str, given: dict[str, str]) -> None:
        kind = name.rpartition(":")[2]
        if kind == "row":
            self._row, self._column = int(given.get("r", self._row + 1)), 0
        elif kind == "c":
            found = _PLACE.fullmatch(given.get("r", f"A{self._row or 1}"))
            if found is None:
                self._refuse()
            assert found is not None
            self._column = _column(found[1]) if "r" in given else self._column + 1
            self.rows = max(self.rows, self._row, int(found[2]))
            self.columns = max(self.columns, self._column)
            if given.get("t") == "s":
                self._listen()
        elif kind == "si":
            self._listen()
        elif (
            kind == "Relationship"
            and "sheet" in given.get("Type", "").rpartition("/")[2]
            and not given.get("Target", "").casefold().endswith(".xml")
        ):
            self._refuse()

    def _end(self, name: str) -> None:
        kind = name.rpartition(":")[2]
        if kind in ("c", "si") and self.parser.CharacterDataHandler is not None:
            self.parser.CharacterDataHandler = None
            text = "".join(self._text)
            if kind == "si":
                self._shared.append(len(text.encode()))
            else:
                self.letters += self._shared[int(text)]

    def _listen(self) -> None:
        self._text = []
        self.parser.CharacterDataHandler = self._text.append

    def _refuse(self, *_: object) -> None:
        raise ValueError("not as programs write workbooks")


def _blocks(stream: IO[bytes] | gzip.GzipFile) -> Iterator[bytes]:
    while block := stream.read(_BLOCK):
        yield block


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - 64
    return number


def read_batches(
    pyarrow: Any,
    path: Path,
    rows: int,
    where: str,
    wanted: Sequence[str] | None = None,
    blockwise: Sequence[str] = (),
    each: Callable[[Any, list[str]], None] | None = None,
) -> tuple[Any, list[str]]:
    """Return the table of a Parquet file's columns, read by batches of at most `rows`, and which
    of them are texts.

    These are dictionaries. One long text may be in all rows and take hardly any bytes. Values that
    the footer declares are looked at first, for lists in single rows. Columns in `blockwise` are
    not in the table: `each` receives every batch of theirs, and the texts.
    """
    with pyarrow.parquet.ParquetFile(path, pre_buffer=False) as file:
        schema, metadata = file.schema_arrow, file.metadata
        check_columns(metadata.num_columns, where)
        groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
        for i in range(metadata.num_columns):
            width = max(file.schema.column(i).length or 0, 8)
            check_memory(width * sum(group.column(i).num_values for group in groups), where)
    names = schema.names if wanted is None else list(wanted)
    every = [*blockwise, *names]
    texts = [name for name in every if str(schema.field(name).type) in _TEXTS]
    parts: dict[str, list[Any]] = {name: [] for name in names}
    size = 0
    with pyarrow.parquet.ParquetFile(path, pre_buffer=False, read_dictionary=texts) as file:
        schema = pyarrow.schema([file.schema_arrow.field(name) for name in names])
        most = max(1, min(rows, metadata.num_rows))
        for batch in file.iter_batches(batch_size=most, columns=every):
            for name in every:
                column = batch[name]
                # Of blocks, too: their codes stay, and are joined in the end.
                size += column.indices.nbytes if name in texts else column.nbytes
                if name in parts and name in texts:
                    size += _append(parts[name], column)
                elif name in parts:
                    parts[name].append(column)
            # And the texts of this one, which has those of all before it.
            known = [batch[name].dictionary.nbytes for name in blockwise if name in texts]
            check_memory(3 * (size + sum(known)), where)
            if each is not None:
                each(batch.select(list(blockwise)), texts)
    for name in set(texts) & set(names):
        parts[name] = [
            pyarrow.DictionaryArray.from_arrays(pyarrow.concat_arrays(places), dictionary)
            for dictionary, places in parts[name]
        ]
    columns = [pyarrow.chunked_array(parts[field.name], field.type) for field in schema]
    return pyarrow.table(columns, schema), texts


def _append(parts: list[Any], column: Any) -> int:
    """Append a batch's texts, and return the bytes of those that are new.

    Arrow's reader goes on with one dictionary, so that a batch's has all texts of earlier ones.
    Only the last is kept, with the places of all batches.
    """
    dictionary = column.dictionary
    if parts:
        before, places = parts[-1]
        if dictionary.slice(0, len(before)).equals(before):
            parts[-1] = dictionary, [*places, column.indices]
            return int(dictionary.nbytes - before.nbytes)
    parts.append((dictionary, [column.indices]))
    return int(dictionary.nbytes)
