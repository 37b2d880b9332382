"""The commands under ``dpsumm ledger``. Needs the extra ``cli``."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dpsumm.atomic import write_atomically
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy.events import Charge, Protected
from dpsumm.privacy.ledger import Ledger
from dpsumm.report.numbers import round_up

ledger_app = typer.Typer(
    no_args_is_help=True,
    help="Books of what was spent: make, show and export them, or set a cap.",
)

File = Annotated[Path, typer.Argument(metavar="FILE", help="The ledger.")]


@ledger_app.command()
def create(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where nothing is yet.")],
    cap: Annotated[
        list[str],
        typer.Option(
            metavar="WHOSE=EPSILON,DELTA",
            help="Largest total of all runs on the records of the target or of the owners, such as "
            "target=1,1e-5; may be given for both.",
        ),
    ] = [],  # noqa: B006 (read only)
) -> None:
    """Make the file of new books, readable by its user alone. Runs only open what was made."""
    with Ledger.create(file, caps=_parse_caps(cap)) as book:
        _show_totals(book)


@ledger_app.command()
def show(file: File) -> None:
    """Show charges, totals, caps and what was accepted. The file is only read."""
    with Ledger(file) as book:
        _show_lines(book)
        _show_totals(book)
        _show_changes(book)


@ledger_app.command()
def export(
    file: File,
    out: Annotated[
        Path, typer.Option(metavar="FILE.csv", help="Where to write; nothing may be there yet.")
    ],
) -> None:
    """Write all charges and changes of caps as CSV. The ledger is only read."""
    if out.exists():
        raise InvalidParameterError(f"--out: {out} exists already; give another name")
    with Ledger(file) as book:
        rows = list(_rows(book))

    def write(path: Path) -> None:
        with path.open("w", newline="", encoding="utf-8") as stream:
            csv.writer(stream).writerows(rows)

    write_atomically(out, write, secret=True)
    typer.echo(f"wrote {out}")


@ledger_app.command()
def cap(
    file: File,
    protected: Annotated[
        Protected,
        typer.Option(
            parser=Protected,
            metavar="|".join(Protected.known()),
            help="Whose records: the target's or the owners'.",
        ),
    ],
    epsilon: Annotated[float, typer.Option(help="Largest total of all runs, nats, above 0.")],
    delta: Annotated[float, typer.Option(help="Largest sum of the runs' deltas, in (0, 1).")],
) -> None:
    """Refuse from now on what would bring the total above a cap."""
    with Ledger(file) as book:
        book.set_cap(protected, epsilon, delta)
        _show_totals(book)


@ledger_app.command()
def accept(file: File) -> None:
    """Go on with a file that was put back or moved alone; what it lost is not counted any longer.

    Then lower the caps by what was spent and is not in it.
    """
    with Ledger(file) as book:
        book.accept()
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
                f"--cap: write target=EPSILON,DELTA or owners=EPSILON,DELTA, got {item!r}"
            ) from None
        if whose in caps:
            raise InvalidParameterError(f"--cap: {whose!r} is given twice; give it once")
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
    console = Console()
    table = Table(box=None, pad_edge=False, header_style="dim")
    for head in ("run", "date", "message", "protects", "mechanism", "unit"):
        table.add_column(head, overflow="fold")
    for head in ("epsilon", "delta"):
        table.add_column(head, justify="right")
    last = None
    order = {run: i for i, run in enumerate(book.runs())}
    for line in sorted(book.lines(), key=lambda line: order[line.run]):
        charge = line.charge
        table.add_row(
            escape(line.run) if line.run != last else "",
            escape(_minute(line.at)),
            escape(charge.message),
            charge.protected.value,
            escape(_mechanism(charge)),
            charge.unit.value,
            round_up(line.epsilon),
            f"{line.delta:g}",
        )
        last = line.run
    if table.row_count:
        console.print(table)
        console.print("Epsilon of a line is of that line alone; the total below composes them.")
    else:
        console.print("Nothing was charged yet.")
    console.print()


def _show_changes(book: Ledger) -> None:
    console = Console()
    for change in book.cap_changes():
        when = "before dates were kept" if change.at is None else _minute(change.at)
        console.print(
            f"cap of the {change.protected.value} set to ({change.epsilon:g}, {change.delta:g}): "
            f"{escape(when)}",
            highlight=False,
        )
    for at in book.accepted():
        console.print(f"accepted although entries may be missing: {escape(_minute(at))}")


def _minute(at: str) -> str:
    return f"{at[:16].replace('T', ' ')} UTC"


def _mechanism(charge: Charge) -> str:
    return repr(charge.event) if charge.count == 1 else f"{charge.count:,} times {charge.event!r}"


def _show_totals(book: Ledger) -> None:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("all runs")
    for head in ("epsilon", "delta", "cap, epsilon", "cap, delta"):
        table.add_column(head, justify="right")
    for protected in Protected.known():
        epsilon, delta = book.spent(protected)
        limit = book.cap(protected)
        table.add_row(
            protected.value,
            round_up(epsilon),
            f"{delta:g}",
            *(("none", "none") if limit is None else (f"{limit[0]:g}", f"{limit[1]:g}")),
        )
    Console().print(table)
