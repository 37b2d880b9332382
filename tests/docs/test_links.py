"""Links of the pages lead to files of the repository, as whoever reads them there needs.

That they lead somewhere in the site is checked by ``mkdocs build --strict``.
"""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    page
    for kind in ("*.md", "docs/**/*.md", "docs/**/*.ipynb", "evidence/results/*.md")
    for page in ROOT.glob(kind)
]
LINK = re.compile(r"\]\(([^()\s]+)\)|\b(?:src|href)=\"([^\"]+)\"")


def text_of(page):
    """A page's words, without its code."""
    text = page.read_text("utf-8")
    if page.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)


def anchors(page):
    """Anchors of a page's headings, made as GitHub and the site make them, and of the reference."""
    heads = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", page, flags=re.DOTALL), re.MULTILINE)
    names = re.findall(r"^::: (\S+)$", page, re.MULTILINE)
    heads = [re.sub(r"[^\w\- ]", "", head).strip().lower().replace(" ", "-") for head in heads]
    return {*heads, *names}


def broken(page):
    """Links of a page that lead nowhere."""
    found = []
    for groups in LINK.findall(text_of(page)):
        link = "".join(groups)
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists():
            found.append(link)
        elif anchor and target.suffix in (".md", ".ipynb"):
            text = target.read_text("utf-8") if target.suffix == ".md" else text_of(target)
            if anchor not in anchors(text):
                found.append(link)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    assert broken(page) == []


def test_broken_links_are_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A head\n[x](page.md#a-head) [y](gone.md) [z](#other) `[v](code.md)`\n")
    assert broken(page) == ["gone.md", "#other"]
