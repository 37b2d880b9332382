"""``dpsumm synthesize``: files in, rows and report out, costs, plans, resumption, refusals."""

import json
import re
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dpsumm import Column, Schema
from dpsumm.cli import main
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy import Ledger
from dpsumm.vertical.levels import bins_of
from dpsumm.vertical.messages import ColumnCounts
from dpsumm.vertical.owner import Owner
from helpers.command_line import dpsumm
from helpers.disk import full_for

TWO = (
    "synthesize", "--owner", "bank=bank.csv", "--owner", "clinic=clinic.parquet",
    "--schema", "bank=bank.toml", "--schema", "clinic=clinic.toml", "--ids", "person",
)  # fmt: skip
# Two bins of 200 people: noise merges no level, whatever it is.
BINS = ("--bins", "income=0,70,150")


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    """Two owners of 400 people, in two orders, in the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    rng = np.random.default_rng(0)
    people = np.arange(400)
    smokes = rng.integers(0, 2, 400)
    income = np.clip(rng.normal(50 + 40 * smokes, 10), 0, 150)
    bank = pl.DataFrame({"person": people, "income": income})
    bank.sample(fraction=1.0, shuffle=True, seed=1).write_csv("bank.csv")
    pl.DataFrame({"person": people, "smokes": smokes}).write_parquet("clinic.parquet")
    person = Column("person", "ignore")
    Schema([person, Column("income", bounds=(0, 150))]).save("bank.toml")
    Schema([person, Column("smokes", categories=(0, 1))]).save("clinic.toml")
    return tmp_path


def run(*arguments):
    """Return the exit code of the command in this process."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    return int(caught.value.code or 0)


@pytest.mark.same_draws
def test_rows_and_report_are_written_and_their_cost_is_told(capsys):
    options = ("--epsilon", "4", "--bins", "income=0,40,70,150", "--label", "smokes")
    assert run(*TWO, *options, "--rows", "1000", "--report", "r.html", "--out", "s.csv") == 0
    rows = pl.read_csv("s.csv")
    assert rows.columns == ["income", "smokes"]
    assert len(rows) == 1000
    means = dict(rows.group_by("smokes").agg(pl.col("income").mean()).iter_rows())
    assert means[1] - means[0] > 20
    about = json.loads(Path("s.csv.json").read_text())
    assert about["synthetic"] is True
    worth = r"models of the rows should predict the label: AUC [\d. to]+ on real records"
    assert "<h1>Models of the rows should predict the label</h1>" in Path("r.html").read_text(
        "utf-8"
    )
    out, told = capsys.readouterr()
    assert "No ledger of 'bank', 'clinic': nothing adds this epsilon" in " ".join(told.split())
    assert re.search(rf"run +{about['run']}, 20", out)
    assert re.search(r"rows +1,000, drawn; no row is a record", out)
    assert re.search(rf"verdict +{worth}", out)
    assert re.search(r"epsilon +4 at delta 1e-05", out)
    assert re.search(r"condition +one process held the records", out)
    for name in ("s.csv", "s.csv.json", "r.html"):
        assert f"wrote {name}" in out


@pytest.mark.parametrize("checked", [True, False])
def test_order_that_was_trusted_is_told_once(capsys, checked):
    if not checked:
        Schema([Column("income", bounds=(0, 150))]).save("bank.toml")
        Schema([Column("smokes", categories=(0, 1))]).save("clinic.toml")
    assert run(*(TWO if checked else TWO[:-2]), *BINS, "--epsilon", "4") == 0
    told = " ".join("".join(capsys.readouterr()).split())
    assert told.count("was not checked") == (not checked)


def test_a_run_goes_on_under_its_name_and_is_charged_once(capsys):
    for name in ("bank", "clinic"):
        Ledger.create(f"{name}.db").close()
    books = (*BINS, "--ledger", "bank=bank.db", "--ledger", "clinic=clinic.db", "--run", "r")
    assert run(*TWO, *books) == 0
    assert run(*TWO, *books, "--out", "again.parquet") == 0
    out, told = capsys.readouterr()
    assert re.search(r"run +r, 20", out)
    assert "No ledger" not in told
    with Ledger("bank.db") as book:
        assert len(book.charges()) == 2
    assert run("ledger", "show", "bank.db") == 0
    assert re.search(r"records +1 +1e-05", capsys.readouterr().out)
    assert run("ledger", "cap", "bank.db", "--protected", "records", "--epsilon", "1.2",
               "--delta", "1e-4") == 0  # fmt: skip
    assert run(*TWO, *books[:-1], "second", "--out", "new.parquet") == 2
    assert "cap" in capsys.readouterr().err
    assert not Path("new.parquet").exists()


