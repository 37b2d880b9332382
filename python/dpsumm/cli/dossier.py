"""The command ``dpsumm dossier``. Needs the extra ``cli``."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from dpsumm.basics.atomic import write_text
from dpsumm.cli import console
from dpsumm.cli.options import described
from dpsumm.cli.output import check_distinct
from dpsumm.data.words import parse_files
from dpsumm.data.written import check_rows, read_about
from dpsumm.errors import InvalidDataError, InvalidParameterError
from dpsumm.privacy.ledger import Ledger
from dpsumm.privacy.record import RunRecord
from dpsumm.report.about import About
from dpsumm.report.audits import AuditResults
from dpsumm.report.dossier import Dossier, alarms
from dpsumm.report.dossier_page import render
from dpsumm.report.numbers import round_up

# Whose runs a command makes.
ABOUT = {
    "summarize": "dpsumm.summary.about",
    "learn": "dpsumm.ensemble.about",
    "synthesize": "dpsumm.vertical.about",
}


@described
def dossier(
    result: Annotated[Path, typer.Argument()],
    ledger: list[str] | None = None,
    audit: Path | None = None,
    out: Path = Path("dossier.html"),
) -> None:
    """Write one page for a data-protection officer about recipients, messages and cost.

    It has public facts, charges and claims only. No value of a record and no figure of quality is
    in it. Problems are listed in red at its top.

    Parameters
    ----------
    result : RESULT
        The --out file of summarize, learn or synthesize, as .parquet, or as .csv with its .json.
    ledger : FILE or NAME=FILE
        The run's ledger, for its dated rows and the totals of all its runs. For synthesize, repeat
        it with each owner's name.
    audit : FILE.json
        Results of dpsumm audit --out FILE.json, made with the package of the run.
    out : FILE.html
        The page.
    """
    if out.suffix != ".html":
        raise InvalidParameterError(f"--out must end in .html, got {out.name!r}")
    beside = read_about(_existing(result))
    record, about = _record(result, beside)
    files = _ledgers(record, ledger or [])
    check_distinct([result, *files.values(), *([audit] if audit else [])], [out])
    results = None if audit is None else AuditResults.read(audit)
    with ExitStack() as stack:
        given = {
            whose: stack.enter_context(_opened(record, whose, path))
            for whose, path in files.items()
        }
        kept = {
            whose: stack.enter_context(_kept(record, whose))
            for whose in record.books
            if whose not in given
        }
        made = Dossier(
            *(record, about, kept | given, frozenset(given), results),
            rows=check_rows(result, beside),
        )
        page, notes = render(made), alarms(made)
        figures = [(f"epsilon {what}", round_up(found)) for what, found in made.figures]
    write_text(out, page)
    console.show_facts([("run", record.run), *figures])
    console.show_files([out])
    console.warn(notes, seeded=False)


def _existing(result: Path) -> Path:
    if not result.exists():
        raise InvalidParameterError(
            f"RESULT: there is no file {result}. Give what --out of dpsumm summarize, learn or "
            "synthesize wrote. A run that did not finish wrote none: end it under its name (--run "
            "NAME, which `dpsumm ledger show` lists), which charges nothing twice"
        )
    return result


def _record(result: Path, beside: Mapping[str, Any]) -> tuple[RunRecord, About]:
    """Return a result's record, and what the subsystem that made it says of itself."""
    try:
        record = RunRecord.from_json(beside["record"])
        about: About = import_module(ABOUT[record.command]).ABOUT
        # Only runs of synthesize have observers, and ledgers with names: their owners'.
        if record.command == "synthesize":
            fits = bool(record.observers) and {*record.books} <= {*record.schemas}
        else:
            fits = not record.observers and {*record.books} == {""}
        if fits:
            return record, about
    except (KeyError, ValueError, TypeError):
        pass
    raise InvalidDataError(
        f"RESULT: {result} has no record of its run that this version of dpsumm reads. Resume the "
        "run by its name with the same --ledger, which charges nothing twice, to write it anew"
    )


def _ledgers(record: RunRecord, given: list[str]) -> Mapping[str, Path]:
    """Return whose ledger to its file."""
    if record.command != "synthesize":
        if len(given) > 1:
            raise InvalidParameterError("--ledger: a run of this kind has one. Give one FILE")
        return {"": Path(given[0])} if given else {}
    kept = [whose for whose, book in record.books.items() if book.file is not None]
    if len(given) == len(kept) == 1 and "=" not in given[0]:
        return {kept[0]: Path(given[0])}
    files = parse_files("--ledger", given)
    for name in files:
        if name not in record.schemas:
            owners = ", ".join(map(repr, record.schemas))
            raise InvalidParameterError(f"--ledger: {name!r} is no owner of the run ({owners})")
    return files


def _opened(record: RunRecord, whose: str, path: Path) -> Ledger:
    """Return a ledger that has the run."""
    with Ledger(path) as book:
        runs = book.runs()
    charged = record.books[whose].charges if whose in record.books else record.across
    if charged and record.run not in runs:
        known = ", ".join(map(repr, runs[-5:])) or "none"
        raise InvalidParameterError(
            f"--ledger: {path} has no charge of run {record.run!r} (its last runs: {known}). Give "
            "the ledger that the run was charged to"
        )
    return Ledger(path, run=record.run, delta=record.delta)


def _kept(record: RunRecord, whose: str) -> Ledger:
    """Return books in memory with the charges that the run kept, to be added up as any others."""
    book = Ledger(run=record.run, delta=record.delta)
    for number, charge in enumerate(record.books[whose].charges):
        book.release(str(number), [charge], lambda: b"")
    return book
