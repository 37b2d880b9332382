"""Words of other parties reach a terminal as text: they clear no screen and forge no line.

Others choose names of files, of columns, of classes, of owners and runs, and what stands in files
that they send. Every command gets some of them here, and the code with which it must end.
"""

import json
import re

import pytest

from dpsumm.basics.visible import logger, visible
from dpsumm.cli import main
from dpsumm.cli.app import COMMANDS, load
from dpsumm.errors import DpsummError, InvalidParameterError
from dpsumm.exchange.across import reason
from dpsumm.privacy.facts import facts
from dpsumm.report.notes import Note
from dpsumm.report.parts import tag

FORGED = "all is well"
ESC = f"\x1b[2J\x1b[31m\x9b\x7f\u202e\u2066\ufeff\r\n{FORGED}\n"
CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff]")

BUDGET = ["--epsilon", "1", "--delta", "1e-5"]
FILES = ["--owner", f"north={ESC}.csv", "--owner", "south=south.csv", "--target", "south.csv"]
PARTIES = [*FILES[:4], "--public-points", "aux.csv"]
TABLES = ["--schema", f"left={ESC}left.toml", "--schema", "right=right.toml", "--delta", "1e-5"]
OWNED = ["--owner", f"left={ESC}left.csv", "--owner", "right=right.csv"]
RUN = ["summarize", *FILES, "--size", "2", *BUDGET, "--schema", f"{ESC}.toml"]
RUN += ["--allow-weak-privacy"]
LEARN = ["learn", *PARTIES, "--schema", f"{ESC}.toml", *BUDGET, "--allow-weak-privacy"]
# Each command's words, the code it ends with, and whether a word of others must show, as spelled.
WALK = [
    ("schema init", [f"{ESC}.csv", "--out", f"{ESC}new.toml"], 0, True),
    ("schema check", [f"{ESC}.csv", "--schema", f"{ESC}.toml"], 0, False),
    ("schema check", ["south.csv", "--schema", "hostile.toml"], 2, True),
    ("schema check", ["hostile.csv", "--schema", "right.toml"], 2, False),
    ("audit", [f"--{ESC}"], 2, True),
    (
        "plan summarize",
        ["--target-size", "99", "--size", "9", *BUDGET, "--plot", f"{ESC}.svg"],
        0,
        True,
    ),
    (
        "plan summarize",
        ["--target-size", "99", "--size", "9", *BUDGET, "--schema", "hostile.toml"],
        2,
        True,
    ),
    ("compare", ["--target-size", "99", "--size", "9", *BUDGET, "--schema", "hostile.toml"], 2, 1),
    ("demo", ["--out", f"south.csv/{ESC}"], 2, True),
    ("ledger create", [f"{ESC}.db"], 0, False),
    ("summarize", [*RUN[1:], "--ledger", f"{ESC}.db", "--out", f"{ESC}out.csv"], 0, True),
    ("summarize", [*RUN[1:], "--ledger", f"{ESC}.db", "--run", ESC, "--out", "o.csv"], 2, True),
    ("summarize", [*RUN[1:], "--owner", f"n{ESC}=south.csv", "--out", "o.csv"], 2, True),
    ("summarize", [*RUN[1:], f"--{ESC}"], 2, True),
    ("run", [f"{ESC}.toml"], 2, True),
    ("learn", [*LEARN[1:], "--model", f"{ESC}.dpsumm", "--out", f"{ESC}l.csv"], 0, True),
    ("predict", [f"{ESC}.dpsumm", "aux.csv", "--out", f"{ESC}p.csv"], 0, True),
    ("plan synthesize", [*TABLES, "--epsilon", "1", "--records", "200"], 0, False),
    ("plan learn", ["--classes", f"a,{ESC}", "--points", "50", "--parties", "9"], 0, False),
    ("synthesize", [*TABLES, *OWNED, "--epsilon", "1", "--out", f"{ESC}s.csv"], 0, True),
    ("dossier", [f"{ESC}out.csv", "--ledger", f"{ESC}.db", "--out", f"{ESC}d.html"], 0, True),
    ("ledger show", [f"{ESC}.db"], 0, False),
    ("ledger export", [f"{ESC}.db", "--out", f"{ESC}led.csv"], 0, True),
    (
        "ledger cap",
        [f"{ESC}.db", "--protected", "target", "--epsilon", "9", "--delta", "1e-5"],
        0,
        False,
    ),
    ("ledger accept", [f"{ESC}.db"], 0, False),
    ("ledger show", [f"{ESC}.csv"], 2, True),
]
# Without Flower they end before they read.
WALK_FLOWER = [
    ("deploy init", [f"{ESC}t", "--owner", ESC, "--data", ".", "--schema", "right.toml"], 2, True),
    ("deploy up", [f"{ESC}trial"], 2, True),
    ("deploy down", [f"{ESC}trial"], 2, True),
    ("node create", [f"{ESC}node", "--records", "9", "--consumer", f"{ESC}=key.pub"], 2, True),
    ("node show", [f"{ESC}.policy"], 2, True),
    ("node log", [f"{ESC}.policy"], 2, True),
    ("node verify", [f"{ESC}.csv", "--key", "south.csv"], 2, False),
]