@pytest.mark.parametrize("kept", [("bank", "clinic"), ("bank",), ()])
def test_an_interrupted_run_says_what_each_owner_spent_and_goes_on(monkeypatch, kept):
    for name in kept:
        Ledger.create(f"{name}.db").close()
    books = (*BINS, *(word for name in kept for word in ("--ledger", f"{name}={name}.db")))
    answer = Owner.answer

    def stopped(self, request):
        given = answer(self, request)
        if self.name == "clinic" and isinstance(given, ColumnCounts):
            raise KeyboardInterrupt
        return given

    with monkeypatch.context() as patch:
        patch.setattr(Owner, "answer", stopped)
        done = dpsumm(*TWO, *books, cwd=Path.cwd())
    assert done.returncode == 130
    assert done.stderr.startswith("dpsumm: interrupted; ")
    spent = re.findall(r"epsilon (0\.\d+) of the records is spent in (\w+)=\2.db;", done.stderr)
    assert [name for _, name in spent] == list(kept)
    if not kept:
        assert done.stderr.endswith("is spent: no --ledger kept it\n")
    elif len(kept) == 1:
        assert "what 'clinic' released, if anything, is spent: no --ledger" in done.stderr
        assert "run again" not in done.stderr
    else:
        told = re.search("run again with (.*): nothing is charged twice\n", done.stderr)
        assert dpsumm(*TWO, *BINS, *told[1].split(), cwd=Path.cwd()).returncode == 0
        for name in kept:
            with Ledger(f"{name}.db") as book:
                assert len(book.charges()) == 2


def test_other_settings_under_a_run_s_name_are_called_so_and_other_data_change_nothing():
    Ledger.create("bank.db").close()
    Ledger.create("clinic.db").close()
    books = ("--ledger", "bank=bank.db", "--ledger", "clinic=clinic.db", "--run", "r")
    assert dpsumm(*TWO, *books, cwd=Path.cwd()).returncode == 0
    told = (
        "dpsumm: --run: the settings or the number of records differ from those of run 'r' in the "
        "ledger of 'bank'"
    )
    settings = dpsumm(*TWO, *books, "--bins", "8", cwd=Path.cwd())
    assert settings.returncode == 2
    assert settings.stderr.startswith(told)
    pl.read_csv("bank.csv").with_columns((150 - pl.col("income")).alias("income")).write_csv(
        "bank.csv"
    )
    data = dpsumm(*TWO, *books, cwd=Path.cwd())
    assert data.returncode == 0


def test_a_cap_without_room_for_the_run_says_whose_and_nobody_has_spent():
    """Of the owner who is asked last, although its first tables had room."""
    Ledger.create("bank.db").close()
    Ledger.create("clinic.db", caps={"records": (0.9, 1e-4)}).close()
    given = (*TWO, "--ledger", "bank=bank.db", "--ledger", "clinic=clinic.db")
    done = dpsumm(*given, cwd=Path.cwd())
    assert done.returncode == 2
    assert done.stderr.startswith("dpsumm: ledger of 'clinic': the whole run would bring")
    assert ". Nothing was sent. " in done.stderr
    for name in ("bank", "clinic"):
        with Ledger(f"{name}.db") as book:
            assert not book.charges()
    assert dpsumm(*given, "--epsilon", "0.9", cwd=Path.cwd()).returncode == 0


def test_a_cap_reached_after_the_first_tables_says_whose_and_what_was_sent(monkeypatch, capsys):
    """It was lowered by somebody else while the run went on."""
    Ledger.create("bank.db").close()
    count = Owner._count

    def lowering(self, request):
        counted = count(self, request)
        if self.name == "bank":
            self._ledger.set_cap("records", 2.0, 1e-4)
        return counted

    monkeypatch.setattr(Owner, "_count", lowering)
    assert run(*TWO, "--epsilon", "4", "--ledger", "bank=bank.db") == 2
    told = capsys.readouterr().err
    assert told.startswith("dpsumm: ledger of 'bank': two-way tables")
    assert "Nothing of it was sent, and what earlier messages cost stays charged" in told


def test_what_to_do_about_missing_values_is_not_refused_afterwards():
    income = pl.when(pl.col("person") > 3).then("income").alias("income")
    pl.read_csv("bank.csv").with_columns(income).write_csv("bank.csv")
    done = dpsumm(*TWO, cwd=Path.cwd())
    assert done.returncode == 2
    assert "say when_missing = 'encode' in the schema" in done.stderr
    assert "'drop'" not in done.stderr
    person, encoded = Column("person", "ignore"), {"when_missing": "encode"}
    Schema([person, Column("income", bounds=(0, 150), **encoded)]).save("bank.toml")
    assert dpsumm(*TWO, cwd=Path.cwd()).returncode == 0


