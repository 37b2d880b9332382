"""What people expect of a command line: options in a file, owners by a pattern, Ctrl-C."""

import json
import signal
import subprocess
import sys
from importlib import import_module

import numpy as np
import polars as pl
import pytest

import dpsumm
from dpsumm.cli import main
from dpsumm.cli import summarize as summarize_module
from dpsumm.cli.app import load
from dpsumm.cli.products import ROOMS
from dpsumm.data import File, FileFormat
from dpsumm.data.file import owner_files
from dpsumm.data.inputs import read_owners
from dpsumm.data.short import schema_of
from dpsumm.data.words import kinds_of
from dpsumm.errors import InvalidDataError, InvalidParameterError
from dpsumm.privacy import Ledger, Protected
from helpers.sheets import write_sheet

CONFIG = """
product = "summarize"
target = "goal.csv"
size = 10
epsilon = 2
schema = { a = [0, 10], b = [0, 10], y = "label" }
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
    assert run("run", path, "--size", 12) == 0
    made = pl.read_csv(sites / "made.csv")
    assert len(made) == 12  # what is typed comes first
    assert set(made["owner"]) <= {"near", "far"}
    assert "epsilon, target" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "said"),
    [("sizes = 3", "unknown option 'sizes'"), ("size = [3]", "must be one value"),
     ("owner = 'x'", "must be a list"), ("schema = { a = 3 }", "column 'a' needs"),
     ("schema = [3]", "schema must be a path, or a table such as"),
     ("size = ", "is not TOML"), (None, "there is no file"),
     ("size = true", "run.toml: size must be a whole number, got True"),
     ("seed = 1.5", "seed must be a whole number"), ("epsilon = '1'", "epsilon must be a number"),
     ("allow_weak_privacy = 1", "allow_weak_privacy must be true or false"),
     ("format = 3", "format must be a list"), ("separator = ';'", "unknown option 'separator'"),
     ("protocol = 'magic'", "protocol must be one of offers, auction"),
     ("sample = 3", "sample must be a path"), ("target = 3", "target must hold paths"),
     ("seed = -1", "seed must be")],
)  # fmt: skip
def test_a_file_of_options_that_is_wrong_is_told_of(sites, text, said, capsys):
    """By the command and by Python, in the same words."""
    path = sites / "run.toml"
    if text is not None:
        path.write_text(f'product = "summarize"\n{text}')
    owners = ("--owner", sites / "sites")
    given = ("--target", sites / "goal.csv", "--size", 3)
    common = () if text == "owner = 'x'" else owners
    known = {} if text and "schema" in text else {"schema": {"a": [0, 9], "y": "label"}}
    columns = ("--schema", "a=0:9", "--schema", "y=label") if known else ()
    assert run("run", path, *common, *given, *columns) == 2
    assert said in " ".join(capsys.readouterr().err.split())
    python = {} if text in (None, "owner = 'x'") else {"owner": [sites / "sites"]}
    with pytest.raises(InvalidParameterError) as caught:
        dpsumm.run(path, **python, **known, target=sites / "goal.csv", size=3)
    assert said in str(caught.value)


SAMPLED = """
protocol = "offers"
reads_per_record = 2
features = "random"
n_features = 64
spread = 0.25
gamma = 0.5
delta = 1e-6
seed = 5
drop_target_copies = true
[owner]
near = "sites/near.csv"
far = "sites/far.csv"
"""


def test_python_and_the_command_make_the_same_run_of_one_file(sites):
    path = sites / "run.toml"
    path.write_text(CONFIG.replace("OWNERS", SAMPLED))
    assert run("run", path) == 0
    (made := dpsumm.run(path)).save(sites / "python.csv")
    assert pl.read_csv(sites / "python.csv").equals(pl.read_csv(sites / "made.csv"))
    told = [json.loads((sites / f"{name}.csv.json").read_text()) for name in ("python", "made")]
    records = [one["record"] | {"run": None, "finished": None} for one in told]
    assert records[0] == records[1]
    # What is said in the call comes first, and another seed is another run.
    other = dpsumm.run(path, seed=6, size=12)
    assert len(other.points) == 12
    assert dpsumm.run(path, seed=6).index.tolist() != made.index.tolist()
    frames = {name: (sites / "sites" / f"{name}.csv") for name in ("near", "far")}
    given = {"schema": {"a": (0, 10), "b": (0, 10), "y": "label"}}
    same = dpsumm.summarize(
        frames, sites / "goal.csv", size=10, epsilon=2, delta=1e-6, seed=5, kernel=dpsumm.RBF(0.5),
        protocol=dpsumm.Offers(reads_per_record=2, features="random", n_features=64, spread=0.25),
        drop_target_copies=True, **given,
    )  # fmt: skip
    assert (same.points == made.points).all()
    assert same.owner.tolist() == made.owner.tolist()


def test_python_goes_on_with_a_run_that_the_command_began(sites):
    """One file, one run: the books take the one for the other."""
    path = sites / "run.toml"
    Ledger.create(sites / "books.db").close()
    owners = (
        'ledger = "books.db"\nrun = "once"\nreads_per_record = 2\nspread = 0\nowner = ["sites"]'
    )
    path.write_text(CONFIG.replace("OWNERS", owners))
    assert run("run", path) == 0
    made = pl.read_csv(sites / "made.csv")
    again = dpsumm.run(path)
    assert again.to_frame("polars").select("a", "b").equals(made.select("a", "b"))
    with Ledger(sites / "books.db") as book:
        assert book.runs() == ("once",)
        assert book.spent(Protected.TARGET)[0] <= 2


def test_a_run_s_file_is_refused_before_anything_is_read_if_something_is_missing(sites):
    path = sites / "run.toml"
    path.write_text('product = "summarize"\ntarget = "nowhere.csv"\nsize = 3\n')
    with pytest.raises(InvalidParameterError, match=r"run\.toml: owner is missing"):
        dpsumm.run(path)
    with pytest.raises(InvalidParameterError, match="unknown option 'epsilom'"):
        dpsumm.run(path, epsilom=1)
    for product, said in (
        ("", "product is missing"),
        ("product = 'x'\n", "product is 'x'"),
        ("product = ['learn']\n", "product is"),
    ):
        path.write_text(product + "size = 3\n")
        with pytest.raises(InvalidParameterError, match=said):
            dpsumm.run(path)
    # A budget that promises next to nothing is refused as the command refuses it.
    path.write_text(CONFIG.replace("OWNERS", 'owner = ["sites"]'))
    with pytest.raises(InvalidParameterError, match="allow_weak_privacy"):
        dpsumm.run(path, epsilon=50)
    assert len(dpsumm.run(path, epsilon=50, allow_weak_privacy=True).points) == 10


def test_every_path_of_a_file_of_options_is_relative_to_it(sites):
    np.save(sites / "sample.npy", np.random.default_rng(0).uniform(0, 1, (128, 2)))
    path = sites / "run.toml"
    said = 'sample = "sample.npy"\nseed = 1\nowner = ["sites"]'
    path.write_text(CONFIG.replace("OWNERS", said))
    assert run("run", path) == 0
    assert len(dpsumm.run(path).points) == 10


def test_a_file_of_options_knows_all_that_the_command_has():
    for product, room in ROOMS.items():
        names = {one.name for one in load(product).params} - {"help"}
        groups = import_module(f"dpsumm.{room}.options").GROUPS
        assert names == set(kinds_of(groups)), product


def test_owners_by_a_pattern_are_called_by_their_files(sites):
    assert list(owner_files(str(sites / "sites"))) == ["far", "near"]
    summary = dpsumm.summarize(
        str(sites / "sites" / "*.csv"), sites / "goal.csv", size=5,
        schema={"a": (0, 10), "b": (0, 10), "y": "label"},
    )  # fmt: skip
    assert summary.names == ("far", "near")
    with pytest.raises(InvalidParameterError, match="matches no file"):
        owner_files(str(sites / "sites" / "*.parquet"))
    (sites / "sites" / "near.txt").write_text("a,b\n1,2\n")
    with pytest.raises(InvalidParameterError, match="would be the owner 'near'"):
        owner_files(str(sites / "sites"))


def test_an_owner_given_twice_is_refused(sites, capsys):
    near = f"near={sites / 'sites' / 'near.csv'}"
    common = ("--target", sites / "goal.csv", "--size", 3, "--schema", "y=label")
    assert run("summarize", "--owner", near, "--owner", sites / "sites" / "*.csv", *common) == 2
    assert "'near' is given twice" in capsys.readouterr().err


@pytest.mark.parametrize("ledger", [False, True])
@pytest.mark.parametrize("after", [False, True])
def test_an_interrupted_run_says_in_one_line_what_was_spent(
    sites, monkeypatch, capsys, ledger, after
):
    books = sites / "books.db"
    Ledger.create(books).close()
    real = summarize_module.make_summary

    def stopped(*owners, **given):
        if after:
            real(*owners, **given)
        raise KeyboardInterrupt

    monkeypatch.setattr(summarize_module, "make_summary", stopped)
    box = ("--schema", "a=0:10", "--schema", "b=0:10", "--schema", "y=label")
    given = ("--owner", sites / "sites", "--target", sites / "goal.csv", "--size", 5, *box)
    assert run("summarize", *given, *(("--ledger", books) if ledger else ())) == 130
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


@pytest.mark.parametrize("where", ["dpsumm.cli.app.import_module", "typer.core._main"])
@pytest.mark.parametrize("word", ["summarize", "learn", "synthesize", "ledger"])
def test_an_interruption_before_a_run_begins_says_that_nothing_was_spent(
    monkeypatch, capsys, where, word
):
    """While modules load, and while Typer reads options, which ends with 130 and no word."""

    def stopped(*_, **__):
        raise SystemExit(130) if where.startswith("typer") else KeyboardInterrupt

    monkeypatch.setattr(where, stopped)
    assert run(word, "--size", 3) == 130
    unspent = "" if word == "ledger" else "; nothing was spent"
    assert capsys.readouterr().err == f"dpsumm: interrupted{unspent}\n"


def test_an_interruption_after_a_run_does_not_deny_what_it_spent(sites, monkeypatch, capsys):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(summarize_module.console, "show_run", stopped)
    box = ("--schema", "a=0:10", "--schema", "b=0:10", "--schema", "y=label")
    given = ("--owner", sites / "sites", "--target", sites / "goal.csv", "--size", 5, *box)
    assert run("summarize", *given) == 130
    assert capsys.readouterr().err == "dpsumm: interrupted\n"
    # The next command begins anew.
    monkeypatch.setattr("dpsumm.cli.app.import_module", stopped)
    assert run("summarize", *given) == 130
    assert capsys.readouterr().err == "dpsumm: interrupted; nothing was spent\n"


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


@pytest.fixture
def mixed(sites):
    """The same data: one owner's as a German CSV without suffix, the other's as Excel."""
    near, far = (pl.read_csv(sites / "sites" / f"{name}.csv") for name in ("near", "far"))
    rows = ["a;b;y", *(f"{a};{b};{y}".replace(".", ",") for a, b, y in near.rows())]
    (sites / "export").write_bytes("\n".join(rows).encode("utf-16"))
    write_sheet(sites / "far.xlsx", [far.columns, *map(list, far.rows())])
    pl.read_csv(sites / "goal.csv").write_parquet(sites / "goal.data")
    return sites


FORMATS = ("kind=csv", "separator=;", "decimal=,", "encoding=utf-16")


def test_every_owner_may_have_a_format_of_its_own(mixed, capsys):
    """On the command line, in a file of options and in Python; the same as from plain files."""
    box = ("--schema", "a=0:10", "--schema", "b=0:10", "--schema", "y=label")
    box += ("--size", 10, "--seed", 1)
    typed = [word for one in FORMATS for word in ("--format", f"near:{one}")]
    files = ("--owner", f"near={mixed / 'export'}", "--owner", f"far={mixed / 'far.xlsx'}")
    target = ("--target", mixed / "goal.data", "--format", "target:kind=parquet")
    assert run("summarize", *files, *target, *typed, *box, "--out", mixed / "typed.csv") == 0
    (mixed / "run.toml").write_text(
        'product = "summarize"\nsize = 10\nseed = 1\n'
        "schema = { a = [0, 10], b = [0, 10], y = 'label' }\n"
        'out = "config.csv"\ntarget = { file = "goal.data", kind = "parquet" }\n[owner]\n'
        'far = "far.xlsx"\n[owner.near]\nfile = "export"\nkind = "csv"\nseparator = ";"\n'
        'decimal = ","\nencoding = "utf-16"\n'
    )
    assert run("run", mixed / "run.toml") == 0
    plain = [word for name in ("near", "far") for word in
             ("--owner", f"{name}={mixed / 'sites' / name}.csv")]  # fmt: skip
    plain += ["--target", mixed / "goal.csv", "--out", mixed / "b.csv"]
    assert run("summarize", *plain, *box) == 0
    bounds = {"a": (0, 10), "b": (0, 10)}
    german = FileFormat(kind="csv", separator=";", decimal=",", encoding="utf-16")
    goal = File(mixed / "goal.data", FileFormat(kind="parquet"))
    given = {"size": 10, "seed": 1, "schema": bounds | {"y": "label"}}
    near = File(mixed / "export", german)
    summary = dpsumm.summarize({"near": near, "far": mixed / "far.xlsx"}, goal, **given)
    assert dpsumm.summarize([near], goal, **given).names == ("export",)
    expected = pl.read_csv(mixed / "b.csv")
    assert pl.read_csv(mixed / "typed.csv").equals(expected)
    order = ["a", "b"]
    # The owners stand in another order in the file of options.
    assert len(pl.read_csv(mixed / "config.csv")) == 10
    assert summary.to_frame("polars").select(order).equals(expected.select(order))


def test_a_format_without_a_name_is_that_of_all_files(mixed, capsys):
    """Those that have another one say so."""
    words = ["--owner", f"near={mixed / 'export'}", "--target", mixed / "export", "--size", 3]
    words += ["--schema", "a=0:10", "--schema", "b=0:10", "--schema", "y=label", "--seed", 1]
    usual = [word for one in FORMATS for word in ("--format", one)]
    assert run("summarize", *words, *usual, "--out", mixed / "typed.csv") == 0
    assert run("summarize", *words, *usual, "--format", "target:decimal=.") == 2
    assert "'target'" in capsys.readouterr().err
    form = 'format = { kind = "csv", separator = ";", decimal = ",", encoding = "utf-16" }'
    listed = f"format = {[one for one in FORMATS]!r}"
    for number, said in enumerate((form, listed)):
        (mixed / f"{number}.toml").write_text(
            'product = "summarize"\nsize = 3\nseed = 1\nowner = { near = "export" }\n'
            f'target = "export"\nout = "{number}.csv"\n{said}\n'
            "schema = { a = [0, 10], b = [0, 10], y = 'label' }\n"
        )
        assert run("run", mixed / f"{number}.toml") == 0
        assert (mixed / f"{number}.csv").read_bytes() == (mixed / "typed.csv").read_bytes()


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (["near:kind=word"], "kind must be one of csv, parquet, excel"),
        (["near:sep=;"], "write KEY=VALUE or NAME:KEY=VALUE with a key of kind, separator"),
        (["near"], "write KEY=VALUE or NAME:KEY=VALUE"),
        ([":kind=csv"], "write KEY=VALUE"),
        (["neat:kind=csv"], "no file is called 'neat'; there are near, target"),
        (["near:kind=csv", "near:kind=excel"], "near:kind is given twice"),
        (["near:encoding=utf-7"], "encoding must be one in which"),
        ([], r"Say what the file is by --format NAME:kind=..."),
    ],
)
def test_a_format_that_is_wrong_is_named(mixed, said, why, capsys):
    words = [word for one in said for word in ("--format", one)]
    near = ("--owner", f"near={mixed / 'export'}", "--target", mixed / "goal.csv", "--size", 3)
    assert run("summarize", *near, "--gamma", 1, *words) == 2
    assert why in capsys.readouterr().err


def test_a_format_of_a_file_that_is_an_owner_s_and_the_target_s_is_refused(mixed, capsys):
    near = ("--owner", f"target={mixed / 'export'}", "--target", mixed / "goal.csv", "--size", 3)
    assert run("summarize", *near, "--format", "target:kind=csv") == 2
    assert "Call that owner otherwise" in capsys.readouterr().err


def test_all_owners_files_may_share_a_format(mixed):
    for name in ("near", "far"):
        file = mixed / "sites" / f"{name}.csv"
        file.write_text(file.read_text().replace(",", ";").replace(".", ","))
    every = File(mixed / "sites" / "*.csv", FileFormat(separator=";", decimal=","))
    given = {"size": 10, "seed": 1, "schema": {"a": (0, 10), "b": (0, 10), "y": "label"}}
    summary = dpsumm.summarize(every, mixed / "goal.csv", **given)
    assert summary.names == ("far", "near")
    own = {one: File(mixed / "sites" / f"{one}.csv", every.format) for one in ("far", "near")}
    apart = dpsumm.summarize(own, mixed / "goal.csv", **given)
    np.testing.assert_array_equal(summary.points, apart.points)


def test_a_file_with_a_format_is_streamed_as_others_are(mixed, capsys):
    words = ("--owner", f"near={mixed / 'goal.data'}", "--target", mixed / "goal.csv", "--size", 3)
    box = ("--schema", "a=0:10", "--schema", "b=0:10", "--stream")
    assert run("summarize", *words, *box, "--format", "near:kind=parquet") == 2
    assert "suffix must be one of .parquet" in capsys.readouterr().err


def test_the_rule_on_missing_values_holds_for_every_file(mixed):
    with pytest.raises(InvalidParameterError, match="path must be the path of a file"):
        File(np.zeros((2, 2)))
    path = mixed / "holes"
    path.write_text("a;b;y\n1,5;;x\n" + "2,5;3;x\n" * 5)
    german = FileFormat(kind="csv", separator=";", decimal=",")
    with pytest.raises(InvalidDataError, match="missing values"):
        read_owners([File(path, german)], schema=dpsumm.Schema.numbers("ab", label="y"))
    drop = {"when_missing": "drop"}
    drops = schema_of({"a": drop, "b": drop, "y": "label"})
    (table,) = read_owners([File(path, german)], schema=drops)
    assert table.n_dropped == 1


def test_learn_and_synthesize_take_formats(tmp_path, capsys):
    """Parties and public points; owners of columns."""
    rng = np.random.default_rng(0)
    schema = dpsumm.Schema([dpsumm.Column("a", bounds=(-3, 3)), dpsumm.Column("sick", "label")])
    schema.save(tmp_path / "schema.toml")
    for i in range(4):
        a = rng.normal(size=60).clip(-3, 3).round(3)
        rows = [f"{x};{'yes' if x > 0 else 'no'}".replace(".", ",") for x in a]
        (tmp_path / f"p{i}.csv").write_text("\n".join(["a;sick", *rows]) + "\n")
    (tmp_path / "points").write_text("a\n" + "\n".join(map(str, rng.normal(size=90).clip(-3, 3))))
    words = []
    for i in range(4):
        words += ["--owner", f"p{i}={tmp_path}/p{i}.csv"]
        words += ["--format", f"p{i}:decimal=,", "--format", f"p{i}:separator=;"]
    out = ("--out", tmp_path / "guesses.csv", "--seed", 1, "--epsilon", 5, "--allow-weak-privacy")
    points = ("--public-points", tmp_path / "points", "--format", "public_points:kind=csv")
    classes = ("--classes", "no,yes", "--schema", tmp_path / "schema.toml")
    assert run("learn", *words, *points, *classes, *out) == 0, capsys.readouterr().err
    assert len(pl.read_csv(tmp_path / "guesses.csv")) == 90
    both = []
    for name, column in (("east", "u"), ("west", "v")):
        dpsumm.Schema([dpsumm.Column(column, categories=(0, 1))]).save(tmp_path / f"{name}.toml")
        values = "\n".join(map(str, rng.integers(0, 2, 200)))
        (tmp_path / name).write_text(f"{column}\n{values}\n")
        both += ["--owner", f"{name}={tmp_path / name}", "--format", f"{name}:kind=csv"]
        both += ["--schema", f"{name}={tmp_path / name}.toml"]
    assert run("synthesize", *both, "--seed", 1, "--out", tmp_path / "rows.csv") == 0
    assert pl.read_csv(tmp_path / "rows.csv").columns == ["u", "v"]
