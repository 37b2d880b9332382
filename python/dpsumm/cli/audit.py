"""The command ``dpsumm audit``. Needs the extra ``cli``."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dpsumm import _core
from dpsumm.cli import console


def audit(
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer trials: under a minute instead of some minutes.")
    ] = False,
    seed: Annotated[
        int | None,
        typer.Option(help="Of the made-up data; noise and coins are always fresh.", min=0),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the results as a Markdown page."),
    ] = None,
) -> None:
    """Measure what the mechanisms leak, on made-up data, and catch broken copies of them.

    Ends with exit code 1 if a claim fails or a broken twin is not caught.
    """
    from dpsumm.audit import run_audits
    from dpsumm.audit.show import HEADS, rows, write_page

    seed = secrets.randbits(32) if seed is None else seed
    _core.set_threads(1)  # inputs are tiny: handing them to threads costs more than the work
    try:
        with console.progress() as progress:
            outcomes = run_audits(quick=quick, seed=seed, progress=progress)
    finally:
        _core.set_threads(0)
    table = Table(box=None, pad_edge=False, header_style="dim")
    for i, head in enumerate(HEADS):
        table.add_column(head, justify="right" if 0 < i < 5 else "left")
    twins_begin = sum(not outcome.audit.broken for outcome in outcomes)
    for i, (row, outcome) in enumerate(zip(rows(outcomes), outcomes, strict=True)):
        if i == twins_begin:
            table.add_section()
            table.add_row("[dim]broken twins, to be caught[/]")
        table.add_row(*map(escape, row), style=None if outcome.passed else "bold red")
    shown = Console()
    shown.print(table)
    if out is not None:
        write_page(outcomes, out, quick=quick, seed=seed)
        console.show_files(shown, [out])
    if not all(outcome.passed for outcome in outcomes):
        raise typer.Exit(1)
