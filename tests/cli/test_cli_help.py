"""The help of a command: two columns, groups, and no longer than a screen or two."""

import pytest

from dpsumm.cli.app import COMMANDS, words
from helpers.command_line import dpsumm


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")


@pytest.mark.parametrize("word", ["summarize", "learn", "synthesize"])
def test_the_help_of_a_call_fits_on_two_screens(word, tmp_path):
    lines = dpsumm(word, "--help", cwd=tmp_path).stdout.splitlines()
    assert len(lines) <= 95
    assert max(map(len, lines)) <= 100
    heads = [line for line in lines if line and not line.startswith(" ")]
    assert heads[1:] == ["Data:", "Method:", "Privacy:", "Output:", "Options:"]


@pytest.mark.parametrize("word", list(words()))
def test_no_markup_is_left(word, tmp_path):
    done = dpsumm(*word.split(), "--help", cwd=tmp_path)
    assert done.returncode == 0
    assert "[/]" not in done.stdout
    assert "[bold" not in done.stdout
    assert done.stdout.startswith(f"Usage: dpsumm {word} [OPTIONS]")


def test_a_default_in_words_stands_without_parentheses(tmp_path):
    said = " ".join(dpsumm("summarize", "--help", cwd=tmp_path).stdout.split())
    assert "[default: size / 10]" in said
    assert "[default: offers]" in said


def test_the_list_says_each_command_whole(tmp_path):
    said = dpsumm("--help", cwd=tmp_path).stdout
    assert all(text in said for text in COMMANDS.values())
    assert "..." not in said.partition("Commands:")[2]