def test_a_plan_reads_no_data(capsys):
    Path("bank.csv").unlink()
    schemas = TWO[TWO.index("--schema") :]
    assert run("plan", "synthesize", *schemas, "--records", "400") == 0
    out = capsys.readouterr().out
    assert "income x smokes: 24 cells" in out
    assert out.startswith("Synthetic rows of 400 records, epsilon 1")
    assert not Path("synthetic.parquet").exists()


def test_rows_that_mean_nothing_are_called_so(capsys):
    assert run(*TWO, "--epsilon", "0.05", "--seed", "1") == 0
    captured = capsys.readouterr()
    assert "the rows mean nothing" in " ".join(captured.out.split())
    assert captured.err.startswith("Look at this first: The noise hides")
    assert "Seeded run" in captured.err


ERRORS = {
    "owner form": (("--owner", "x"), "--owner: write NAME=FILE"),
    "schema twice": (("--schema", "bank=bank.toml"), "--schema: 'bank' is given twice"),
    "owner without schema": (("--owner", "x=bank.csv"), "--schema x=FILE is missing"),
    "schema without owner": (("--schema", "x=bank.toml"), "--owner: --owner x=FILE is missing"),
    "ledger of nobody": (
        ("--ledger", "x=books.db"),
        "--ledger must be a dict of owners",
    ),
    "no identifiers": (
        ("--ids", "nothing"),
        r"--ids: the schema of '.*' has no column 'nothing' .*. It has 'person'",
    ),
    "no ledger": (("--ledger", "bank=books.db"), "ledger.*no file|books.db"),
    "bins": (("--bins", "income=1,x"), "bins: write N"),
    "suffix": (("--out", "rows.txt"), "--out must end in"),
    "over an input": (("--out", "bank.csv"), "bank.csv would be written over"),
    "epsilon": (("--epsilon", "12"), "--allow-weak-privacy"),
    "label": (("--label", "x"), "label: there is no column 'x'"),
    "seed and ledger": (("--seed", "1", "--ledger", "bank=books.db"), "seed"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors_are_one_line_and_nothing_is_written(case, data, capsys):
    options, message = ERRORS[case]
    before = sorted(data.iterdir())
    assert run(*TWO, *options) == 2
    captured = capsys.readouterr()
    assert re.fullmatch(rf"dpsumm: .*({message}).*\n", captured.err)
    assert captured.out == ""
    assert sorted(data.iterdir()) == before


@pytest.mark.parametrize(
    ("given", "bins"),
    [
        (["12"], 12),
        (["a=3", "b=0,1.5,2"], {"a": 3, "b": [0.0, 1.5, 2.0]}),
        (["d=2020-01-01,2021-06-30"], {"d": [date(2020, 1, 1), date(2021, 6, 30)]}),
        (["a=b=4"], {"a=b": 4}),
        (["n=-5,-1,2"], {"n": [-5.0, -1.0, 2.0]}),
    ],
)
def test_bins_are_read(given, bins):
    assert bins_of(given) == bins


@pytest.mark.parametrize("given", [["x"], ["a=1", "3"], ["=3"], ["a="], ["a=1", "a=2"], ["a=2,"]])
def test_other_bins_are_refused(given):
    with pytest.raises(InvalidParameterError, match="bins:"):
        bins_of(given)


@pytest.mark.parametrize(
    ("name", "written"), [("s.csv", "nothing was written"), ("r.html", "s.csv was written")]
)
def test_a_full_disk_says_what_is_spent_and_how_to_resume(capsys, monkeypatch, name, written):
    books = ("bank.db", "clinic.db")
    for book in books:
        Ledger.create(book).close()
    kept = ("--ledger", "bank=bank.db", "--ledger", "clinic=clinic.db", "--run", "first")
    given = (*TWO, *BINS, *kept, "--report", "r.html", "--out", "s.csv")
    with monkeypatch.context() as patch:
        full_for(patch, name)
        assert run(*given) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert f"{name} cannot be written (No space left on device); {written}. Epsilon " in said
    assert "of the records is spent. Make room and run again with --ledger bank=bank.db" in said
    assert "--ledger clinic=clinic.db and --run first: nothing is charged twice" in said

    def charged():
        found = []
        for book in books:
            with Ledger(book) as opened:
                found.append(opened.charges())
        return found

    before = charged()
    assert all(before)
    assert run(*given) == 0
    assert charged() == before
