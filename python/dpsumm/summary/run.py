"""A run that is described by a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from dpsumm.exchange.driver import Progress
from dpsumm.summary.options import as_arguments
from dpsumm.summary.options_file import as_typed, grouped, read_options
from dpsumm.summary.result import Summary
from dpsumm.summary.summarize import summarize


def run(
    config: str | os.PathLike[str], *, progress: Progress | None = None, **options: Any
) -> Summary:
    """Return the summary of a run whose options stand in a TOML file.

    The file is that of ``dpsumm run --config``, and the run is the same: with one seed, the same
    points. What the command would write (`out`, `report`, `weights`) is not written here; the
    summary has it: `Summary.save`, `Summary.report`.

    Parameters
    ----------
    config
        The file. Its keys are the options of ``dpsumm run`` without their dashes, such as ``size =
        200``; ``dpsumm run --help`` says what each means. Paths in it are relative to it.
    progress
        Called with (stage, done, total).
    options
        What the file does not say, or what comes before what it says: any of its keys, as the file
        would have it. Paths are relative to the current folder.

    Returns
    -------
    Summary

    Raises
    ------
    InvalidParameterError
        No such file, no TOML, an option that there is not, or a value of another type. All before
        anything is read.

    As :func:`dpsumm.summarize`. A budget that promises next to nothing is refused as it is on the
    command line, unless the file says ``allow_weak_privacy = true``.

    Privacy
    -------
    As :func:`dpsumm.summarize`: the file is public. A file without `ledger` counts nothing across
    runs.

    See Also
    --------
    dpsumm.summarize : The same call with Python's values: arrays, frames, protocols of your own.

    Examples
    --------
    >>> import tempfile, dpsumm
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name in ("north", "south", "clinic"):
    ...     _ = (folder / f"{name}.csv").write_text("age\\n" + "61\\n58\\n70\\n" * 100)
    >>> _ = (folder / "run.toml").write_text('''
    ... target = "clinic.csv"
    ... size = 20
    ... column = { age = [20, 90] }
    ...
    ... [owner]
    ... north = "north.csv"
    ... south = "south.csv"
    ... ''')
    >>> dpsumm.run(folder / "run.toml").points.shape
    (20, 1)
    >>> len(dpsumm.run(folder / "run.toml", size=10, protocol="pool"))
    10
    """
    where = f"{os.fspath(config)}: "
    said = read_options(Path(config)) | as_typed(options, Path(), "")
    return summarize(**as_arguments(*grouped(said, where)), progress=progress)
