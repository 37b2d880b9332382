"""The commands ``dpsumm schema init`` and ``dpsumm schema check``. Needs the extra ``cli``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from dpsumm.atomic import write_atomically
from dpsumm.cli.arguments import file_format_of
from dpsumm.cli.options import NAMES, SEPARATOR
from dpsumm.data.schema import Kind, Schema
from dpsumm.data.schema_toml import to_toml
from dpsumm.data.table import WAY_OUT
from dpsumm.errors import InvalidParameterError

if TYPE_CHECKING:
    from dpsumm.data.check import Found

schema_app = typer.Typer(
    no_args_is_help=True,
    help="The public schema: draft one from a public sample, or try one on your own data.",
)

Names = Annotated[
    str | None,
    typer.Option(metavar="A,B,C", help=NAMES),
]
Separator = Annotated[str, typer.Option(help=SEPARATOR)]


@schema_app.command()
def init(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A [bold]public[/] sample, CSV or Parquet."),
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The draft.")] = Path("schema.toml"),
    label: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of labels, which travel along."),
    ] = None,
    names: Names = None,
    separator: Separator = ",",
) -> None:
    """Write a draft from a public sample. [bold]Bounds read from private data leak them.[/]"""
    from dpsumm.data.draft import HEADER, WARNING, draft

    if out.suffix != ".toml" or out.exists():
        raise InvalidParameterError(
            f"--out must end in .toml and not exist yet, got {out}; give another name"
        )
    schema = draft(file, label=label, file_format=file_format_of(names, separator))
    if label is not None and schema.label is None:
        raise InvalidParameterError(f"--label: the sample has no column {label!r}")
    text = to_toml(schema.columns, HEADER)
    write_atomically(out, lambda path: _write(path, text))
    console = Console(stderr=True)
    console.print(
        Panel(escape(WARNING.strip().replace("\n", " ")), title="A draft", border_style="bold red")
    )
    kinds = [Kind(column.kind).value for column in schema.columns]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
    Console().print(f"wrote {escape(str(out))}: {counts}", highlight=False, soft_wrap=True)


@schema_app.command("check")
def check_command(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Your own data, CSV or Parquet. Stays here.")
    ],
    schema: Annotated[Path, typer.Option(metavar="FILE", help="The schema of the run.")] = Path(
        "schema.toml"
    ),
    target: Annotated[
        bool, typer.Option("--target", help="The data are the target's: no label, nothing beside.")
    ] = False,
    names: Names = None,
    separator: Separator = ",",
) -> None:
    """Count what a schema meets in your data; exit code 1 if a run would refuse them."""
    from dpsumm.data.check import check

    public = Schema.read(schema)
    wanted = public.for_target() if target else public
    rows, found = check(file, wanted, file_format=file_format_of(names, separator))
    console = Console()
    console.print(f"schema {public.fingerprint}: the same at every party of a run")
    console.print(f"{rows:,} rows. These counts are private: for you, not for other parties.")
    console.print(_table(found))
    for text in _advice(found):
        console.print(text, style="dim", highlight=False)
    if any(column.refused for column in found):
        raise typer.Exit(1)


def _table(found: list[Found]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("column", overflow="fold")
    table.add_column("kind")
    for head in ("missing", "clipped", "unknown", "unreadable"):
        table.add_column(head, justify="right")
    table.add_column("a run would")
    for one in found:
        rule = getattr(one.column.when_missing, "value", "")
        verdict = f"[red]refuse: {', '.join(one.refused)}[/]" if one.refused else "accept"
        if not one.refused and one.missing and one.column.kind is not Kind.IGNORE:
            verdict = {"drop": "drop rows", "encode": "encode missing"}[rule]
        counts = (one.missing, one.clipped, one.unknown, one.unreadable)
        table.add_row(
            escape(one.column.name),
            Kind(one.column.kind).value,
            *(f"{count:,}" if count else "" for count in counts),
            verdict,
        )
    return table


def _advice(found: list[Found]) -> list[str]:
    """Return the way out of everything that is refused, and what counts may mean otherwise."""
    reasons = dict.fromkeys(reason for one in found for reason in one.refused)
    lines = [escape(f"{reason}: {WAY_OUT[reason]}.") for reason in reasons]
    if any(one.clipped or one.unknown for one in found):
        lines.append(
            escape(
                "clipped, unknown: is it a mark of 'no value', such as -9? Then name it in the "
                "column's missing."
            )
        )
    return lines


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
