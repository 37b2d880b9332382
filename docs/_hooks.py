"""Pages that are made for the site: results, which lie next to the code that measures them, and the
help of all commands.
"""

import os
import posixpath
import re
import subprocess
import sys
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]


def on_files(files, config):
    """Add every page of results to the site, under results/, and the commands."""
    files.append(File.generated(config, "reference/commands.md", content=commands()))
    for page in sorted(ROOT.glob("*/results/*.md")):
        files.append(File.generated(config, f"results/{page.name}", abs_src_path=str(page)))
    return files


def commands():
    """Return the help of all commands as a page."""
    words = said("import dpsumm.cli.app as app; print(*app.words(), sep='\\n')").splitlines()
    parts = [f"## dpsumm {word}\n\n```text\n{said(word.split())}```\n" for word in words]
    return "\n".join(["# Commands\n\nThe help of each command, as `--help` prints it.\n", *parts])


def said(what):
    """Return what a program prints, or the help of a command."""
    code = "import sys; from dpsumm.cli import main; main([*sys.argv[1:], '--help'])"
    words = ["-c", what] if isinstance(what, str) else ["-c", code, *what]
    run = subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        check=True,
        encoding="utf-8",
        env=os.environ | {"COLUMNS": "84"},
    )
    return run.stdout


def on_page_markdown(markdown, page, **_):
    """Let links that are right in the repository, and names of neighbouring pages, lead there."""
    if page.file.src_uri.startswith("privacy/"):
        markdown = re.sub(r"(?<!\[)`([a-z-]+\.md)`", r"[`\1`](\1)", markdown)
    if page.file.src_uri.startswith("results/"):
        return markdown.replace("](../../docs/", "](../")
    return re.sub(r"\]\(((?:\.\./)*)\.\./(?:benches|evidence)/results/", r"](\1results/", markdown)


def on_page_content(html, page, files, **_):
    """Point a notebook's links, which are names of files as in the repository, to their pages."""

    def to_page(link):
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page.file.src_uri), link[1]))
        found = files.get_file_from_path(path)
        if found is None:
            raise PluginError(f"{page.file.src_uri}: a link to {link[1]}, which is no page")
        return f'href="{found.url_relative_to(page.file)}{link[2] or ""}"'

    if not page.file.src_uri.endswith(".ipynb"):
        return html
    return re.sub(r'href="([^":#]+\.(?:md|ipynb))(#[^"]*)?"', to_page, html)
