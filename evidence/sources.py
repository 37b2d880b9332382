"""A digest of the code that results come from: those of other code are not shown as today's."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path

import dpsumm

PACKAGE, HERE = Path(dpsumm.__file__).parent, Path(__file__).parent
# What a run on arrays with a public bandwidth goes through.
MODULES = (
    "data/kinds/kind data/schema data/table exchange/driver kernels/bids "
    "kernels/feature_map kernels/features "
    "kernels/inputs kernels/landmarks kernels/mechanisms kernels/mmd kernels/noise "
    "kernels/selection kernels/tilt privacy/accounting summary/kernel summary/mechanisms "
    "summary/fit summary/outcome summary/pool summary/release summary/result summary/settings "
    "summary/summarize "
    "summary/protocols/curator "
    "summary/protocols/draws summary/protocols/features summary/protocols/messages "
    "summary/protocols/offers summary/protocols/owner summary/protocols/protocol "
    "papers/auction/auction papers/auction/curator papers/auction/mwem "
    "papers/auction/plan papers/auction/ranks "
    "papers/auction/received papers/auction/releases "
    "papers/auction/requests papers/auction/asking"
).split()
# What data and measures come from.
OURS = ("data.py", "problem.py", "tables.py", "baselines.py", "measures.py", "invited.py")


def files() -> list[Path]:
    """Return the files of the digest: the package's, the core's Rust, data and measures."""
    found = [PACKAGE / f"{name}.py" for name in MODULES]
    found += sorted((HERE.parent / "rust").glob("*/src/**/*.rs"))
    return [*found, *(HERE / name for name in OURS)]


@cache
def digest() -> str:
    """Return 12 hexadecimal digits that change when code does; comments and docstrings do not."""
    made = hashlib.sha256()
    for path in files():
        made.update(f"{path.stem}\n{code(path.read_text(), path.suffix)}\n".encode())
    return made.hexdigest()[:12]


def code(text: str, suffix: str) -> str:
    """Return the lines of a file but comments, docstrings, empty ones and Rust's tests."""
    if suffix == ".py":
        text = re.sub(r'^\s*r?"""(?:.*?)"""\s*$', "", text, flags=re.DOTALL | re.MULTILINE)
    else:
        # House style: the tests are the end of a file.
        text = text.split("#[cfg(test)]")[0]
    comment = "#" if suffix == ".py" else "//"
    lines = (line.rstrip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.lstrip().startswith(comment))
