"""``dpsumm ledger``: what was spent, and caps that the next run runs into."""

import csv
import sqlite3

import numpy as np
import pytest

from dpsumm import Ledger, summarize
from dpsumm.cli import main
from dpsumm.papers import Auction, Requests
from dpsumm.summary.kernel import RBF


def run(*arguments):
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    return stop.value.code or 0


@pytest.fixture
def book(tmp_path, rng):
    path = tmp_path / "books"
    Ledger.create(path).close()
    owners = {"a": rng.normal(size=(40, 2)), "b": rng.normal(size=(40, 2))}
    target = rng.normal(size=(50, 2))
    given = {"size": 4, "kernel": RBF(0.3), "ledger": path}
    summarize(owners, target, run="monday [red]", **given)
    winner = {"protocol": Auction(requests=Requests.WINNER), "allow_weak_privacy": True}
    summarize(owners, target, run="tuesday", **winner, **given)
    return path


def test_show_lists_runs_charges_totals_and_caps(book, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    before = book.read_bytes()
    assert run("ledger", "show", book) == 0
    text = capsys.readouterr().out
    for words in ("monday [red]", "tuesday", "target's noisy mean embedding", "Gaussian", "none"):
        assert words in text
    totals = {line.split()[0]: line.split()[1:3] for line in text.splitlines() if line.strip()}
    assert totals["target"] == ["2", "2e-05"]
    assert totals["owners"] == ["∞", "1e-05"]
    assert book.read_bytes() == before


def test_a_cap_is_set_shown_and_obeyed(book, capsys, rng):
    assert (
        run("ledger", "cap", book, "--protected", "target", "--epsilon", "2.5", "--delta", "1e-4")
        == 0
    )
    assert "2.5" in capsys.readouterr().out
    np.savetxt(
        book.with_name("d.csv"), rng.normal(size=(40, 2)), delimiter=",", header="x,y", comments=""
    )
    data = book.with_name("d.csv")
    assert (
        run(
            "summarize",
            "--owner",
            f"a={data}",
            "--target",
            data,
            "--size",
            3,
            "--gamma",
            0.3,
            "--ledger",
            book,
            "--out",
            book.with_name("s.csv"),
        )
        == 2
    )
    error = capsys.readouterr().err
    assert error.splitlines()[-1].startswith("dpsumm: ")
    assert "above the cap" in error.splitlines()[-1]
    assert not book.with_name("s.csv").exists()


def test_a_ledger_is_made_once_with_its_caps(tmp_path, capsys):
    path = tmp_path / "new"
    given = ("--cap", "target=1,1e-5", "--cap", "owners=2,1e-4")
    assert run("ledger", "create", path, *given) == 0
    assert run("ledger", "show", path) == 0
    assert "Nothing was charged yet." in capsys.readouterr().out
    with Ledger(path) as book:
        assert (book.cap("target"), book.cap("owners")) == ((1, 1e-5), (2, 1e-4))
    assert run("ledger", "create", path) == 2
    assert "exists already" in capsys.readouterr().err


@pytest.mark.parametrize(
    "cap", ["target", "target=1", "target=1,x", "nobody=1,1e-5", "target=0,1e-5"]
)
def test_a_cap_that_is_none_makes_no_ledger(cap, tmp_path, capsys):
    assert run("ledger", "create", tmp_path / "x", "--cap", cap) == 2
    assert capsys.readouterr().err.startswith("dpsumm: ")
    assert list(tmp_path.iterdir()) == []


def test_no_command_but_create_makes_a_ledger(tmp_path, capsys):
    cap = ("--protected", "target", "--epsilon", "1", "--delta", "1e-5")
    for command in (("show",), ("cap", *cap), ("accept",), ("export", "--out", tmp_path / "o.csv")):
        assert run("ledger", command[0], tmp_path / "x", *command[1:]) == 2
        assert "dpsumm ledger create" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_show_has_dates_epsilons_and_changes_of_caps(book, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    with Ledger(book) as books:
        books.set_cap("target", 9, 1e-3)
        books.set_cap("target", 8, 1e-3)
        at = books.lines()[0].at
    assert run("ledger", "accept", book) == 0
    assert "nothing to accept" in capsys.readouterr().out
    book.with_name(f"{book.name}.seen").write_text("another\n")  # as if a copy was put back
    assert run("ledger", "accept", book) == 0
    assert "nothing to accept" not in capsys.readouterr().out
    assert run("ledger", "show", book) == 0
    text = capsys.readouterr().out
    assert text.count("accepted although entries may be missing") == 1
    lines = iter(text.splitlines())
    head = next(line for line in lines if line.startswith("monday"))
    assert at[:16].replace("T", " ") + " UTC" in head
    assert next(lines).split()[-2:] == ["epsilon", "delta"]
    assert next(lines).split()[-2:] == ["1", "1e-05"]
    assert text.index("set to (9, 0.001)") < text.index("set to (8, 0.001)")


def test_export_writes_what_was_charged_and_over_nothing(book, capsys):
    with Ledger(book) as books:
        books.set_cap("owners", 3, 1e-3)
        lines = books.lines()
    out = book.with_name("out.csv")
    assert run("ledger", "export", book, "--out", out) == 0
    with out.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["entry"] for row in rows] == ["charge"] * len(lines) + ["cap"]
    for row, line in zip(rows, lines, strict=False):
        assert (row["date"], row["run"]) == (line.at, line.run)
        assert row["message"] == line.charge.message
        assert float(row["epsilon"]) == line.epsilon
    assert (rows[-1]["protects"], rows[-1]["epsilon"]) == ("owners", "3.0")
    before = out.read_bytes()
    assert run("ledger", "export", book, "--out", out) == 2
    assert "exists already" in capsys.readouterr().err
    assert out.read_bytes() == before


@pytest.mark.parametrize(
    "arguments", [("--epsilon", "0", "--delta", "1e-5"), ("--epsilon", "1", "--delta", "1")]
)
def test_a_cap_out_of_range_is_refused(arguments, tmp_path, capsys):
    Ledger.create(tmp_path / "x").close()
    assert run("ledger", "cap", tmp_path / "x", "--protected", "target", *arguments) == 2
    assert capsys.readouterr().err.startswith("dpsumm: ")


def test_what_is_no_ledger_is_refused_in_one_line(tmp_path, capsys):
    text = tmp_path / "text"
    text.write_text("x" * 5000)
    theirs = tmp_path / "theirs"
    with sqlite3.connect(theirs) as db:
        db.execute("CREATE TABLE t (a)")
    db.close()
    for path in (text, theirs, tmp_path / "absent"):
        assert run("ledger", "show", path) == 2
        error = capsys.readouterr().err
        assert "ledger" in error
        assert error.count("\n") == 1
    assert not (tmp_path / "absent").exists()


def test_nothing_is_written_over_an_input_or_another_output(tmp_path, capsys):
    rng = np.random.default_rng()
    for name in ("north.csv", "target.csv"):
        np.savetxt(
            tmp_path / name, rng.normal(size=(50, 2)), delimiter=",", header="a,b", comments=""
        )
    before = (tmp_path / "north.csv").read_bytes()
    for outputs in (
        ("--out", "north.csv"),
        ("--out", "target.csv"),
        ("--out", "same.csv", "--report", "same.csv"),
        ("--out", "books.csv", "--ledger", "books.csv"),
    ):
        options = [str(tmp_path / o) if o.endswith(".csv") else o for o in outputs]
        with pytest.raises(SystemExit) as stop:
            main(
                [
                    "summarize",
                    "--owner",
                    f"north={tmp_path / 'north.csv'}",
                    "--target",
                    str(tmp_path / "target.csv"),
                    "--size",
                    "5",
                    "--gamma",
                    "0.5",
                    *options,
                ]
            )
        assert stop.value.code == 2
        assert "would be written over" in capsys.readouterr().err
    assert (tmp_path / "north.csv").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["north.csv", "target.csv"]
