"""Errors of the commands that need no data: one line, exit code 2, nothing written."""

import ast
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import dpsumm
from dpsumm.cli import console, main
from dpsumm.cli.app import load
from dpsumm.cli.typed import OPTIONS, typed
from dpsumm.report.notes import Note

PACKAGE = Path(dpsumm.__file__).parent


@pytest.fixture(autouse=True)
def directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    points = np.random.default_rng(0).normal(5, 1, (30, 1)).clip(0, 10)
    for name in ("a", "t"):
        pl.DataFrame({"x": points[:, 0]}).write_csv(f"{name}.csv")
    (tmp_path / "file").write_text("in the way")
    return tmp_path


RUN = ("summarize", "--owner", "a=a.csv", "--target", "t.csv", "--schema", "x=0:10", "--size", "3")

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
        "ledger: there is no ledger none/books.db. .*ledger create",
    ),
    ((*RUN, "--out", "file"), "--out must end in"),
    ((*RUN, "--epsilon", "inf"), "epsilon must be"),
    ((*RUN, "--gamma", "nan"), "gamma must be"),
    ((*RUN, "--spread", "nan"), "spread must be"),
    ((*RUN, "--seed", str(2**63)), "seed must be"),
    (("summarize", "--owner", "a=a.csv", "--target", "t.csv", "--size", "3"), "RBF|--gamma"),
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
    ("arguments", "message"),
    [
        ((*RUN, "--n-features", "7"), "--n-features must be an even number"),
        ((*RUN, "--epsilon", "50"), "--epsilon 50 .* Give less, or --allow-weak-privacy if"),
        ((*RUN, "--format", "decimal=x"),
         "--format decimal must be .* has --format 'separator=;'"),
        ((*RUN, "--protocol", "auction", "--requests", "winner"),
         "--requests winner protect .* between owners is ∞. Give another, or --allow-weak-privacy"),
        ((*RUN[:5], "--size", "3", "--schema", "x=9:1"), "--?[a-z]+: column 'x' needs finite low"),
        (("plan", "summarize", "--target-size", "1", "--size", "3"), "--target-size must be"),
        (("plan", "learn", "--points", "300", "--parties", "1", "--classes", "a,b"),
         "--parties must be"),
        (("plan", "learn", "--points", "3", "--parties", "9", "--classes", "a,b"),
         "--points must be"),
        (("schema", "check", "a.csv", "--schema", "none.toml"), "--schema: there is no file"),
        (("synthesize", "--schema", "a=none.toml", "--owner", "a=a.csv"), "--schema: there is no"),
        (("ledger", "create", "l.db", "--cap", "target=1,2"), "--cap: 'target': delta must lie"),
        (("ledger", "show", "none.db"), "ledger: there .* with .*dpsumm ledger create"),
        # What is no option keeps its name.
        (("predict", "none.model", "a.csv"), "model: none.model cannot be read"),
    ],
)  # fmt: skip
def test_an_error_begins_with_the_option_that_was_typed(arguments, message, capsys):
    with pytest.raises(SystemExit):
        main(arguments)
    said = capsys.readouterr().err
    assert re.fullmatch(f"dpsumm: {message}.*\n", said)
    assert not re.search(r"\b[a-z_]+=(True|'|\()", said)


def test_a_note_names_the_option_too(capsys):
    known = OPTIONS.set({"ids", "protocol"})
    console.tell(Note("Join by `ids`, or `protocol=Pool()`; columns (`schema`)."))
    OPTIONS.reset(known)
    said = " ".join(capsys.readouterr().err.split())
    assert said == "Check this: Join by --ids, or --protocol pool; columns (`schema`)."


