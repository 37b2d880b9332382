"""What a command waits for before it does anything: the interpreter and its imports."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from benches.subjects import Scale
from benches.timing import OURS, Case, Command

HELP, CALL = f"{OURS} --help", f"{OURS} and `summarize`"
PYTHON, NUMPY = "Python alone", "NumPy"
LOADS = "NumPy and the standard modules that `summarize` loads"


def cases(scale: Scale) -> Iterator[Case]:
    del scale  # it has no sizes
    yield Case(
        {},
        {
            HELP: Command((sys.executable, "-m", "dpsumm", "--help")),
            OURS: _python("import dpsumm"),
            CALL: _python("from dpsumm import summarize"),
            f"{OURS} and the accountant": _python("import dpsumm, dp_accounting"),
            LOADS: _python(_others()),
            NUMPY: _python("import numpy"),
            PYTHON: _python("pass"),
        },
    )


def _others() -> str:
    """Import what `summarize` imports of others, in its order."""
    code = "import sys; from dpsumm import summarize; print(*sys.modules)"
    listed = subprocess.run(
        (sys.executable, "-c", code), check=True, stdout=subprocess.PIPE, text=True
    )
    names = [name for name in listed.stdout.split() if not name.startswith(("dpsumm", "__"))]
    return f"for name in {names!r}:\n try: __import__(name)\n except ImportError: pass"


def _python(code: str) -> Command:
    return Command((sys.executable, "-c", code))
