"""Results lie beside the code that measures them; the site shows them as pages of its own."""

from pathlib import Path

from mkdocs.structure.files import File

RESULTS = Path(__file__).parents[1] / "benches" / "results"


def on_files(files, config):
    """Add every page of results to the site, under results/."""
    for page in sorted(RESULTS.glob("*.md")):
        files.append(File.generated(config, f"results/{page.name}", abs_src_path=str(page)))
    return files


def on_page_markdown(markdown, **_):
    """Let links to the results, which are right in the repository, lead to their pages."""
    return markdown.replace("](../benches/results/", "](results/")
