"""Examples run as they are printed: Markdown blocks marked python, and doctests.

A block marked text right after one marked python is what that one prints, but for line breaks.
"""

import contextlib
import doctest
import importlib
import io
import pkgutil
import re
from pathlib import Path

import pytest

import dpsumm

ROOT = Path(__file__).parents[2]
PAGES = [page for page in (ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))) if page.exists()]
BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```$(?:\n\n```text\n(?P<printed>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
MODULES = [
    module.name
    for module in pkgutil.walk_packages(dpsumm.__path__, "dpsumm.")
    if not module.name.endswith("__main__")
]


def run_blocks(page, namespace):
    """Run a page's blocks in their order; an error names the page's own line."""
    text = page.read_text("utf-8")
    blocks = list(BLOCK.finditer(text))
    for block in blocks:
        line = text.count("\n", 0, block.start("code"))
        with contextlib.redirect_stdout(io.StringIO()) as output:
            exec(compile("\n" * line + block["code"], str(page), "exec"), namespace)
        if block["printed"] is not None:
            assert output.getvalue().split() == block["printed"].split(), (
                f"{page}: the block at line {line + 1} prints\n{output.getvalue()}"
            )
    claims = len(re.findall("^```text", text, re.MULTILINE))
    assert claims == sum(block["printed"] is not None for block in blocks), (
        f"{page}: a block marked text does not follow the block that prints it"
    )
    return len(blocks)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_of_a_page_run_in_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    count = run_blocks(page, {"__name__": "__main__"})
    if page.name == "README.md":
        assert count >= 1, "the README shows no example"


def test_a_broken_block_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# A\n```python\nx = 1\n```\n```sh\nno python\n```\n```python\nassert x == 2\n```\n"
    )
    with pytest.raises(AssertionError) as caught:
        run_blocks(page, {})
    assert caught.traceback[-1].lineno + 1 == 9


@pytest.mark.parametrize(
    "page",
    [
        "```python\nprint(1)\n```\n\n```text\n2\n```\n",
        "```python\nprint(1)\n```\n\nIt prints:\n\n```text\n1\n```\n",
    ],
    ids=["other output", "output apart from its block"],
)
def test_a_wrong_output_is_noticed(page, tmp_path):
    path = tmp_path / "page.md"
    path.write_text(page)
    with pytest.raises(AssertionError, match=re.escape(str(path))):
        run_blocks(path, {})


def test_the_reference_has_every_public_name():
    page = (ROOT / "docs" / "reference.md").read_text("utf-8")
    names = re.findall(r"^::: dpsumm\.(?:\w+\.)*(\w+)$", page, re.MULTILINE)
    assert sorted(names) == sorted(set(dpsumm.__all__) - {"__version__"})


def test_pages_are_found():
    assert any(page.parent.name == "privacy" for page in PAGES)


@pytest.mark.parametrize("name", ["dpsumm", *MODULES])
def test_doctests(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.failed == 0
    if name == "dpsumm.summarize":
        assert result.attempted >= 5
