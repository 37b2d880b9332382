"""The commands under ``dpsumm ledger``. Needs the extra ``cli``."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer

from dpsumm.basics.atomic import write_text
from dpsumm.basics.names import to_cell
from dpsumm.cli import console
from dpsumm.cli.options import described
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy.events import Protected
from dpsumm.privacy.ledger import Ledger
from dpsumm.report.numbers import round_up
from dpsumm.report.spent import mechanism

app = typer.Typer(no_args_is_help=True)

File = Annotated[Path, typer.Argument()]


@app.command()
@described
def create(file: File, cap: list[str] = []) -> None:  # noqa: B006 (read only)
    """Create a ledger that only its user can read. Runs open an existing ledger only.

    Parameters
    ----------
    file : FILE
        A path without a file.
    cap : WHOSE=EPSILON,DELTA
        Largest total of all runs, such as target=1,1e-5. WHOSE is target, owners, or records for
        tables with columns of several owners. Repeat it for each.
    """
    with Ledger.create(file, caps=_parse_caps(cap)) as book:
        _show_totals(book)


@app.command()
@described
def show(file: File) -> None:
    """Show charges, totals, caps and the head of the chain. The ledger is only read.

    Parameters
    ----------
    file : FILE
        The ledger.
    """
    with Ledger(file) as book:
        _show_lines(book)
        _show_totals(book)
        for change in book.cap_changes():
            when = "before dates were kept" if change.at is None else _minute(change.at)
            limit = f"({change.epsilon:g}, {change.delta:g})"
            console.echo(f"cap of the {change.protected.value} set to {limit}: {when}")
        for at in book.accepted():
            console.echo(f"accepted although entries may be missing: {_minute(at)}")
        console.echo(f"head of the chain: {book.head or 'begins with the next change'}")


@app.command()
@described
def export(file: File, out: Path) -> None:
    """Write all charges and changes of caps as CSV. The ledger is only read.

    Parameters
    ----------
    file : FILE
        The ledger.
    out : FILE.csv
        A path without a file.
    """
    if out.exists():
        raise InvalidParameterError(f"--out: {out} exists already. Give another name")
    text = io.StringIO()
    with Ledger(file) as book:
        csv.writer(text).writerows(
            [to_cell(cell) if isinstance(cell, str) else cell for cell in row]
            for row in _rows(book)
        )
    write_text(out, text.getvalue())
    console.show_files([out])


@app.command()
@described
def cap(
    file: File,
    protected: Annotated[Protected, typer.Option(parser=Protected)],
    epsilon: float,
    delta: float,
) -> None:
    """Set a cap. Releases that would bring the total above it are refused from now on.

    Parameters
    ----------
    file : FILE
        The ledger.
    protected : target|owners|records
        The target's records, the owners', or records of tables with columns of several owners.
    epsilon
        Largest total epsilon of all runs, above 0.
    delta
        Largest sum of the runs' deltas, between 0 and 1.
    """
    with Ledger(file) as book:
        book.set_cap(protected, epsilon, delta)
        _show_totals(book)


@app.command()
@described
def accept(file: File) -> None:
    """Accept a ledger that was restored from a backup or moved without its companion file.

    Charges that it has lost are no longer counted. Lower the caps by them.

    Parameters
    ----------
    file : FILE
        The ledger.
    """
    with Ledger(file) as book:
        if not book.accept():
            console.echo("nothing to accept: no entry is missing")
        _show_totals(book)


def _parse_caps(given: Sequence[str]) -> dict[str, tuple[float, float]]:
    caps = {}
    for item in given:
        whose, _, pair = item.partition("=")
        epsilon, _, delta = pair.partition(",")
        try:
            limit = float(epsilon), float(delta)
        except ValueError:
            raise InvalidParameterError(
                f"--cap: write WHOSE=EPSILON,DELTA, such as target=1,1e-5 (or owners, or records), "
                f"got {item!r}"
            ) from None
        if whose in caps:
            raise InvalidParameterError(f"--cap: {whose!r} is given twice. Give it once")
        caps[whose] = limit
    return caps


def _rows(book: Ledger) -> Iterator[Sequence[object]]:
    yield (
        *("date", "entry", "run", "message", "protects", "observer", "unit"),
        *("mechanism", "count", "epsilon", "delta"),
    )
    for line in book.lines():
        charge = line.charge
        yield (
            *(line.at, "charge", line.run, charge.message, charge.protected.value),
            *(charge.observer.value, charge.unit.value, repr(charge.event), charge.count),
            *(line.epsilon, line.delta),
        )
    for change in book.cap_changes():
        whose, limit = change.protected.value, (change.epsilon, change.delta)
        yield (change.at or "", "cap", "", "", whose, "", "", "", "", *limit)
    for at in book.accepted():
        yield (at, "accepted", *([""] * 9))


def _show_lines(book: Ledger) -> None:
    order = {run: i for i, run in enumerate(book.runs())}
    lines = sorted(book.lines(), key=lambda line: order[line.run])
    for (run, when), together in groupby(lines, lambda line: (line.run, _minute(line.at))):
        rows = [
            (
                line.charge.message,
                line.charge.protected.value,
                mechanism(line.charge),
                line.charge.unit.value,
                round_up(line.epsilon),
                f"{line.delta:g}",
            )
            for line in together
        ]
        heads = ("message", "protects", "mechanism", "unit", "epsilon", "delta")
        console.show_table(heads, rows, right=heads[-2:], title=f"{run}, {when}")
    if lines:
        console.echo("Epsilon of a line is of that line alone; the total below composes them.", "")
    else:
        console.echo("Nothing was charged yet.", "")


def _show_totals(book: Ledger) -> None:
    rows = []
    for protected in Protected.known():
        epsilon, delta = book.spent(protected)
        limit = book.cap(protected)
        caps = ("none", "none") if limit is None else (f"{limit[0]:g}", f"{limit[1]:g}")
        rows.append((protected.value, round_up(epsilon), f"{delta:g}", *caps))
    heads = ("all runs", "epsilon", "delta", "cap, epsilon", "cap, delta")
    console.show_table(heads, rows, right=heads[1:])


def _minute(at: str) -> str:
    return f"{at[:16].replace('T', ' ')} UTC"