@pytest.fixture
def say(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*words):
        with pytest.raises(SystemExit) as ended:
            main(words)
        done = capsys.readouterr()
        return ended.value.code or 0, done.out + done.err

    return run


def write_files(folder, rng):
    schema = "version = 1\n[columns.a]\nbounds = [0, 1]\n"
    label = f'[columns.y]\nkind = "label"\ncategories = ["0", {json.dumps("1" + ESC.strip())}]\n'
    (folder / f"{ESC}.toml").write_text(schema + label)
    (folder / "right.toml").write_text(schema)
    kind = label.replace("label", "category")
    (folder / f"{ESC}left.toml").write_text(f"version = 1\n{kind.replace('.y]', '.z]')}")
    (folder / f"{ESC}left.csv").write_text("z\n" + "0\n" * 50)
    (folder / "right.csv").write_text("a\n" + "0.5\n" * 50)
    (folder / "hostile.toml").write_text(schema.replace("a]", f"{json.dumps('a' + ESC)}]"))
    rows = "".join(f"{number:.3f},0\n" for number in rng.random(50))
    (folder / f"{ESC}.csv").write_text(f"a,y\n{rows}")
    (folder / "south.csv").write_text(f"a,y\n{rows}")
    (folder / "aux.csv").write_text("a\n" + "".join(f"{one:.3f}\n" for one in rng.random(50)))
    (folder / "hostile.csv").write_text(f'"b{ESC}",y\n{rows}')


def walk(say, cases):
    for command, words, code, shows in cases:
        ended, text = say(*command.split(), *words)
        assert ended == code, (command, text)
        assert not CONTROLS.search(text), (command, text)
        assert FORGED not in [line.strip(" │") for line in text.splitlines()], (command, text)
        assert not shows or "\\x1b" in text, (command, text)


def test_no_command_prints_a_control_character_or_a_line_that_it_was_given(say, tmp_path, rng):
    write_files(tmp_path, rng)
    walk(say, WALK)


def test_no_command_for_silos_does(say, tmp_path, rng):
    pytest.importorskip("flwr")
    write_files(tmp_path, rng)
    walk(say, WALK_FLOWER)


def commands(name, command):
    below = getattr(command, "commands", None)
    return [name] if below is None else [f"{name} {each}" for each in below]


def test_the_walk_leaves_no_command_out():
    known = {path for name in COMMANDS for path in commands(name, load(name))}
    assert known == {command for command, *_ in [*WALK, *WALK_FLOWER]}


def test_a_usage_error_before_any_command_forges_no_line(say):
    for words in ([f"--{ESC}"], [ESC]):
        ended, text = say(*words)
        assert ended == 2
        assert not CONTROLS.search(text)


def test_whatever_is_raised_noted_logged_or_put_on_a_page_is_in_one_line(caplog):
    assert visible("a\r\nb\u2028c\x85") == "a\\r\\nb\\u2028c\\x85"
    logger("dpsumm.of_a_test").warning("%s counts as absent: %s, %d", ESC, ValueError(ESC), 3)
    assert caplog.messages == [f"{visible(ESC)} counts as absent: {visible(ESC)}, 3"]
    said = [
        InvalidParameterError(ESC),
        Note(ESC),
        tag("p", ESC, title=ESC),
        facts(ESC, [(ESC, ESC)]),
    ]
    for text in (*said, reason(DpsummError(ESC))):
        assert not CONTROLS.search(str(text))
        assert "\n" not in str(text)
