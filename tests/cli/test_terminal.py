"""Words of other parties reach a terminal as text: they clear no screen and forge no line."""

import contextlib
import json
import re

import pytest

from dpsumm.cli import main
from dpsumm.visible import visible

ESC = "\x1b[2J\x1b[31m\x9b\x7f\u202e\u2066all is well"
CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture
def say(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*words):
        with contextlib.suppress(SystemExit):
            main(words)
        done = capsys.readouterr()
        return done.out + done.err

    return run


def test_no_command_prints_a_control_character_that_it_was_given(say, tmp_path):
    quoted = json.dumps("a" + ESC)
    (tmp_path / "schema.toml").write_text(f"version = 1\n[columns.{quoted}]\nbounds = [0, 1]\n")
    for party in ("north", "south", "target"):
        (tmp_path / f"{party}.csv").write_text(f"a{ESC},b\n" + "0.5,1\n0.7,1\n" + "0.2,1\n" * 9)
    files = ["--owner", "north=north.csv", "--owner", "south=south.csv", "--target", "target.csv"]
    budget = ["--epsilon", "1", "--delta", "1e-5"]
    said = {
        "check": say("schema", "check", "north.csv", "--schema", "schema.toml"),
        "init": say("schema", "init", "north.csv", "--out", "other.toml"),
        "ledger": say("ledger", "create", "books.db"),
        "run": say(
            "run",
            *files,
            "--schema",
            "schema.toml",
            "--size",
            "4",
            *budget,
            "--ledger",
            "books.db",
            "--out",
            "out.csv",
            "--allow-weak-privacy",
        ),
        "owner": say("run", "--owner", f"n{ESC}=north.csv", *files, "--size", "4", *budget),
        "dossier": say("dossier", f"out{ESC}.csv", "--out", "d.html"),
    }
    said["show"] = say("ledger", "show", "books.db")
    for command, text in said.items():
        assert not CONTROLS.search(text), command
    assert "\\x1b" in said["check"]


def test_a_hostile_message_forges_no_line(say, tmp_path):
    (tmp_path / "schema.toml").write_text('version = 1\n["a\\nwrote all\\n"]\nbounds = [0, 1]\n')
    said = say("schema", "check", "north\nwrote all.csv", "--schema", "schema.toml")
    assert "wrote all" not in said.splitlines()
    assert visible("a\r\nb\u2028c\x85") == "a\\r\\nb\\u2028c\\x85"
