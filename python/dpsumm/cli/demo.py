"""The command ``dpsumm demo``. Needs the extra ``demo``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from dpsumm.checks import check_installed
from dpsumm.cli import console
from dpsumm.cli.options import OUTPUT, Delta, Epsilon, Seed, Size
from dpsumm.errors import InvalidParameterError
from dpsumm.report.numbers import round_up
from dpsumm.summary.demo import N_OWNERS, WANTED, Row, compare, load_digits


def demo(
    out: Annotated[
        Path,
        typer.Option(
            help="Directory for summary.parquet and report.html, made if absent.",
            rich_help_panel=OUTPUT,
        ),
    ] = Path("demo-output"),
    size: Size = 60,
    epsilon: Epsilon = 1.0,
    delta: Delta = 1e-5,
    seed: Seed = None,
) -> None:
    """Compare protocols on handwritten digits, in less than a minute.

    A target that is mostly 3, 5, 8 and 9, and eight owners where these are rare.
    """
    check_installed("matplotlib", "reports need", "report")
    data = load_digits()
    files = [out / "summary.parquet", out / "report.html"]
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidParameterError(
            f"--out: cannot make directory {out}: {error.strerror}"
        ) from None
    with console.progress() as progress:
        summary, rows = compare(
            data, size=size, epsilon=epsilon, delta=delta, seed=seed, progress=progress
        )
    summary.save(files[0])
    summary.report(files[1])
    theirs = np.concatenate([labels for _, labels in data.owners.values()])
    digits = ", ".join(map(str, WANTED))
    shown = Console()
    shown.print(
        f"The target, {len(data.target)} records, is mostly {digits}. These are "
        f"{np.isin(theirs, WANTED).mean():.0%} of the {len(theirs)} digits at {N_OWNERS} owners. "
        f"Summaries of {size} points:",
        highlight=False,
    )
    _show(shown, rows, delta)
    console.show_files(shown, files)
    console.warn(summary)


def _show(shown: Console, rows: Sequence[Row], delta: float) -> None:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("protocol", no_wrap=True)
    for head in ("MMD²", "SVM", "ε target", "ε owners", "read", "seconds"):
        table.add_column(head, justify="right")
    for row in rows:
        table.add_row(
            row.protocol,
            f"{row.mmd2:.4f}",
            f"{row.accuracy:.1%}",
            round_up(row.epsilon_target),
            round_up(row.epsilon_owners),
            f"{row.accesses:,}",
            f"{row.seconds:.2f}",
            style="bold" if row is rows[0] else None,
        )
    shown.print(table)
    shown.print(
        f"MMD² (lower is better) and accuracy of a linear SVM trained on the summary: both on "
        f"target records that nobody was given. ε: privacy spent on the target's and on the "
        f"owners' records towards an owner, at delta {delta:g}. Read: points the curator saw.",
        style="dim",
        highlight=False,
    )
