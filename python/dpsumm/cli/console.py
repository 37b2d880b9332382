"""Output of the command line, with progress on standard error and results on standard output."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from dpsumm.basics.visible import visible
from dpsumm.cli.typed import typed
from dpsumm.report.notes import CALLS, Note, Severity, sorted_notes
from dpsumm.report.numbers import round_up
from dpsumm.summary.result import Summary

_STYLES = {Severity.ALARM: "bold red", Severity.WARNING: "bold yellow", Severity.INFO: "dim"}


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
            tasks[stage] = bars.add_task(shown(stage), total=total)
        bars.update(tasks[stage], completed=done, total=total)

    with bars:
        yield tell


def say(text: Any, **how: Any) -> None:
    """Print what Rich renders, on standard output. A string is markup."""
    Console(highlight=False).print(visible(text) if isinstance(text, str) else text, **how)


def shown(text: object) -> str:
    """Return others' words for a line of markup: in one line, and as they are spelled."""
    return escape(visible(text))


def echo(*lines: object) -> None:
    """Print lines that dpsumm has made, in which others' words may stand, on standard output."""
    for line in lines:
        typer.echo(visible(line))


def show_table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Sequence[str] = (),
    styles: Mapping[int, str] | None = None,
    title: str | None = None,
) -> None:
    """Print rows of texts. Columns of numbers stand `right`, rows may have styles by number."""
    table = Table(box=None, pad_edge=False, header_style="dim", title_justify="left")
    table.title = None if title is None else Text(visible(title), "bold")
    for head in heads:
        justify: Literal["right", "left"] = "right" if head in right else "left"
        table.add_column(visible(head), justify=justify, no_wrap=head in right, overflow="fold")
    for number, row in enumerate(rows):
        table.add_row(*(Text(visible(cell)) for cell in row), style=(styles or {}).get(number))
    say(table)


def run_of(summary: Summary) -> str:
    """Return the name of a summary's run and when it ended."""
    when = "" if summary.finished is None else f", {summary.finished:%Y-%m-%d %H:%M} UTC"
    return f"{summary.run}{when}"


def show_run(summary: Summary) -> None:
    """Print the result of a run, and its cost."""
    privacy = summary.privacy
    used = len(np.unique(summary.owner))
    far = summary.scale.to_distribution(summary.mmd2)
    facts = [
        ("run", run_of(summary)),
        ("points", f"{len(summary):,} of {summary.size_requested:,} asked for"),
        ("owners", f"{used} of {len(summary.names)} are in the summary"),
        (
            "accesses",
            f"{summary.accesses:,} points read ({summary.reads_per_record:.3g} per point)",
        ),
        ("MMD² to the target", f"{summary.mmd2:.4g} ({far:.4g} with its sampling error)"),
        ("verdict", typed(summary.verdict.text)),
        ("epsilon, target", f"{round_up(privacy.epsilon())} at delta {privacy.delta:g}"),
        (f"epsilon, {privacy.owners_towards}", round_up(privacy.epsilon(protected="owners"))),
    ]
    if summary.has_weights:
        worth = f"{summary.effective_size:.0f} points of equal weight"
        facts.append(("worth with weights", worth))
    show_facts(facts)


def show_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Print names with their values."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    for name, value in facts:
        grid.add_row(Text(visible(name)), Text(visible(value)))
    say(grid)


def show_files(files: Iterable[Path]) -> None:
    """Print where files went."""
    for path in files:
        say(f"wrote {shown(path)}", soft_wrap=True)


def tell(note: Note) -> None:
    """Print a note to standard error."""
    call = f"[{_STYLES[note.severity]}]{CALLS[note.severity]}:[/]"
    Console(stderr=True, highlight=False).print(f"{call} {shown(typed(note))}")


@contextmanager
def warnings_told() -> Iterator[set[str]]:
    """Print Python warnings as notes, at once. Give the set of what was said so far."""
    told: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        text = str(message).removeprefix("learn: ")
        told.add(text)
        note = message.args[0] if isinstance(message, Warning) and message.args else message
        severity = getattr(note, "severity", None)
        tell(Note(text) if severity is None else Note(text, severity))

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.filterwarnings("ignore", "no ledger:")
        warnings.showwarning = show
        yield told


def tell_uncounted(note: Note | None, epsilon: float) -> None:
    """Print that no ledger counts an epsilon, if there is something to count."""
    if note is not None and 0 < epsilon < math.inf:
        tell(note)


def warn(notes: Iterable[str], *, seeded: bool) -> None:
    """Print a run's warnings to standard error."""
    for note in sorted_notes(notes):
        tell(note)
    if seeded:
        Console(stderr=True, highlight=False).print(
            "[bold red]Seeded run:[/] nothing is guaranteed."
        )
