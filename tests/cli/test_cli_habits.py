"""What people expect of a command line: options in a file, owners by a pattern, Ctrl-C."""

import signal
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import dpsumm
from dpsumm.cli import main
from dpsumm.cli import run as run_module
from dpsumm.data.folder import owner_files
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy import Ledger

CONFIG = """
target = "goal.csv"
size = 10
epsilon = 2
label = "y"
column = { a = [0, 10], b = [0, 10] }
out = "made.csv"
OWNERS
"""


@pytest.fixture
def sites(tmp_path, monkeypatch):
    """A folder of two owners and a target beside it; the current directory is another one."""
    rng = np.random.default_rng(3)
    (tmp_path / "sites").mkdir()
    (tmp_path / "elsewhere").mkdir()
    for name, place in (("near", "sites/near.csv"), ("far", "sites/far.csv"), ("t", "goal.csv")):
        points = rng.uniform(0, 10, (60, 2))
        frame = pl.DataFrame({"a": points[:, 0], "b": points[:, 1], "y": [name] * 60})
        frame.write_csv(tmp_path / place)
    monkeypatch.chdir(tmp_path / "elsewhere")
    return tmp_path


def run(*arguments):
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    return caught.value.code or 0


@pytest.mark.parametrize(
    "owners",
    ['owner = ["sites/*.csv"]', 'owner = ["sites"]', 'owner = ["near=sites/near.csv"]',
     '[owner]\nnear = "sites/near.csv"\nfar = "sites/far.csv"'],
)  # fmt: skip
def test_a_run_s_options_may_be_in_a_file(sites, owners, capsys):
    path = sites / "run.toml"
    path.write_text(CONFIG.replace("OWNERS", owners))
    assert run("run", "--config", path, "--size", 12) == 0
    made = pl.read_csv(sites / "made.csv")
    assert len(made) == 12  # what is typed comes first
    assert set(made["owner"]) <= {"near", "far"}
    assert "epsilon, target" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "said"),
    [("sizes = 3", "unknown option 'sizes'"), ("size = [3]", "must be one value"),
     ("owner = 'x'", "must be a list"), ("column = { a = 3 }", "must hold [low, high]"),
     ("size = ", "is not a TOML file"), (None, "there is no file")],
)  # fmt: skip
def test_a_file_of_options_that_is_wrong_is_told_of(sites, text, said, capsys):
    path = sites / "run.toml"
    if text is not None:
        path.write_text(text)
    assert run("run", "--config", path, "--target", "goal.csv", "--size", 3) == 2
    assert said in capsys.readouterr().err


def test_owners_by_a_pattern_are_called_by_their_files(sites):
    assert list(owner_files(str(sites / "sites"))) == ["far", "near"]
    summary = dpsumm.summarize(
        str(sites / "sites" / "*.csv"), sites / "goal.csv", size=5, label="y",
        bounds={"a": (0, 10), "b": (0, 10)},
    )  # fmt: skip
    assert summary.names == ("far", "near")
    with pytest.raises(InvalidParameterError, match="matches no file"):
        owner_files(str(sites / "sites" / "*.parquet"))
    (sites / "sites" / "near.txt").write_text("a,b\n1,2\n")
    with pytest.raises(InvalidParameterError, match="would be the owner 'near'"):
        owner_files(str(sites / "sites"))


def test_an_owner_given_twice_is_refused(sites, capsys):
    near = f"near={sites / 'sites' / 'near.csv'}"
    common = ("--target", sites / "goal.csv", "--size", 3, "--label", "y")
    assert run("run", "--owner", near, "--owner", sites / "sites" / "*.csv", *common) == 2
    assert "'near' is given twice" in capsys.readouterr().err


@pytest.mark.parametrize("ledger", [False, True])
@pytest.mark.parametrize("after", [False, True])
def test_an_interrupted_run_says_in_one_line_what_was_spent(
    sites, monkeypatch, capsys, ledger, after
):
    books = sites / "books.db"
    Ledger.create(books).close()
    real = run_module.summarize

    def stopped(*owners, **given):
        if after:
            real(*owners, **given)
        raise KeyboardInterrupt

    monkeypatch.setattr(run_module, "summarize", stopped)
    box = ("--column", "a=0:10", "--column", "b=0:10", "--label", "y")
    given = ("--owner", sites / "sites", "--target", sites / "goal.csv", "--size", 5, *box)
    assert run("run", *given, *(("--ledger", books) if ledger else ())) == 130
    said = capsys.readouterr().err.strip().splitlines()
    assert len(said) == 1
    assert said[0].startswith("dpsumm: interrupted; ")
    if not ledger:
        assert "no --ledger kept it" in said[0]
    elif not after:
        assert "nothing was spent" in said[0]
    else:
        with Ledger(books) as book:
            (name,) = book.runs()
        assert f"epsilon 1 of the target is spent; run again with --ledger {books}" in said[0]
        assert f"--run {name}: nothing is charged twice" in said[0]


def test_an_interruption_while_the_command_loads_is_one_line_too(monkeypatch, capsys):
    def stopped(name):
        raise KeyboardInterrupt

    monkeypatch.setattr("dpsumm.cli.app.import_module", stopped)
    assert run("plan", "--size", 3) == 130
    assert capsys.readouterr().err == "dpsumm: interrupted\n"


LATE = "import ctypes; libc = ctypes.CDLL(None); libc.on_exit(libc.kill, 2)"  # kill(0, 2)
IN_TEXT = """
from dpsumm.cli import app
app.import_module = lambda name: exec("raise KeyboardInterrupt")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="on_exit is the C library's of Linux")
@pytest.mark.parametrize(
    ("when", "word", "code", "said"),
    [(LATE, "--version", 0, ""), (IN_TEXT, "plan", 130, "dpsumm: interrupted\n")],
    ids=["as the process ends", "while text is executed"],
)
@pytest.mark.parametrize("call", ["main()", "main(sys.argv[1:])"])
def test_no_interruption_ends_the_process_by_its_signal(tmp_path, when, word, code, said, call):
    """Neither when no Python is left to catch it, where it comes too late, nor where the
    interpreter takes it for unhandled. The twin is called by a program that goes on."""
    program = f"{when}\nimport sys\nfrom dpsumm.cli import main\n{call}\n"
    (tmp_path / "program.py").write_text(program)
    ended = subprocess.run(
        [sys.executable, "-m", "program", word],
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
        start_new_session=True,
    )
    assert ended.stderr == said
    assert ended.returncode == (code if call == "main()" else -signal.SIGINT)
