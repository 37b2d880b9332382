"""Entry point of the command ``dpsumm``: every foreseen error is one line and exit code 2."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from dpsumm.errors import DpsummError


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 if all went well, 2 for an error of use or data.

    Parameters
    ----------
    arguments
        Without the program's name; those of the process if None.
    """
    try:
        from dpsumm.cli.app import app
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("typer", "rich"):
            raise
        _fail("the command line needs typer and rich: pip install 'dpsumm[cli]'")
    try:
        app(args=arguments, prog_name="dpsumm")
    except DpsummError as error:
        _fail(str(error))
    except OSError as error:
        # A full disk, say. A file's name is no secret, the rest of the message is the system's.
        where = f" ({error.filename})" if error.filename else ""
        _fail(f"{error.strerror or type(error).__name__}{where}")


def _fail(message: str) -> None:
    print(f"dpsumm: {message}", file=sys.stderr)
    raise SystemExit(2)
