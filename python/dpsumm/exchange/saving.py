"""Messages if a result cannot be saved. The budget is spent, and the run can go on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dpsumm.errors import DpsummError, InvalidDataError


@contextmanager
def saving(result: str | os.PathLike[str], run: str | None) -> Iterator[None]:
    """Add to an error of the block the state of the run, and how to resume it."""
    fate = "What the run has released is charged and stays so. " + (
        "The run has no name, so it cannot be resumed"
        if run is None
        else f"Put the cause right and run again with run={run!r}: nobody is asked again for what "
        "was collected, and nothing is charged twice"
    )
    try:
        yield
    except OSError as error:
        raise InvalidDataError(
            f"out: {Path(result).absolute()}, or what is saved beside it, cannot be written "
            f"({error.strerror or error}). {fate}"
        ) from None
    except DpsummError as error:
        raise type(error)(f"{error}. {fate}") from None
