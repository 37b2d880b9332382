"""Errors of the commands that need no data: one line, exit code 2, nothing written."""

import re

import numpy as np
import polars as pl
import pytest

from dpsumm.cli import main


@pytest.fixture(autouse=True)
def directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    points = np.random.default_rng(0).normal(5, 1, (30, 1)).clip(0, 10)
    for name in ("a", "t"):
        pl.DataFrame({"x": points[:, 0]}).write_csv(f"{name}.csv")
    (tmp_path / "file").write_text("in the way")
    return tmp_path


RUN = ("run", "--owner", "a=a.csv", "--target", "t.csv", "--column", "x=0:10", "--size", "3")

CASES = [
    (("demo", "--size", "9", "--out", "out"), "size must be at least 10"),
    (("demo", "--size", "100000", "--out", "out"), "size must be between 1 and"),
    (("demo", "--epsilon", "0", "--out", "out"), "epsilon must be"),
    (("demo", "--epsilon", "nan", "--out", "out"), "epsilon must be"),
    (("demo", "--delta", "1", "--out", "out"), "delta must"),
    (("demo", "--out", "file"), "--out: cannot make directory file"),
    ((*RUN, "--ledger", "file"), "ledger: file cannot be .* as a ledger"),
    (
        (*RUN, "--ledger", "none/books.db"),
        "ledger: there is no ledger none/books.db; .*ledger create",
    ),
    ((*RUN, "--out", "file"), "--out must end in"),
    ((*RUN, "--epsilon", "inf"), "epsilon must be"),
    ((*RUN, "--gamma", "nan"), "gamma must be"),
    ((*RUN, "--spread", "nan"), "spread must be"),
    ((*RUN, "--seed", str(2**63)), "seed must be"),
    (("run", "--owner", "a=a.csv", "--target", "t.csv", "--size", "3"), "RBF|--gamma"),
]


@pytest.mark.parametrize(("arguments", "message"), CASES)
def test_error_is_one_line_and_exit_2(directory, arguments, message, capsys):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("dpsumm: ")
    assert captured.err.count("\n") == 1
    assert re.search(message, captured.err)
    assert captured.out == ""
    written = {p.name for p in directory.rglob("*") if p.is_file()}
    assert written == {"a.csv", "t.csv", "file"}


@pytest.mark.parametrize(
    "arguments",
    [
        (*RUN, "--seed", "-1"),
        (*RUN, "--size", "x"),
        (*RUN, "--protocol", "magic"),
        ("demo", "--nonsense"),
        (),
    ],
)
def test_wrong_usage_exits_2(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err + captured.out
