"""Prose that a user reads, by the project's rules; what is left of old faults only falls.

    python tests/docs/prose.py            fails if a file has more findings than prose.toml allows
    python tests/docs/prose.py FILE...    shows all findings of some files
    python tests/docs/prose.py --lower    writes prose.toml anew where files have fewer

Looks at Markdown outside code and tables, at docstrings of public names, and at texts of errors,
notes and warnings.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
BASELINE = Path(__file__).with_suffix(".toml")
HEAD = "# Findings of tests/docs/prose.py left in each file; written by --lower, only falls.\n"
MOST_WORDS = 32

# Words, in any case, and what to write in their place.
WORDS = {
    r"(?:is|are|was|were|be) told|tells? of|(?:is|are|be) said|says? (?:so|nothing)|said of": (
        "who reports it: 'the report lists', 'dpsumm warns'"
    ),
    r"(?<!just )(?:what|who) (?:is|was|are|were|has|have|it|they|a|an|comes?|leaves?|came|one)"
    r"(?!\w|\?)": "the noun: 'the messages that an owner receives'",
    r"nobody|nothing but|next to nothing|none of|is none|are none": "'only', 'little' or 'no'",
    r"whoever|whatever|wherever|whom|of which|of whom": "two sentences, or 'anyone who'",
    r"(?:stands?|stood|lies|hangs?) (?:in|on|at|beside|with|there|so|like)": "'is' or 'depends on'",
    r"beside|likewise|hence|thereof|of then|not to be had|as where|such as where|the likelier"
    r"|at the most|hereafter|shall": "'next to', 'also', 'so', 'for example when' or 'at most'",
    r"points read|are met|worth it|makes nothing|costs nothing|charged nothing": "plain words",
}
RULES = {
    **{re.compile(rf"\b(?:{words})\b", re.IGNORECASE): say for words, say in WORDS.items()},
    re.compile(r"[a-z\)]: [a-z]\w+ \w+ \w+ \w+"): "one idea a sentence: 'because', 'so' or a stop",
    re.compile(r";(?=\s+[a-z])"): "two sentences",
}


def of_markdown(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines of prose with their numbers: no code, comments, headings, tables or pictures."""

    def emptied(match: re.Match[str]) -> str:
        return "\n" * match.group().count("\n")

    text = re.sub(r"```.*?```|<!--.*?-->", emptied, text, flags=re.DOTALL)
    for number, line in enumerate(text.splitlines(), 1):
        if not line.lstrip().startswith(("#", "|", "!", "    ")):
            without_links = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line)
            yield number, re.sub(r"`[^`]*`", "CODE", without_links)


def of_python(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines of public docstrings, and texts of errors, notes and warnings."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            doc, name = ast.get_docstring(node), getattr(node, "name", "")
            if doc and not name.startswith("_"):
                for number, line in enumerate(doc.splitlines(), node.body[0].lineno):
                    if not line.lstrip().startswith((">>>", "...")):
                        yield number, line
        call = node.exc if isinstance(node, ast.Raise) else node if _speaks(node) else None
        if isinstance(call, ast.Call) and call.args:
            parts = (one.value for one in ast.walk(call.args[0]) if isinstance(one, ast.Constant))
            # A message ends without a stop, and no other goes on with it.
            yield call.lineno, " ".join(part for part in parts if isinstance(part, str)) + "."


def _speaks(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in (
        "Note",
        "warn",
    )


def findings(path: Path) -> list[str]:
    """Return what a file's prose breaks, a line each."""
    read = of_python if path.suffix == ".py" else of_markdown
    lines = list(read(path.read_text("utf-8")))
    found = [
        f"{number}: {match.group()!r}: write {say}"
        for number, line in lines
        for pattern, say in RULES.items()
        for match in pattern.finditer(line)
    ]
    for sentence in re.split(r"(?<=[.!?])\s+", " ".join(line for _, line in lines)):
        if (words := len(sentence.split())) > MOST_WORDS:
            start = " ".join(sentence.split()[:9])
            found.append(f"'{start} ...': {words} words; write at most {MOST_WORDS}")
    return found


def looked_at() -> list[Path]:
    """Return the files that users read; tables of results in Markdown are of programs."""
    parts = (ROOT.glob("*.md"), ROOT.glob("docs/**/*.md"), ROOT.glob("python/**/*.py"))
    return sorted(path for part in parts for path in part)


def main() -> None:
    """Run from the command line."""
    if sys.argv[1:] not in ([], ["--lower"]):
        for name in sys.argv[1:]:
            print(*(f"{name}:{line}" for line in findings(Path(name))), sep="\n")
        return
    left = tomllib.loads(BASELINE.read_text("utf-8")) if BASELINE.exists() else None
    counts, bad = {}, False
    for path in looked_at():
        name, found = path.relative_to(ROOT).as_posix(), findings(path)
        allowed = len(found) if left is None else left.get(name, 0)
        if len(found) > allowed:
            bad = True
            print(f"{name}: {len(found)} findings, of which {allowed} may stay:")
            print(*(f"  {name}:{line}" for line in found), sep="\n")
        counts[name] = min(len(found), allowed)
    if sys.argv[1:]:
        lines = (f'"{name}" = {count}\n' for name, count in counts.items() if count)
        BASELINE.write_text(HEAD + "".join(lines), "utf-8")
    elif left != (counts := {name: count for name, count in counts.items() if count}) and not bad:
        bad = True
        print("fewer findings than tests/docs/prose.toml allows: run tests/docs/prose.py --lower")
    sys.exit(bad)


if __name__ == "__main__":
    main()
