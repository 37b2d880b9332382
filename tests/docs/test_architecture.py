"""The page of the architecture shows the contracts that hold, and names files that exist."""

import re

import architecture
import pytest

TEXT = architecture.PAGE.read_text("utf-8")
NAMED = re.findall(
    r"`((?:python|rust|tests|deploy|docs)/[\w./-]*)`(?:: ((?:`[\w.]+`(?:, )?)+))?", TEXT
)


def test_the_picture_is_that_of_the_contracts():
    assert architecture.PICTURE.read_text("utf-8") == architecture.picture(), (
        "run tests/docs/architecture.py"
    )
    assert architecture.floors()[0] == ["cli"]
    rooms = {name for floor in architecture.floors() for name in floor}
    package = architecture.ROOT / "python" / "dpsumm"
    assert all((package / name).is_dir() or (package / f"{name}.py").is_file() for name in rooms)
    assert {path.parent.name for path in package.glob("*/__init__.py")} <= rooms


def test_each_contract_is_on_the_page_with_its_reason():
    rows = dict(re.findall(r"^\| \*(.+?)\* \| (.+?) \|$", TEXT, re.MULTILINE))
    assert rows.keys() == architecture.contracts().keys()


def test_the_page_names_enough():
    assert len(NAMED) >= 30


@pytest.mark.parametrize(("file", "names"), sorted(set(NAMED)))
def test_files_and_names_exist(file, names):
    path = architecture.ROOT / file
    assert path.exists()
    text = path.read_text("utf-8") if path.is_file() else ""
    for name in re.findall(r"`([\w.]+)`", names):
        last = name.rpartition(".")[2]
        assert re.search(rf"(?:class|def|fn|struct|impl) {last}\b|^{last}\b", text, re.MULTILINE)


def test_questions_have_two_files_at_most_and_the_way_twelve_steps():
    questions = re.findall(r"^\| (.+\?) \| (.+) \|$", TEXT, re.MULTILINE)
    assert len(questions) == 12
    assert all(
        answer.count("/") >= 1 and len(re.findall(r"`\w+/", answer)) <= 2 for _, answer in questions
    )
    assert 8 <= len(re.findall(r"^\d+\. ", TEXT, re.MULTILINE)) <= 12
