"""Entry point of the command ``dpsumm``: every foreseen error is one line and exit code 2."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from dpsumm.basics.visible import visible
from dpsumm.cli.stopped import Charging, Interrupted, OptionsFile
from dpsumm.errors import DpsummError

# 128 + SIGINT, as shells have it.
INTERRUPTED = 130
# Commands that spend a budget: interrupted before, they say that they did not.
SPENDING = ("summarize", "learn", "synthesize", "run")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 if all went well, 2 for an error of use or data,
    130 if it was interrupted. Called without arguments, which ends the process, it ignores an
    interruption that comes after that.

    Parameters
    ----------
    arguments
        Without the program's name. Those of the process if None.
    """
    Charging.begun, OptionsFile.path = False, None
    for stream in (sys.stdout, sys.stderr):
        # A terminal or a redirected log may lack a character, such as that of "MMD²": it is spelled
        # out, since a run that is over and charged must not end as a failure.
        with suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        try:
            _run(arguments)
        finally:
            if arguments is None:
                # The process ends, and what it did is done or told of: from here on Ctrl-C comes
                # too late. As the interpreter goes down it would end the process without a word.
                signal.signal(signal.SIGINT, signal.SIG_IGN)
    except (KeyboardInterrupt, Interrupted) as error:
        word = next(iter(sys.argv[1:] if arguments is None else arguments), "")
        unspent = "nothing was spent" if word in SPENDING and not Charging.begun else ""
        said = "; ".join(filter(None, ("interrupted", str(error) or unspent)))
        if arguments is None:
            _end(said)
        _leave(said, INTERRUPTED)


def _run(arguments: Sequence[str] | None) -> None:
    try:
        import rich  # noqa: F401 (typer and commands load it later, where its absence is a crash)

        from dpsumm.cli.app import app
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("typer", "rich"):
            raise
        _fail("the command line needs typer and rich: pip install 'dpsumm[cli]'")
    try:
        app(args=arguments, prog_name="dpsumm")
    except SystemExit as ended:
        if ended.code == INTERRUPTED:  # before the command ran: Typer ends without a word
            raise KeyboardInterrupt from None
        raise
    except DpsummError as error:
        _fail(str(error))
    except OSError as error:
        # A full disk, say. A file's name is no secret, the rest of the message is the system's.
        where = f" ({error.filename})" if error.filename else ""
        _fail(f"{error.strerror or type(error).__name__}{where}")


def _fail(message: str) -> None:
    _leave(message, 2)


def _end(message: str) -> NoReturn:
    """End the process that was interrupted, in one line and with its exit code.

    Not by an exception: if the interruption came while text was executed, as when a dataclass is
    made, the interpreter may take it for unhandled, and end by the signal whatever its code.
    """
    with suppress(OSError):
        sys.stdout.flush()
        print(f"dpsumm: {visible(message)}", file=sys.stderr, flush=True)
    os._exit(INTERRUPTED)


def _leave(message: str, code: int) -> None:
    print(f"dpsumm: {visible(message)}", file=sys.stderr)
    raise SystemExit(code)
