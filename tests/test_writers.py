"""What dpsumm writes is its user's alone, and every writer goes through one module.

Rows, models, keys, books and pages hold records or secrets. A file for others is made readable by
whoever gives it to them.
"""

import ast
import os
from pathlib import Path

import polars as pl
import pytest

import dpsumm
from dpsumm import Column
from dpsumm.basics.atomic import write_new
from dpsumm.cli import main
from dpsumm.exchange.journal import Journal

PACKAGE = Path(dpsumm.__file__).parent
# Calls that may make a file, by their last name, and where they may stand beside atomic.py.
CALLS = set(
    "open write_text write_bytes savefig save savez savez_compressed tofile dump write_csv to_csv "
    "write_table write_parquet to_parquet to_html mkstemp NamedTemporaryFile copyfile copy2 "
    "connect".split()
)
KNOWN = {
    # To a temporary file or memory that atomic.py or a caller holds.
    ("data/written.py", "write_bytes"),
    ("data/written.py", "write_table"),
    ("data/written.py", "write_csv"),
    ("ensemble/saved.py", "write_bytes"),
    ("vertical/rows.py", "open"),
    ("vertical/rows.py", "savez"),
    ("vertical/mpyc.py", "savez"),
    ("vertical/mpyc_party.py", "save"),
    ("report/figures.py", "savefig"),
    ("summary/pictures.py", "save"),
    ("cli/node.py", "to_csv"),
    # Made with mode 0600 before SQLite opens them.
    ("exchange/journal.py", "open"),
    ("exchange/journal.py", "connect"),
    ("privacy/book.py", "open"),
    ("privacy/book.py", "connect"),
    ("privacy/receipts.py", "open"),
    ("privacy/receipts.py", "connect"),
    # Databases of others, which are only read.
    ("data/query.py", "connect"),
    # Made-up data in a temporary folder.
    ("audit/every_record.py", "open"),
    ("audit/every_record_twins.py", "open"),
    # Logs of processes, in a folder of mode 0700.
    ("flower/running.py", "open"),
    # Methods of ours that end in atomic.py.
    ("ensemble/model.py", "save"),
    ("summary/silos.py", "save"),
    ("vertical/silos.py", "save"),
    ("flower/tasks/learn.py", "save"),
    ("cli/demo.py", "save"),
}


def reads(call):
    """Return whether an `open` of a file only reads, as far as its mode is spelled there."""
    texts = [
        one.value
        for one in (*call.args, *(given.value for given in call.keywords))
        if isinstance(one, ast.Constant) and isinstance(one.value, str)
    ]
    of_os = isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "os"
    modes = [text for text in texts if set(text) <= set("rwxabt+")]
    return not of_os and not any(set(mode) & set("wxa+") for mode in modes)


def writers():
    for path in sorted(PACKAGE.rglob("*.py")):
        where = path.relative_to(PACKAGE).as_posix()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func).rpartition(".")[2]
                if (name, type(node.func)) == ("write_text", ast.Name):  # that of atomic.py
                    continue
                if name in CALLS and not (name == "open" and reads(node)):
                    yield where, name


def test_no_other_place_writes_files():
    found = {one for one in writers() if one[0] != "basics/atomic.py"}
    assert found == KNOWN


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A folder; what is made in it is made under the umask that hides least."""
    monkeypatch.chdir(tmp_path)
    old = os.umask(0)
    yield tmp_path
    os.umask(old)


def run(*words):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert not ended.value.code


@pytest.mark.filterwarnings("ignore:learn")
@pytest.mark.filterwarnings("ignore:no ledger")
def test_what_is_written_is_its_users_alone(made, rng):
    points = rng.random((60, 2))
    columns = [Column("x0", bounds=(0, 1)), Column("x1", bounds=(0, 1))]
    schema = dpsumm.Schema(columns)
    dpsumm.Ledger.create("a.db").close()
    summary = dpsumm.summarize(
        {"a": points},
        points,
        size=3,
        ledger="a.db",
        schema=dpsumm.Schema(columns),
        epsilon=1,
        delta=1e-5,
    )
    for name in ("s.csv", "s.parquet"):
        summary.save(name)
    summary.report("s.html")
    schema.save("s.toml")
    run("dossier", "s.csv", "--ledger", "a.db", "--out", "d.html")
    run("ledger", "export", "a.db", "--out", "l.csv")
    run("plan", "summarize", "--target-size", "99", "--size", "9", "--plot", "p.svg")
    parties = {f"p{i}": (rng.random((60, 2)), rng.choice(["no", "yes"], 60)) for i in range(5)}
    model = dpsumm.learn(parties, points, epsilon=1, delta=1e-5, classes=["no", "yes"],
                         schema={"x0": (0, 1), "x1": (0, 1)})  # fmt: skip
    model.save("m.dpsumm")
    model.report("m.html")
    synthetic = dpsumm.synthesize(
        {"l": pl.DataFrame({"x0": points[:, 0]}), "r": pl.DataFrame({"x1": points[:, 1]})},
        schema={name: dpsumm.Schema(columns[i : i + 1]) for i, name in enumerate("lr")},
    )
    synthetic.save("t.csv")
    synthetic.report("t.html")
    with Journal("j.db", "run") as journal:
        journal.record(1, "a", [b"asked"], b"answer")
        run("schema", "init", "l.csv", "--out", "i.toml")
        write_new(made / "n", "")
        files = [path for path in made.rglob("*") if path.is_file()]  # the journal's lock, too
        modes = {path.name: oct(path.stat().st_mode & 0o777) for path in files}
    assert len(files) >= 19
    assert modes == {path.name: "0o600" for path in files}


def test_keys_of_a_run_of_mpyc_and_of_a_consumer_are_their_users_alone(made, monkeypatch):
    pytest.importorskip("cryptography")
    from dpsumm.exchange.signatures import SigningKey
    from dpsumm.vertical import mpyc

    SigningKey.make(made / "key")
    monkeypatch.setattr(mpyc, "check_mpyc", lambda: None)
    meeting = mpyc.Meeting(10.0)
    meeting._prepare(("a", "b"))
    home = Path(meeting._folder.name)
    with meeting._folder:
        files = [path for folder in (made, home) for path in folder.rglob("*") if path.is_file()]
        assert len(files) > 10
        assert {path.stat().st_mode & 0o777 for path in files} == {0o600}


def test_a_file_that_the_disk_has_no_room_for_is_not_left_half(made, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            write_new(made / "key", "secret")
    write_new(made / "key", "secret")
    with pytest.raises(FileExistsError):
        write_new(made / "key", "other")
