"""What the command line shows: progress on standard error, results on standard output."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from dpsumm.report.numbers import round_up
from dpsumm.summary.result import Summary


@contextmanager
def progress() -> Iterator[Callable[[str, int, int], None] | None]:
    """Give a function to report (stage, done, total) to; None if nobody would see the bars."""
    if not sys.stderr.isatty():
        yield None
        return
    bars = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    tasks: dict[str, TaskID] = {}

    def tell(stage: str, done: int, total: int) -> None:
        if stage not in tasks:
            tasks[stage] = bars.add_task(escape(stage), total=total)
        bars.update(tasks[stage], completed=done, total=total)

    with bars:
        yield tell


def warn(summary: Summary) -> None:
    """Print a run's warnings to standard error."""
    console = Console(stderr=True)
    for text in summary.warnings:
        console.print(f"[yellow]Note:[/] {escape(text)}", highlight=False)
    if summary.privacy.seeded:
        console.print("[bold red]Seeded run:[/] nothing is guaranteed.", highlight=False)


def show_run(summary: Summary, files: Sequence[Path]) -> None:
    """Print what came out of a run, what it cost, and where the files went."""
    used = len(np.unique(summary.owner))
    delta = summary.privacy.delta
    rows = [
        ("points", f"{len(summary):,} of {summary.size_requested:,} asked for"),
        ("owners", f"{used} of {len(summary.names)} are in the summary"),
        ("accesses", f"{summary.accesses:,} points read ({summary.parsimony:.3g} per point)"),
        ("MMD² to the target", f"{summary.mmd2:.4g}"),
        ("epsilon, target", f"{round_up(summary.privacy.epsilon())} at delta {delta:g}"),
        ("epsilon, between owners", round_up(summary.privacy.epsilon(protected="owners"))),
    ]
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="dim")
    table.add_column()
    for name, text in rows:
        table.add_row(name, text)
    console = Console()
    console.print(table)
    show_files(console, files)


def show_files(console: Console, files: Sequence[Path]) -> None:
    """Print where files went."""
    for path in files:
        console.print(f"wrote {escape(str(path))}", highlight=False, soft_wrap=True)
