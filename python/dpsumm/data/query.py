"""Read a file of SQL: the records are the rows that a database answers, in the order of a key."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from dpsumm.data.frame import Cells, Each, Frame, check_names, frame_of
from dpsumm.data.guard import check_columns, guarded, import_polars, import_pyarrow
from dpsumm.data.text_file import as_number
from dpsumm.errors import InvalidDataError, MissingExtraError

ROWS = 65_536
T = TypeVar("T")
SQLITE = b"SQLite format 3\0"
POSTGRES = ("postgresql://", "postgres://")
_SAID = re.compile(r"--\s*(database|key)\s*:\s*(.*?)\s*")


@dataclass(frozen=True)
class Query:
    """A database, the key of a record, and one SELECT, as a file of SQL has them.

    `where` is what messages call it.
    """

    where: str
    database: str = field(repr=False)  # may hold a password
    key: str
    select: str

    @classmethod
    def read(cls, path: Path, where: str) -> Query:
        """Return the query of a file. Its first lines are ``-- database: ...``, ``-- key: ...``."""
        said = {}
        try:
            lines = path.read_text("utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError):
            raise InvalidDataError(f"{where}: cannot be read as UTF-8 text") from None
        while lines and (found := _SAID.fullmatch(lines[0].strip())):
            said[found[1]] = found[2]
            del lines[0]
        select = "\n".join(lines).strip().rstrip(";")
        for name, example in (("database", "postgresql://reader@host/name"), ("key", "patient_id")):
            if not said.get(name):
                raise InvalidDataError(
                    f"{where}: says no {name}. Write a line such as '-- {name}: {example}' above "
                    "the SELECT"
                )
        if not select:
            raise InvalidDataError(f"{where}: has no SELECT. Write it below the key")
        if not said["database"].startswith(POSTGRES):
            said["database"] = str(path.parent / said["database"])
        return cls(where, said["database"], said["key"], select)

    @property
    def is_postgres(self) -> bool:
        """Whether the database is a server of Postgres. Otherwise it is a file."""
        return self.database.startswith(POSTGRES)

    @cached_property
    def is_sqlite(self) -> bool:
        """Whether the database is a file of SQLite."""
        if self.is_postgres:
            return False
        file = Path(self.database)
        if not file.is_file():
            raise InvalidDataError(f"{self.where}: the database is no file here. Check the path")
        with file.open("rb") as opened:
            return opened.read(len(SQLITE)) == SQLITE

    @property
    def records(self) -> str:
        """The statement, as one that cannot write."""
        return f"SELECT * FROM (\n{self.select}\n) AS records"

    @property
    def ordered(self) -> str:
        """The statement with a place for each record, which a database may change otherwise."""
        key = self.key.replace('"', '""')
        return f'{self.records} ORDER BY "{key}"'


def read_query(path: Path, where: str, *, typed: bool) -> Frame:
    """Return the columns of a query's records. `typed` as for `dpsumm.data.read_file.read_file`.

    Of DuckDB and Postgres they have the types that the database declares. SQLite gives each value a
    type of its own, so its columns are texts, made of each value by itself.
    """
    polars, pyarrow = import_polars(), import_pyarrow()
    query = Query.read(path, where)

    def cells(table: Any) -> dict[str, Cells]:
        made = polars.from_arrow(_plain(pyarrow, table))
        if typed and query.is_sqlite:
            made = made.with_columns(map(as_number, made))
        frame = frame_of(made, where, are_fields=True)
        return dict(frame.take(frame.names))

    def names() -> Sequence[str]:
        with _opened(query, f"{query.records} LIMIT 0") as blocks:
            return list(next(blocks).column_names)

    def take(
        whole: Sequence[str], blockwise: Sequence[str] = (), each: Each | None = None
    ) -> Mapping[str, Cells]:
        kept, left = list(dict.fromkeys([*whole, query.key])), []
        with _opened(query, query.ordered) as blocks:
            for block in blocks:
                left.append(block.select(kept))
                if each is not None and len(block):
                    each(cells(block.select(list(blockwise))))
        table = _plain(pyarrow, pyarrow.concat_tables(left))
        if pyarrow.compute.count_distinct(table[query.key]).as_py() < len(table):
            raise InvalidDataError(
                f"{where}: two records have the same key, or one has none, so their order would be "
                "chance. Name a column as the key that differs in each record"
            )
        return cells(table.select(list(whole))) if whole else {}

    found = _answered(names, where)
    check_columns(len(found), where)
    check_names(found, where)
    if query.key not in found:
        raise InvalidDataError(f"{where}: the key {query.key!r} is no column of the SELECT. Add it")
    return Frame(tuple(found), lambda *how: _answered(lambda: take(*how), where), "polars")


@contextmanager
def _opened(query: Query, statement: str) -> Iterator[Iterator[Any]]:
    """Yield the answer as blocks, which are tables of Arrow, one at least. Nothing is written."""
    import pyarrow

    if query.is_sqlite:
        file = f"file:{quote(query.database)}?mode=ro"
        with closing(sqlite3.connect(file, uri=True)) as database:
            yield _texts(pyarrow, database.execute(statement), query.where)
    elif query.is_postgres:
        from adbc_driver_postgresql import dbapi

        with dbapi.connect(query.database) as postgres, postgres.cursor() as cursor:
            cursor.execute("SET TRANSACTION READ ONLY")
            cursor.execute(statement)
            yield _tables(pyarrow, cursor.fetch_record_batch())
    else:
        import duckdb

        # Without access to files: the types of a CSV file's columns would depend on its records.
        with duckdb.connect(
            query.database, read_only=True, config={"enable_external_access": False}
        ) as opened:
            yield _tables(pyarrow, opened.sql(statement).to_arrow_reader(ROWS))


def _tables(pyarrow: Any, batches: Any) -> Iterator[Any]:
    yield batches.schema.empty_table()
    for batch in batches:
        yield pyarrow.Table.from_batches([batch])


def _texts(pyarrow: Any, found: sqlite3.Cursor, where: str) -> Iterator[Any]:
    """Yield SQLite's values as texts: each by itself as the shortest text that says it."""
    schema = pyarrow.schema([(column[0], pyarrow.string()) for column in found.description])
    yield schema.empty_table()
    while records := found.fetchmany(ROWS):
        columns = list(zip(*records, strict=True))
        if any(isinstance(cell, bytes) for column in columns for cell in column):
            raise InvalidDataError(f"{where}: a BLOB is no value. Leave it out, or CAST it AS TEXT")
        yield pyarrow.table([[*map(_text, column)] for column in columns], schema=schema)


def _text(cell: str | float | None) -> str | None:
    return cell if cell is None or isinstance(cell, str) else repr(cell)


def _plain(pyarrow: Any, table: Any) -> Any:
    """Return a table with what stands for a database's own types, such as texts for NUMERIC."""
    for i, column in enumerate(table.columns):
        if isinstance(column.type, pyarrow.BaseExtensionType):
            stored = [chunk.storage for chunk in column.chunks]
            stored = pyarrow.chunked_array(stored, column.type.storage_type)
            table = table.set_column(i, table.column_names[i], stored)
    return table


def _answered(ask: Callable[[], T], where: str) -> T:
    def driven() -> T:
        try:
            return ask()
        except ImportError:
            raise MissingExtraError(
                "reading from DuckDB or Postgres needs a driver: pip install 'dpsumm[sql]', or "
                "pass data frames"
            ) from None

    return guarded(driven, where, "SQL")
