"""Results lie beside the code that measures them; the site shows them as pages of its own."""

import re
from pathlib import Path

from mkdocs.structure.files import File

RESULTS = Path(__file__).parents[1] / "benches" / "results"


def on_files(files, config):
    """Add every page of results to the site, under results/."""
    for page in sorted(RESULTS.glob("*.md")):
        files.append(File.generated(config, f"results/{page.name}", abs_src_path=str(page)))
    return files


def on_page_markdown(markdown, page, **_):
    """Let links that are right in the repository, and names of neighbouring pages, lead there."""
    if page.file.src_uri.startswith("privacy/"):
        markdown = re.sub(r"(?<!\[)`([a-z-]+\.md)`", r"[`\1`](\1)", markdown)
    return markdown.replace("](../benches/results/", "](results/")
