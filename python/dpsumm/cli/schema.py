"""The commands ``dpsumm schema init`` and ``dpsumm schema check``. Needs the extra ``cli``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel

from dpsumm.atomic import write_text
from dpsumm.cli import console
from dpsumm.cli.arguments import file_format_of
from dpsumm.cli.options import described
from dpsumm.data.schema import Kind, Schema, WhenMissing
from dpsumm.data.schema_toml import to_toml
from dpsumm.data.table import WAY_OUT
from dpsumm.errors import InvalidParameterError

if TYPE_CHECKING:
    from dpsumm.data.check import Found

app = typer.Typer(
    no_args_is_help=True,
    help="The public schema: draft one from a public sample, or try one on your own data.",
)
File = Annotated[Path, typer.Argument()]


@app.command()
@described
def init(
    file: File,
    out: Path = Path("schema.toml"),
    label: str | None = None,
    ignore: list[str] | None = None,
    names: str | None = None,
    separator: str = ",",
) -> None:
    """Write a draft from a public sample. [bold]Bounds read from private data leak them.[/]

    Parameters
    ----------
    file : FILE
        A [bold]public[/] sample, CSV or Parquet.
    out : FILE
        The draft.
    label : COLUMN
        Column of labels, which travel along.
    ignore : COLUMN
        Another column that travels along, such as identifiers; once per column.
    names : A,B,C
        Column names, for CSV files without a header row.
    separator
        Character between CSV fields.
    """
    from dpsumm.data.draft import HEADER, WARNING, draft

    if out.suffix != ".toml" or out.exists():
        raise InvalidParameterError(
            f"--out must end in .toml and not exist yet, got {out}; give another name"
        )
    ignored = ignore or []
    file_format = file_format_of(names, separator)
    schema, reasons = draft(file, label=label, ignore=ignored, file_format=file_format)
    if label is not None and schema.label is None:
        raise InvalidParameterError(f"--label: the sample has no column {label!r}")
    if unknown := set(ignored) - {column.name for column in schema.columns}:
        raise InvalidParameterError(f"--ignore: the sample has no column {min(unknown)!r}")
    write_text(out, to_toml(schema.columns, HEADER))
    warning = escape(WARNING.strip().replace("\n", " "))
    Console(stderr=True).print(Panel(warning, title="A draft", border_style="bold red"))
    kinds = Counter(Kind(column.kind).value for column in schema.columns)
    counts = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    console.say(f"wrote {escape(str(out))}: {counts}", soft_wrap=True)
    for name, reason in reasons.items():
        console.say(f"{escape(name)} is left out: {escape(reason)}", style="dim", soft_wrap=True)


@app.command("check")
@described
def check_command(
    file: File,
    schema: Path = Path("schema.toml"),
    target: bool = False,
    names: str | None = None,
    separator: str = ",",
) -> None:
    """Count what a schema meets in your data; exit code 1 if a run would refuse them.

    Parameters
    ----------
    file : FILE
        Your own data, CSV or Parquet. Stays here.
    schema : FILE
        The schema of the run.
    target
        The data are the target's: no label, nothing beside.
    names : A,B,C
        Column names, for CSV files without a header row.
    separator
        Character between CSV fields.
    """
    from dpsumm.data.check import check

    public = Schema.read(schema)
    wanted = public.for_target() if target else public
    rows, found = check(file, wanted, file_format=file_format_of(names, separator))
    console.say(
        f"schema {public.fingerprint}: the same at every party of a run\n"
        f"{rows:,} rows. These counts are private: for you, not for other parties."
    )
    numbers = ("missing", "clipped", "unknown", "unreadable")
    console.show_table(
        ("column", "kind", *numbers, "a run would"),
        [
            (
                one.column.name,
                Kind(one.column.kind).value,
                *(f"{count:,}" if (count := getattr(one, name)) else "" for name in numbers),
                _verdict(one),
            )
            for one in found
        ],
        right=numbers,
        styles={i: "red" for i, one in enumerate(found) if one.refused},
    )
    for text in _advice(found):
        console.say(escape(text), style="dim")
    if any(one.refused for one in found):
        raise typer.Exit(1)


def _verdict(one: Found) -> str:
    if one.refused:
        return f"refuse: {', '.join(one.refused)}"
    if one.missing and one.column.kind is not Kind.IGNORE:
        return "drop rows" if one.column.when_missing is WhenMissing.DROP else "encode missing"
    return "accept"


def _advice(found: list[Found]) -> list[str]:
    """Return the way out of everything that is refused, and what counts may mean otherwise."""
    reasons = dict.fromkeys(reason for one in found for reason in one.refused)
    lines = [f"{reason}: {WAY_OUT[reason]}." for reason in reasons]
    if any(one.clipped or one.unknown for one in found):
        lines.append(
            "clipped, unknown: is it a mark of 'no value', such as -9? Then name it in the "
            "column's missing."
        )
    return lines
