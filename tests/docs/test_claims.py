"""Claims name the code and the tests that they rest on, and both are where the claims say."""

import re
from pathlib import Path

import pytest
from show_messages import PAGE, POINTS, ROWS, VOTES, renewed, sections

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python" / "dpsumm"
TEST = re.compile(r"tests/[\w/]+\.(?:py|json)")
CODE = re.compile(r"`((?:[a-z_]+/)+[a-z_0-9]+\.py)`")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
SOURCES = sorted(PACKAGE.glob("**/*.py"))


def missing_tests(text: str) -> list[str]:
    """Return the tests named in a text that are not there, or hold no test."""

    def tests_something(path: Path) -> bool:
        return path.is_file() and (
            not path.name.startswith("test_") or re.search(r"^\s*def test_", path.read_text(), re.M)
        )

    return [name for name in TEST.findall(text) if not tests_something(ROOT / name)]


def missing_code(text: str) -> list[str]:
    """Return the Python files named in a text that are not there."""
    return [
        name
        for name in CODE.findall(text)
        if not any((folder / name).is_file() for folder in (ROOT, PACKAGE, PACKAGE.parent))
    ]


@pytest.mark.parametrize("path", [*PAGES, *SOURCES], ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_text_names_is_there(path):
    text = path.read_text(encoding="utf-8")
    assert missing_tests(text) == []
    assert missing_code(text) == []


def test_claims_say_how_they_are_tested():
    claims = [path for path in SOURCES if re.search(r"^ *Claim(:|$)", path.read_text(), re.M)]
    assert len(claims) >= 20
    assert [path.name for path in claims if not TEST.search(path.read_text())] == []


def test_the_page_of_messages_is_the_register():
    page = PAGE.read_text(encoding="utf-8")
    assert renewed(page) == page, "write it anew: make messages"


def test_the_page_has_every_message_once():
    shown = [name for entries in sections().values() for name, _ in entries]
    known = set()
    for about in (POINTS, VOTES, ROWS):
        known |= {kind.name for codec in about.codecs for kind in codec.kinds}
        known |= {name for more in about.beside.values() for name, _ in more}
    assert len(known) > 25
    assert sorted(shown) == sorted(known)


def test_a_table_that_is_changed_by_hand_is_noticed():
    changed = PAGE.read_text(encoding="utf-8").replace("the question alone", "nothing", 1)
    assert renewed(changed) != changed


def test_a_file_that_is_not_there_is_noticed():
    assert missing_tests("Tested by: tests/privacy/test_nothing.py.") == [
        "tests/privacy/test_nothing.py"
    ]
    assert missing_code("Code: `protocol/offers.py`, `summary/release.py`.") == [
        "protocol/offers.py"
    ]
