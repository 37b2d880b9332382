"""The check of prose finds faults where users read, and lets no file get more of them."""

import sys

import prose
import pytest

FAULT = "The owner is told of it."
PYTHON = '''"""{doc}"""


def public():
    """{public}"""
    text = "{other}"
    raise ValueError("{error}")


def _private():
    """The owner is told of it."""
'''


@pytest.mark.parametrize(
    "text",
    [
        FAULT,
        "It sends what is needed.",
        "Nobody sees it.",
        "Use it whatever comes.",
        "The name stands in the file.",
        "It is small: the file holds two numbers.",
        "Put it beside the file.",
        "That costs nothing.",
        "It is small; a file is large.",
        " ".join(["word"] * 33) + ".",
    ],
)
def test_each_rule_finds_its_fault(tmp_path, text):
    path = tmp_path / "page.md"
    path.write_text(f"# A page\n\n{text}\n")
    assert len(prose.findings(path)) == 1


def test_only_prose_is_looked_at(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(
        f"# {FAULT}\n\n```\n{FAULT}\n```\n<!-- {FAULT} -->\n| {FAULT} |\n\nSee `is told of`.\n"
    )
    assert prose.findings(path) == []
    module = tmp_path / "module.py"
    good = dict.fromkeys(("doc", "public", "other", "error"), "All is well.")
    for part, count in (("doc", 1), ("public", 1), ("other", 0), ("error", 1)):
        module.write_text(PYTHON.format(**good | {part: FAULT}))
        assert len(prose.findings(module)) == count


def test_findings_only_fall(tmp_path, monkeypatch, capsys):
    page = tmp_path / "page.md"
    monkeypatch.setattr(prose, "ROOT", tmp_path)
    monkeypatch.setattr(prose, "BASELINE", tmp_path / "prose.toml")

    def run(text, *arguments):
        page.write_text(text)
        monkeypatch.setattr(sys, "argv", ["prose.py", *arguments])
        with pytest.raises(SystemExit) as ended:
            prose.main()
        return bool(ended.value.code)

    assert not run(f"{FAULT}\n{FAULT}\n", "--lower")
    assert not run(f"{FAULT}\n{FAULT}\n")
    assert run(f"{FAULT}\n" * 3)
    assert "page.md: 3 findings, of which 2 may stay" in capsys.readouterr().out
    assert run(FAULT)
    assert "--lower" in capsys.readouterr().out
    assert not run(FAULT, "--lower")
    assert run(f"{FAULT}\n{FAULT}\n")
    assert run(f"{FAULT}\n{FAULT}\n", "--lower")
    assert run(f"{FAULT}\n{FAULT}\n")
