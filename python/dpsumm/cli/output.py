"""Files that a command writes: refused before the budget is spent if they could not be after."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from dpsumm.checks import check_installed
from dpsumm.data.written import beside
from dpsumm.errors import InvalidDataError, InvalidParameterError


def rows_in(out: Path) -> dict[str, Path]:
    """Return what rows in ``--out`` are written to: a CSV file has what it is beside it."""
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
        if path.is_dir() or not path.parent.is_dir():
            raise InvalidParameterError(
                f"{option}: {path} is a directory, or its directory does not exist; "
                f"give a file in an existing directory"
            )
        try:
            with tempfile.TemporaryFile(dir=path.parent):
                pass
        except OSError as error:
            raise InvalidParameterError(
                f"{option}: cannot write in {path.parent} ({error.strerror}); give a file in "
                "another directory"
            ) from None


def check_distinct(inputs: Iterable[Path], outputs: Iterable[Path]) -> None:
    """Refuse to write over an input, or two outputs to one file."""
    taken = {path.resolve() for path in inputs}
    for path in outputs:
        if path.resolve() in taken:
            raise InvalidParameterError(
                f"{path} would be written over: it is named more than once among what is read, "
                "--ledger, --out and --report; give each its own file"
            )
        taken.add(path.resolve())


def write_all(
    writers: Mapping[Path, Callable[[], object]],
    spent: str,
    books: Sequence[object],
    run: str | None,
) -> None:
    """Write the files; if the disk is full, say what was written and spent and how to resume.

    Parameters
    ----------
    writers
        By the file that each writes.
    spent
        What the run cost, as a sentence without its end.
    books
        The run's ledgers, as ``--ledger`` takes them.
    run
        Its name, if one was given.

    Raises
    ------
    InvalidDataError
        A file cannot be written.
    """
    written: list[str] = []
    for path, write in writers.items():
        try:
            write()
        except OSError as error:
            kept = f"{', '.join(written)} was written" if written else "nothing was written"
            again = "An equal run costs it again: what it released was kept in no --ledger"
            if books:
                file = str(books[0]).rpartition("=")[2]
                named = run or f"NAME (as `dpsumm ledger show {file}` has it)"
                given = " ".join(f"--ledger {book}" for book in books)
                again = (
                    f"Make room and run again with {given} and --run {named}: nothing is charged "
                    "twice"
                )
            raise InvalidDataError(
                f"{path} cannot be written ({error.strerror}); {kept}. {spent}. {again}"
            ) from None
        written.append(str(path))
