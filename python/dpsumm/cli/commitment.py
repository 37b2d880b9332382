"""The commands under ``dpsumm commitment``. Needs the extra ``cli``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpsumm.checks import counted
from dpsumm.cli import console
from dpsumm.cli.options import described
from dpsumm.data.keys import read_key
from dpsumm.data.large.stream import Stream
from dpsumm.data.leaves import record_of
from dpsumm.data.openings import verify_openings
from dpsumm.data.reading import Format
from dpsumm.data.schema import Schema
from dpsumm.errors import InvalidParameterError
from dpsumm.summary.protocols.committed import open_rows

app = typer.Typer(
    no_args_is_help=True,
    help="Rows that an owner had committed to: open some, or check those of others.",
)
File = Annotated[Path, typer.Argument()]


@app.command("open")
@described
def open_command(
    file: File,
    schema: Path,
    key: Path,
    run: str,
    row: list[int],
    out: Path,
    owner: str | None = None,
    root: str | None = None,
    stream: bool = False,
    *,
    form: Format,
) -> None:
    """Write openings of rows that somebody asked to see. [bold]They are your real records.[/]

    Parameters
    ----------
    file : FILE
        The data that you took part with, unchanged.
    schema : FILE
        The schema of the run.
    key : FILE
        Your commitment-key.
    run : DIGITS
        What the run is called in commitments: 32 hexadecimal digits, in the curator's openings.
    row : NUMBER
        A row of the file, from 0; once per row.
    out : FILE.json
        Where to write; nothing may be there yet.
    owner : NAME
        What you are called in the file; by default as the data file.
    root : DIGITS
        Your root as it was published: with other data, another key or run nothing is written.
    stream
        As in the run: read a Parquet or .npy file in blocks.
    """
    if out.exists():
        raise InvalidParameterError(f"--out: {out} exists already; give another name")
    name = owner or file.name.split(".")[0]
    commitments = open_rows(
        Stream(file) if stream else file,
        row,
        name=name,
        run=run,
        key=read_key(key),
        schema=Schema.read(schema),
        file_format=form.file_format,
    )
    made = commitments.roots[name]
    if root is not None and made != root.lower():
        raise InvalidParameterError(
            f"--root: data, --schema, --key and --run together have the root {made}, not the one "
            "given; give those of the run, with the data unchanged and in the same order"
        )
    commitments.save(out)
    console.echo(f"{name} {made}: {counted(len(set(row)), 'row', 'rows')} in {out}")
    if root is None:
        console.echo(
            "Compare this root with the one published, or give that as --root: if data, key or run "
            "are not those of the run, nobody knows it."
        )


@app.command()
@described
def verify(file: File, root: list[str] = [], rows: bool = False) -> None:  # noqa: B006 (read only)
    """Check openings against published roots; exit code 2 if one fails or there are none.

    Parameters
    ----------
    file : FILE
        Openings, from a run or from an owner.
    root : NAME=DIGITS
        An owner's root as it was published; once for each owner of the file.
    rows
        Print what the rows hold: number, values as the schema encodes them, label, other columns.
    """
    published: dict[str, str] = {}
    for part in root:
        name, equals, digits = part.rpartition("=")
        if not (name and equals) or name in published:
            raise InvalidParameterError(
                f"--root: give NAME=DIGITS, once for each owner of the file, got {part!r}"
            )
        published[name] = digits
    commitments = verify_openings(file, published if root else None)
    for name, (found, openings) in commitments.owners.items():
        what = f"{counted(len(openings), 'row is', 'rows are')} of that table"
        console.echo(f"{name} {found}: {what if openings else 'no row was opened or checked'}")
        for one in openings if rows else ():
            number, values, label, along = record_of(one.row)
            texts = [*map(repr, values.tolist()), *([] if label is None else [label]), *along]
            console.echo(f"  row {number}: {', '.join(texts)}")
    if not root:
        console.echo(
            "These roots are the file's own. Give --root with those that were published before: "
            "only they say when the owners had committed."
        )
