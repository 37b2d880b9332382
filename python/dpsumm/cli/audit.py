"""The command ``dpsumm audit``. Needs the extra ``cli``."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dpsumm import kernels
from dpsumm.cli import console


def audit(
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer trials: about a minute instead of five.")
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
    from dpsumm.audit.show import HEADS, TWIN_HEADS, rows, twin_rows, write_page

    seed = secrets.randbits(32) if seed is None else seed
    kernels.set_threads(1)  # inputs are tiny: handing them to threads costs more than the work
    try:
        with console.progress() as progress:
            outcomes = run_audits(quick=quick, seed=seed, progress=progress)
    finally:
        kernels.set_threads(0)
    shown = Console()
    failed = [not outcome.passed for outcome in outcomes]
    shown.print(_table(HEADS, rows(outcomes), failed))
    escaped = [not found.refuted for outcome in outcomes for found in outcome.twins]
    shown.print(_table(TWIN_HEADS, twin_rows(outcomes), escaped))
    if out is not None:
        write_page(outcomes, out, quick=quick, seed=seed)
        console.show_files(shown, [out])
    if any(failed):
        raise typer.Exit(1)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], bad: Sequence[bool]) -> Table:
    """Return rows as a table, the bad ones in red."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for head in heads:
        table.add_column(head)
    for row, is_bad in zip(rows, bad, strict=True):
        table.add_row(*map(escape, row), style="bold red" if is_bad else None)
    return table
