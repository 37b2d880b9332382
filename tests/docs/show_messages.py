"""Writes the tables of docs/privacy/messages.md from the register: ``make messages``."""

from collections.abc import Iterable
from pathlib import Path

from dpsumm.ensemble.about import ABOUT as VOTES
from dpsumm.exchange.disclosure import Disclosure
from dpsumm.report.about import About
from dpsumm.summary.about import ABOUT as POINTS
from dpsumm.vertical.about import ABOUT as ROWS

PAGE = Path(__file__).parents[2] / "docs" / "privacy" / "messages.md"
HEAD = (
    "| message | from, to | holds | depends on | counts as | what the receiver learns |\n"
    "|---|---|---|---|---|---|"
)
BEGIN, END = "<!-- messages: {} -->\n", "<!-- end -->"

Entry = tuple[str, Disclosure]


def sections() -> dict[str, list[Entry]]:
    """Return the messages of each table of the page, in the codecs' order."""
    entries = {about.name: _entries(about) for about in (POINTS, VOTES, ROWS)}
    opening = {name: entry for part in entries.values() for name, entry in part if entry.across}
    rest = {
        name: [(kind, entry) for kind, entry in part if kind not in opening]
        for name, part in entries.items()
    }
    points, votes, rows = rest.values()
    return {
        "before a run": list(opening.items()),
        "summarize": points,
        "learn": votes,
        "synthesize": rows
        + list(dict(one for more in ROWS.beside.values() for one in more).items()),
    }


def _entries(about: About) -> list[Entry]:
    kinds = {kind.type: kind.name for codec in about.codecs for kind in codec.kinds}
    return [(name, kind.disclosure) for kind, name in kinds.items()]


def table(entries: Iterable[Entry]) -> str:
    """Return a table in Markdown."""
    lines = [HEAD]
    for name, one in entries:
        title, _, anchor = one.page.partition("#")
        beside = title.startswith("privacy/")
        link = f"{title.removeprefix('privacy/') if beside else f'../{title}'}#{anchor}"
        route = f"{one.sender} → {one.receiver}"
        learns = f"{one.claim} [{Path(title).stem}]({link})"
        counts = "" if one.reveals is None else one.reveals.value
        lines.append(f"| `{name}` | {route} | {one.holds} | {one.depends} | {counts} | {learns} |")
    return "\n".join(lines) + "\n"


def renewed(page: str) -> str:
    """Return the page with its tables as the register has them."""
    for name, entries in sections().items():
        before, begin, rest = page.partition(BEGIN.format(name))
        _, end, after = rest.partition(END)
        if not (begin and end):
            raise ValueError(f"{PAGE.name}: no table {name!r}")
        page = before + begin + table(entries) + end + after
    return page


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
