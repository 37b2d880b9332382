"""The commands ``dpsumm ledger show`` and ``dpsumm ledger cap``. Needs the extra ``cli``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dpsumm.errors import InvalidParameterError
from dpsumm.privacy.events import Charge, Protected
from dpsumm.privacy.ledger import Ledger
from dpsumm.report.numbers import round_up

ledger_app = typer.Typer(
    no_args_is_help=True, help="Books of what was spent: show them, or set a cap."
)

File = Annotated[Path, typer.Argument(metavar="FILE", help="The ledger.")]


@ledger_app.command()
def show(file: File) -> None:
    """Show runs, charges, totals and caps. The file is only read."""
    if not file.is_file():
        raise InvalidParameterError(f"FILE: there is no ledger {file}")
    with Ledger(file) as book:
        _show_runs(book)
        _show_totals(book)


@ledger_app.command()
def cap(
    file: File,
    protected: Annotated[
        Protected, typer.Option(help="Whose records: the target's or the owners'.")
    ],
    epsilon: Annotated[float, typer.Option(help="Largest total of all runs, nats, above 0.")],
    delta: Annotated[float, typer.Option(help="Largest sum of the runs' deltas, in (0, 1).")],
) -> None:
    """Refuse from now on what would bring the total above a cap. The file is made if absent."""
    with Ledger(file) as book:
        book.set_cap(protected, epsilon, delta)
        _show_totals(book)


def _show_runs(book: Ledger) -> None:
    console = Console()
    table = Table(box=None, pad_edge=False, header_style="dim")
    for head in ("run", "message", "protects", "mechanism", "unit"):
        table.add_column(head, overflow="fold")
    table.add_column("delta", justify="right")
    for run in book.runs():
        for i, charge in enumerate(book.charges(run=run)):
            table.add_row(
                escape(run) if i == 0 else "",
                escape(charge.message),
                charge.protected.value,
                escape(_mechanism(charge)),
                charge.unit.value,
                f"{book.delta_of(run):g}" if i == 0 else "",
            )
    console.print(table if table.row_count else "Nothing was charged yet.")
    console.print()


def _mechanism(charge: Charge) -> str:
    return repr(charge.event) if charge.count == 1 else f"{charge.count:,} times {charge.event!r}"


def _show_totals(book: Ledger) -> None:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("all runs")
    for head in ("epsilon", "delta", "cap, epsilon", "cap, delta"):
        table.add_column(head, justify="right")
    for protected in Protected:
        epsilon, delta = book.spent(protected)
        limit = book.cap(protected)
        table.add_row(
            protected.value,
            round_up(epsilon),
            f"{delta:g}",
            *(("none", "none") if limit is None else (f"{limit[0]:g}", f"{limit[1]:g}")),
        )
    Console().print(table)
