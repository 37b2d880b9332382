"""The command line in this process: a process of its own costs a second of imports."""

import contextlib
import io
from dataclasses import dataclass
from pathlib import Path

from dpsumm.cli import main


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


def dpsumm(*words: str, cwd: Path) -> Done:
    """Run a command in a directory; it ends with the exit code of a process."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main(words)
        except SystemExit as stop:
            code = stop.code
    return Done(int(code or 0), out.getvalue(), err.getvalue())
