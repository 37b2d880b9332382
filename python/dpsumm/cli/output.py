"""Files that a command writes: refused before the budget is spent if they could not be after."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from dpsumm.basics.checks import check_installed
from dpsumm.cli.stopped import OptionsFile
from dpsumm.data.written import beside
from dpsumm.errors import InvalidParameterError


def rows_in(out: Path) -> dict[str, Path]:
    """Return what rows in ``--out`` are written to: a CSV file has its description next to it."""
    return {"--out": out} | ({"--out (what it is)": beside(out)} if out.suffix == ".csv" else {})


def check_outputs(files: Mapping[str, Path]) -> None:
    """Refuse what could not be written: rows in ``--out``, a page in ``--report``.

    Parameters
    ----------
    files
        By option.

    Raises
    ------
    InvalidParameterError
        Another suffix than .parquet or .csv, or no directory that can be written to.
    MissingExtraError
        A report is wanted, and matplotlib is not installed.
    """
    if "--out" in files and files["--out"].suffix not in (".parquet", ".csv"):
        raise InvalidParameterError(
            f"--out must end in .parquet or .csv, got {files['--out'].name!r}"
        )
    if "--report" in files:
        check_installed("matplotlib", "--report needs", "report")
    for option, path in files.items():
        if path.is_dir():
            raise InvalidParameterError(
                f"{option}: {path} is a directory. Give a file in an existing directory"
            )
        # A link's file is what is written.
        folder = path.resolve().parent if path.is_symlink() else path.parent
        if not folder.is_dir():
            raise InvalidParameterError(
                f"{option}: there is no directory {folder}. Make it, or give a file in an "
                "existing directory"
            )
        try:
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise InvalidParameterError(
                f"{option}: cannot write in {folder} ({error.strerror}). Give a file in "
                "another directory"
            ) from None


def check_distinct(inputs: Iterable[Path], outputs: Iterable[Path]) -> None:
    """Refuse to write over an input, or two outputs to one file."""
    taken = {path.resolve() for path in inputs}
    if OptionsFile.path is not None:
        taken.add(OptionsFile.path.resolve())
    for path in outputs:
        if path.resolve() in taken:
            raise InvalidParameterError(
                f"{path} would be written over: it is named more than once among what is read, "
                "--ledger, --out and --report. Give each its own file"
            )
        taken.add(path.resolve())
