"""Which raises a record might decide, and the page of everything that a party can observe."""

import ast
import fnmatch
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python" / "dpsumm"
REGISTER = ROOT / "docs" / "privacy" / "observables.toml"
PAGE = REGISTER.with_suffix(".md")
SEEN = REGISTER.with_name("observables_seen.toml")

# What private values are called in the package. A raise counts if its condition, or the block whose
# errors it turns, uses one of these names or anything computed from one in the same function.
PRIVATE = frozenset(
    """answers array arrays batch block blocks cells chunk
    classifiers codes column counts data drawn
    exact examples field fields file frame frames given goal held identifiers ids item items
    label labels line lines owners parties path point points public_points record records row rows
    scores series
    share source sources table tables target text texts total validation value values votes
    weights""".split()
)

HEAD = """# What a party can observe

[Every message](messages.md) lists what is sent. This page lists everything else that a party can
see of a run: refusals, notes, sizes, files, exit codes. Use it to check that no private value
reaches anyone by the side. For example, a refusal that quotes a value would show that value to
whoever reads the log.

The table is written from `docs/privacy/observables.toml` by `make messages`.
`tests/docs/test_observables.py` looks for every `raise` that a record might decide, and fails when
one belongs to no entry or was not looked at.

| kind | what | who sees it | depends on | claim | tested by |
|---|---|---|---|---|---|
"""
SEEN_HEAD = """# How many raises of a file, by function, were looked at: what decides them, and
# whether observables.toml says who sees that. Look at a new one before you add it.
"""


def names(node: ast.AST) -> set[str]:
    """Return all names and attributes in a piece of code, `_codes` as `codes`."""
    of = {ast.Name: "id", ast.Attribute: "attr", ast.arg: "arg"}
    return {getattr(n, of[type(n)]).lstrip("_") for n in ast.walk(node) if type(n) in of}


def _private(function: ast.FunctionDef) -> set[str]:
    """Return the names in a function that may depend on a record."""
    # What becomes private, and what of.
    steps = []
    for node in ast.walk(function):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if node.value is not None:
                steps.append((set().union(*map(names, targets)) - {"self"}, names(node.value)))
        elif isinstance(node, ast.For | ast.comprehension):
            steps.append((names(node.target), names(node.iter)))
    private, before = set(PRIVATE), 0
    while len(private) > before:
        before = len(private)
        for made, of in steps:
            if of & private:
                private |= made
    return private


def decidable(source: str) -> Iterator[str]:
    """Yield the function of every raise that a record might decide."""
    tree = ast.parse(source)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        raises = [node for node in ast.walk(function) if isinstance(node, ast.Raise)]
        private = _private(function) if raises else PRIVATE
        for node in raises:
            reasons: list[ast.AST] = []
            place = parents[node]
            while place is not function and not isinstance(place, ast.FunctionDef):
                if isinstance(place, ast.If | ast.While):
                    reasons.append(place.test)
                elif isinstance(place, ast.For):
                    reasons.append(place.iter)
                elif isinstance(place, ast.Try):
                    reasons += place.body
                place = parents[place]
            # A raise without a condition is decided by whoever calls: by the arguments.
            if place is function and any(names(r) & private for r in reasons or [function]):
                yield function.name


def found() -> dict[str, list[str]]:
    """Return the raises of the package that a record might decide, by file."""
    files = sorted(PACKAGE.rglob("*.py"))
    by_file = {
        path.relative_to(PACKAGE).as_posix(): sorted(decidable(path.read_text("utf-8")))
        for path in files
        if "audit" not in path.relative_to(PACKAGE).parts
    }
    return {file: raises for file, raises in by_file.items() if raises}


def register() -> dict[str, list[dict[str, object]]]:
    """Return the register."""
    return tomllib.loads(REGISTER.read_text("utf-8"))


def entries_of(file: str, refusals: list[dict[str, object]]) -> list[dict[str, object]]:
    """Return the entries that a file's raises belong to."""
    return [one for one in refusals if any(fnmatch.fnmatch(file, w) for w in one["where"])]


def page() -> str:
    """Return the page that the register makes."""
    known = register()
    refusals = [("refusal", one) for one in known["refusal"]]
    others = [(str(one["kind"]), one) for one in known["other"]]
    lines = HEAD.splitlines()
    for kind, one in [*refusals, *others]:
        test = f"`{one['test']}`" if one["test"] else "not tested"
        cells = (kind, one["what"], one["seen_by"], one["depends"], one["claim"], test)
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"


def seen_text() -> str:
    """Return the raises as they are, for the file of those that were looked at."""
    lines = SEEN_HEAD.splitlines()
    for file, raises in found().items():
        counts = ", ".join(f"{name} = {raises.count(name)}" for name in dict.fromkeys(raises))
        lines.append(f'"{file}" = {{ {counts} }}')
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    SEEN.write_text(seen_text(), encoding="utf-8")
