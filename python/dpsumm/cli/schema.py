"""The commands ``dpsumm schema init`` and ``dpsumm schema check``. Needs the extra ``cli``."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel

from dpsumm.basics.atomic import write_text
from dpsumm.cli import console
from dpsumm.cli.options import described
from dpsumm.cli.typed import typed
from dpsumm.data.column import Column
from dpsumm.data.file import FileFormat
from dpsumm.data.kinds.kind import Kind
from dpsumm.data.kinds.label import places_of
from dpsumm.data.schema import Schema
from dpsumm.data.schema_toml import to_toml
from dpsumm.data.table import WAY_OUT, encoded
from dpsumm.data.words import Format
from dpsumm.errors import InvalidDataError, InvalidParameterError
from dpsumm.summary.guards import check_target

if TYPE_CHECKING:
    from dpsumm.data.check import Found
    from dpsumm.data.extract import Extract

app = typer.Typer(no_args_is_help=True)
File = Annotated[Path, typer.Argument()]
# What becomes of a column that a draft does not compare.
TRAVELS = (
    "is not compared, but travels with each point to the curator and the consumer (delete its "
    "lines from the draft if it must not)"
)
UNREAD = "is not in the draft, and no run reads it"


@app.command()
@described
def init(
    file: Annotated[list[Path], typer.Argument()],
    out: Path = Path("schema.toml"),
    label: str | None = None,
    ignore: list[str] | None = None,
    *,
    form: Format,
) -> None:
    """Write a draft from a public sample. Bounds read from private data leak them.

    Parameters
    ----------
    file : FILE...
        Public samples, as CSV, Parquet, Excel or SQL. Their rows are taken together.
    out : FILE
        File for the draft.
    label : COLUMN
        Column of labels. If it has at most 20 values, they become its categories, and a run refuses
        other values.
    ignore : COLUMN
        A column that is carried along, such as identifiers. Repeat it for each column.
    """
    from dpsumm.data.check import HEADER, WARNING, draft
    from dpsumm.data.sniff import sniffed

    if out.suffix != ".toml" or out.exists():
        raise InvalidParameterError(
            f"--out must end in .toml and not exist yet, got {out}. Give another name"
        )
    ignored = ignore or []
    samples = [form.of(one) for one in file]
    samples = [replace(one, format=sniffed(Path(one.path), one.format)) for one in samples]
    schema, reasons = draft(*samples, label=label, ignore=ignored)
    if label is not None and schema.label is None:
        raise InvalidParameterError(f"--label: the sample has no column {label!r}")
    if unknown := set(ignored) - {column.name for column in schema.columns}:
        raise InvalidParameterError(f"--ignore: the sample has no column {min(unknown)!r}")
    write_text(out, to_toml(schema.columns, HEADER))
    warning = escape(WARNING.strip().replace("\n", " "))
    Console(stderr=True).print(Panel(warning, title="A draft", border_style="bold red"))
    kinds = Counter(Kind(column.kind).value for column in schema.columns)
    counts = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    console.say(f"wrote {console.shown(out)}: {counts}", soft_wrap=True)
    for one in samples:
        if spelt := _spelt(form.of(Path(one.path)).format, one.format):
            named = f"{one.path}: " * (len(samples) > 1)
            said = f"{named}read with {spelt} (seen in its lines). Files like it need the same."
            console.say(console.shown(said), style="dim", soft_wrap=True)
    drafted = {column.name for column in schema.columns}
    for name, reason in reasons.items():
        option = f"--ignore {shlex.quote(name)}"
        said = TRAVELS if name in drafted else f"{UNREAD} ({option} would have it travel along)"
        console.say(console.shown(typed(f"{name} {said}: {reason}")), style="dim", soft_wrap=True)
    for column in schema.columns:
        for mark in column.missing[len(Column.missing) :]:
            text = (
                f"{column.name}: {mark} is drafted as a missing value, as it is far from the others"
            )
            text += " (delete it from the draft if it is a value)"
            console.say(console.shown(text), style="dim", soft_wrap=True)


def _spelt(said: FileFormat, found: FileFormat) -> str:
    """Return the options that say what was found beyond what was said."""
    names = ("separator", "decimal", "encoding")
    new = [name for name in names if getattr(found, name) != getattr(said, name)]
    words = " ".join(f"--format {shlex.quote(f'{name}={getattr(found, name)}')}" for name in new)
    return words.replace("\t", "\\t")


@app.command("check")
@described
def check_command(
    file: File,
    schema: Path = Path("schema.toml"),
    target: bool = False,
    classes: str | None = None,
    *,
    form: Format,
) -> None:
    """Check your data against a schema. Exit code 1 if a run would refuse or omit records.

    Parameters
    ----------
    file : FILE
        Your own data, as CSV, Parquet, Excel or SQL. They stay on this machine.
    schema : FILE
        The schema of the run.
    target
        The data are the target's, without a label.
    classes : A,B,...
        Classes of a run of learn, which leaves out rows with other labels. These are counted.
    """
    from dpsumm.data.check import check, strangers

    public = Schema.read(schema)
    if classes is not None and (target or public.label is None):
        raise InvalidParameterError(
            "--classes: there are no labels to compare. Leave out --target, and give a --schema "
            "with a label"
        )
    wanted = public.for_target() if target else public
    try:
        checked = check(form.of(file), wanted)
    except InvalidDataError:
        if others := strangers(form.of(file), public):
            names = ", ".join(map(repr, others))
            console.say(
                f"The file also has {console.shown(names)}, which the schema does not name. "
                "For you, not for other parties.",
                soft_wrap=True,
            )
        raise
    found = checked.columns
    usable, refusal, left_out = checked.usable, checked.refusal, None
    if usable is not None and target:
        refusal = _refusal_of(usable)
    elif usable is not None and classes is not None:
        left_out = _left_out(usable, classes)
    accepted = checked.accepted and not refusal
    console.say(f"schema {public.fingerprint}: the same at every party of a run")
    console.say(f"{checked.rows:,} rows. These counts are private: for you, not for other parties.")
    numbers = ("missing", "clipped", "unknown", "unreadable")
    console.show_table(
        ("column", "kind", *numbers, "a run would"),
        [
            (
                one.column.name,
                Kind(one.column.kind).value,
                *(f"{count:,}" if (count := getattr(one, name)) else "" for name in numbers),
                _verdict(one, all_clipped=one.clipped == checked.rows, target=target),
            )
            for one in found
        ],
        right=numbers,
        styles={i: "red" for i, one in enumerate(found) if one.refused},
    )
    if refusal:
        console.say(f"A run would refuse the file: {console.shown(typed(refusal))}.", style="red")
    if left_out is not None:
        count, of = left_out
        said = f"{count:,} of {of:,} rows have a label in none of the classes"
        said += ": learn leaves them out." if count else "."
        if count == of:
            said += " The party counts for nothing in it, and a run tells nobody. "
            said += "Spell the labels as the classes are, or list them in --classes."
        console.say(said, style="red" if count == of else "dim")
    for text in _advice(found):
        console.say(console.shown(typed(text)), style="dim")
    for hint in checked.hints:
        console.say(console.shown(typed(f"Look at {hint}")), style="yellow")
    if not accepted or (left_out is not None and left_out[0] == left_out[1]):
        raise typer.Exit(1)


def _left_out(usable: Extract, classes: str) -> tuple[int, int]:
    """Return how many rows have a label in none of the classes, and how many there are."""
    from dpsumm.ensemble.terms import classes_of

    assert usable.labels is not None
    places = places_of(usable.labels, classes_of(classes))
    return int((places < 0).sum()), len(places)


def _refusal_of(target: Extract) -> str:
    """Return why a run would refuse these records as a target's. Empty if it would not."""
    try:
        check_target(encoded(target))
    except InvalidDataError as error:
        return str(error)
    return ""


def _verdict(one: Found, *, all_clipped: bool, target: bool) -> str:
    if all_clipped and not one.refused:
        return "refuse: all clipped" if target else "accept, clipped all"
    return one.would


def _advice(found: Sequence[Found]) -> list[str]:
    """Return the way out of everything that is refused, and what counts may mean otherwise."""
    reasons = dict.fromkeys(reason for one in found for reason in one.refused)
    lines = [f"{reason}: {WAY_OUT[reason]}." for reason in reasons]
    if any(one.clipped for one in found):
        lines.append(
            "clipped: many? Then look first whether the bounds are right, and in the file's units "
            "(years, not months). Few? Then it may be a mark of 'no value', such as -9: name it in "
            "the column's missing."
        )
    if any(one.unknown for one in found):
        lines.append(
            "unknown: is it another spelling of a category? Then write it as the schema does. A "
            "mark of 'no value'? Then name it in the column's missing."
        )
    return lines
