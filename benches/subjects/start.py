"""What a command waits for before it does anything: the interpreter and its imports."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from benches.subjects import Scale
from benches.timing import OURS, Case, Command

HELP, CALL = f"{OURS} --help", f"{OURS} and `summarize`"
PYTHON, NUMPY = "Python alone", "NumPy"


def cases(scale: Scale) -> Iterator[Case]:
    del scale  # it has no sizes
    yield Case(
        {},
        {
            HELP: Command((sys.executable, "-m", "dpsumm", "--help")),
            OURS: _python("import dpsumm"),
            CALL: _python("from dpsumm import summarize"),
            f"{OURS} and the accountant": _python("import dpsumm, dp_accounting"),
            NUMPY: _python("import numpy"),
            PYTHON: _python("pass"),
        },
    )


def _python(code: str) -> Command:
    return Command((sys.executable, "-c", code))