def test_a_remedy_in_python_is_marked():
    """Whatever an option of a command can bring about: the command line words what is marked."""
    words = "allow_weak_privacy ids label validation encoding separator names "
    words += "models_per_owner unit ledger"
    python = re.compile(rf"\b({words.replace(' ', '|')})=\S|FileFormat\(|\bPool\(\)|\bDealer\(\)")
    # What no command does: `private_model`, classifiers that were fitted elsewhere, other products.
    elsewhere = {
        "the summary has no labels",
        "classifiers, models_per_owner=",
        "secret_product must be Dealer()",
    }
    elsewhere |= {"PrivacyReport.epsilon(unit="}
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.relative_to(PACKAGE).parts[0] in ("audit", "flower", "cli"):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                text = "".join(
                    part.value
                    for argument in node.args
                    for part in ast.walk(argument)
                    if isinstance(part, ast.Constant) and isinstance(part.value, str)
                )
                raised = isinstance(node.func, ast.Name) and node.func.id.endswith("Error")
                if raised and python.search(text) and not any(one in text for one in elsewhere):
                    found.append((path.name, re.sub("`[^`]*`", "", text)))
    assert len(found) > 3
    assert [one for one in found if python.search(one[1])] == []


def options_by_command():
    """Return the options of each command that reads files of data."""
    reading = "summarize, learn, synthesize, predict, compare, schema init, schema check"
    found = {}
    for words in map(str.split, reading.split(", ")):
        command = load(words[0])
        for word in words[1:]:
            command = command.commands[word]
        found[" ".join(words)] = {o for one in command.params for o in one.opts}
    return found


@pytest.mark.parametrize("key", ["kind", "separator", "decimal", "names", "encoding"])
def test_a_remedy_for_a_file_has_words_in_each_command_that_reads_one(key):
    for command, options in options_by_command().items():
        known = {one[2:].replace("-", "_") for one in options}
        said = typed(f"`File(path, FileFormat({key}='x'))`", known)
        assert said == f"--format {'NAME:' * ('--owner' in options)}{key}=x", command
        assert "--format" in options


# Words of commands, and of programs of others.
OF_COMMANDS = {"options.py", "words.py", "audit/show.py", "flower/trial.py", "vertical/mpyc.py"}


def strings(tree):
    """Give the texts of a module that are no docstrings."""
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        if isinstance(node.body[0], ast.Expr)
    }
    inside = {id(n) for f in ast.walk(tree) if isinstance(f, ast.JoinedStr) for n in ast.walk(f)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(n.value for n in node.values if isinstance(n, ast.Constant))
        elif isinstance(node, ast.Constant) and id(node) not in docs | inside:
            yield str(node.value)


def test_no_message_of_the_library_has_an_option():
    """Parameters are marked, and the command line words them; whole commands may have options."""
    n_read = 0
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name.startswith("cli/") or path.name in OF_COMMANDS or name in OF_COMMANDS:
            continue
        for text in strings(ast.parse(path.read_text("utf-8"))):
            n_read += 1
            assert not re.search(r"--[a-z]", re.sub(r"(dpsumm|ray) [^`.]*", "", text)), (name, text)
    assert n_read > 5000


@pytest.mark.parametrize(
    ("files", "arguments", "message"),
    [
        # An Excel workbook by another name; each command says so by options of its own.
        ({"b.csv": "PK\x03\x04"}, ("summarize", "--owner", "b=b.csv", *RUN[3:]),
         "'b' .* name it so, or say so by --format NAME:kind=excel$"),
        ({"b.csv": "PK\x03\x04"}, ("schema", "init", "b.csv"), ".* say so by --format kind=excel$"),
        ({"b.csv": "1,2\n3,4\n"}, ("summarize", "--owner", "b=b.csv", *RUN[3:]),
         ".* column names. Give --format NAME:names=...$"),
        ({"b.csv": "x\n1\n\"\"\n"}, ("summarize", "--owner", "b=b.csv", *RUN[3:]),
         ".* or say when_missing in the schema: 'drop' leaves such rows out, 'encode' keeps them, "
         "with 'missing' as a value of its own$"),
        ({}, ("summarize", "--owner", "a=a.csv", "--target", "t.csv", "--size", "3"),
         "--gamma: nothing public says .* Give --schema with all columns, or --gamma with a public "
         "bandwidth$"),
    ],
)  # fmt: skip
def test_a_remedy_can_be_typed(directory, files, arguments, message, capsys):
    for name, text in files.items():
        (directory / name).write_text(text)
    with pytest.raises(SystemExit):
        main(arguments)
    assert re.match(f"dpsumm: {message}", capsys.readouterr().err.strip())


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
