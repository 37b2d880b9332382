"""Examples run as they are printed: Markdown blocks marked python, and doctests."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import dpsumm

ROOT = Path(__file__).parents[2]
PAGES = [page for page in (ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))) if page.exists()]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
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
        before = "\n" * text.count("\n", 0, block.start(1))
        exec(compile(before + block[1], str(page), "exec"), namespace)
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


def test_pages_are_found():
    assert any(page.parent.name == "privacy" for page in PAGES)


@pytest.mark.parametrize("name", ["dpsumm", *MODULES])
def test_doctests(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.failed == 0
    if name == "dpsumm.summarize":
        assert result.attempted >= 5
