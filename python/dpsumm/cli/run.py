"""The command ``dpsumm run``. Needs the extra ``cli``."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from dpsumm.checks import check_installed
from dpsumm.cli import console
from dpsumm.cli.arguments import file_format_of, parse_columns, parse_owners
from dpsumm.cli.options import (
    DATA,
    METHOD,
    NAMES,
    OUTPUT,
    PRIVACY,
    SEPARATOR,
    Delta,
    Epsilon,
    Seed,
    Size,
    grouped,
)
from dpsumm.data.inputs import Source, read_owners
from dpsumm.data.large.stream import Stream
from dpsumm.data.schema import Schema
from dpsumm.errors import InvalidParameterError
from dpsumm.summary.kernel import RBF
from dpsumm.summary.protocols import Protocol, Requests
from dpsumm.summary.protocols.choose import Name, choose_protocol
from dpsumm.summary.result import check_weight_is_free
from dpsumm.summary.summarize import summarize


@dataclass(frozen=True)
class Inputs:
    """What is read, and how."""

    owner: Annotated[
        list[str],
        typer.Option(
            metavar="NAME=FILE",
            help="An owner's name and data (CSV or Parquet); once per owner.",
            rich_help_panel=DATA,
        ),
    ]
    target: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="The consumer's data, same columns, no label needed.",
            rich_help_panel=DATA,
        ),
    ]
    schema: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The public schema: bounds, categories, dates, missing values, label. Instead of "
            "--column, --label, --missing and --drop-missing. See [bold]dpsumm schema[/].",
            rich_help_panel=DATA,
        ),
    ] = None
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[=LOW:HIGH]",
            help="A column to use, with its public bounds in the column's units: values are "
            "clipped to them and scaled. Once per column; all but the label if none is given.",
            rich_help_panel=DATA,
        ),
    ] = None
    label: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of labels, which travel along and are not used.",
            rich_help_panel=DATA,
        ),
    ] = None
    names: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,C",
            help=NAMES,
            rich_help_panel=DATA,
        ),
    ] = None
    missing: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TOKEN",
            help="A further field that means 'no value', besides empty ones, ?, NA, nan, null.",
            rich_help_panel=DATA,
        ),
    ] = None
    drop_missing: Annotated[
        bool,
        typer.Option(
            "--drop-missing",
            help="Leave out rows with missing values instead of refusing the file.",
            rich_help_panel=DATA,
        ),
    ] = False
    separator: Annotated[str, typer.Option(help=SEPARATOR, rich_help_panel=DATA)] = ","
    stream: Annotated[
        bool,
        typer.Option(
            "--stream",
            help="Read the owners' Parquet (or .npy) files in one pass, never whole: for files "
            "larger than memory. With offers only.",
            rich_help_panel=DATA,
        ),
    ] = False

    @property
    def sources(self) -> dict[str, Source]:
        """The owners' data by name."""
        files = parse_owners(self.owner)
        return {name: Stream(path) if self.stream else path for name, path in files.items()}

    @property
    def files(self) -> list[Path]:
        """All that is read."""
        schema = [] if self.schema is None else [self.schema]
        return [*parse_owners(self.owner).values(), self.target, *schema]

    def meaning(self) -> dict[str, Any]:
        """Return what says how columns are to be taken, as `summarize` wants it."""
        columns, bounds = parse_columns(self.column or [])
        return {
            "columns": columns or None,
            "bounds": bounds or None,
            "label": self.label,
            "schema": None if self.schema is None else Schema.read(self.schema),
            "file_format": file_format_of(
                self.names, self.separator, self.missing or [], self.drop_missing
            ),
        }


@dataclass(frozen=True)
class Privacy:
    """What may be spent, and where that is written down."""

    epsilon: Epsilon = 1.0
    delta: Delta = 1e-5
    ledger: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Books of the target's holder, kept across runs; refuses what exceeds its cap.",
            rich_help_panel=PRIVACY,
        ),
    ] = None
    run_name: Annotated[
        str | None,
        typer.Option(
            "--run",
            metavar="NAME",
            help="Name of this run in the ledger. The name of a run that died resumes it: what it "
            "released is sent again, unchanged and uncharged.",
            rich_help_panel=PRIVACY,
        ),
    ] = None
    seed: Seed = None


@dataclass(frozen=True)
class Method:
    """How points are chosen."""

    protocol: Annotated[
        Name,
        typer.Option(
            help="offers: one noisy broadcast. auction: the paper's rounds of bids. pool: random "
            "points of each owner, then selection. uniform: random points only. greedy: reads "
            "everything.",
            rich_help_panel=METHOD,
        ),
    ] = Name.OFFERS
    gamma: Annotated[
        float | None,
        typer.Option(
            help="Public bandwidth of the kernel exp(-gamma |x - y|²), above 0, after scaling. "
            "By default from the bounds if all columns have some, else bought from epsilon.",
            rich_help_panel=METHOD,
        ),
    ] = None
    parsimony: Annotated[
        float | None,
        typer.Option(
            help="Points accessed per summary point, at least 1: more accesses, a closer summary. "
            "Offers, Pool.",
            show_default="4",
            rich_help_panel=METHOD,
        ),
    ] = None
    spread: Annotated[
        float | None,
        typer.Option(
            help="Share of each owner's offers that are drawn at random among points that the "
            "target has room for, 0 to 1. Offers only.",
            show_default="1/3",
            rich_help_panel=METHOD,
        ),
    ] = None
    weight: Annotated[
        float | None,
        typer.Option(
            help="Mass of an offer in units of 1 / size, above 0, "
            "which decides how many an owner adds below its cap. Offers only.",
            show_default="1.5 owners / parsimony",
            rich_help_panel=METHOD,
        ),
    ] = None
    features: Annotated[
        int | None,
        typer.Option(
            help="Random features of the release, even, at least 2. Offers, Auction.",
            show_default="Offers 2048, Auction 140",
            rich_help_panel=METHOD,
        ),
    ] = None
    requests: Annotated[
        Requests | None,
        typer.Option(
            help="Auction: who is asked for points. all: every owner, which reveals nothing. "
            "private: by rank, with differential privacy. winner: not private. published: "
            "the paper's rule with all its parameters (give --gamma 0.1 for the paper's kernel).",
            show_default="all",
            rich_help_panel=METHOD,
        ),
    ] = None
    batch: Annotated[
        int | None,
        typer.Option(
            help="Auction: points added per round, at least 1.",
            show_default="size / 10",
            rich_help_panel=METHOD,
        ),
    ] = None
    epsilon_owners: Annotated[
        float | None,
        typer.Option(
            help="Auction: budget of an owner's records towards another owner, nats, above 0.",
            show_default="1",
            rich_help_panel=PRIVACY,
        ),
    ] = None

    def chosen(self, size: int) -> Protocol:
        """Return the protocol; refuse options that it would ignore."""
        return choose_protocol(
            self.protocol,
            size,
            parsimony=self.parsimony,
            spread=self.spread,
            weight=self.weight,
            features=self.features,
            requests=self.requests,
            batch=self.batch,
            epsilon_owners=self.epsilon_owners,
        )


@dataclass(frozen=True)
class Outputs:
    """What is written."""

    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="The summary, .parquet or .csv by suffix.",
            rich_help_panel=OUTPUT,
        ),
    ] = Path("summary.parquet")
    weights: Annotated[
        bool,
        typer.Option(
            "--weights",
            help="Add a column 'weight' of mean 1, a sample_weight for training that brings the "
            "summary closer to the target.",
            rich_help_panel=OUTPUT,
        ),
    ] = False
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="An HTML report: what came out and what it cost.",
            rich_help_panel=OUTPUT,
        ),
    ] = None

    @property
    def files(self) -> list[Path]:
        """All that is written."""
        return [self.out] if self.report is None else [self.out, self.report]

    def check(self) -> None:
        """Refuse, before the budget is spent, what could not be written after."""
        if self.out.suffix not in (".parquet", ".csv"):
            raise InvalidParameterError(
                f"--out must end in .parquet or .csv, got {self.out.name!r}"
            )
        if self.report is not None:
            check_installed("matplotlib", "--report needs", "report")
        for option, path in zip(("--out", "--report"), self.files, strict=False):
            if path.is_dir() or not path.parent.is_dir():
                raise InvalidParameterError(
                    f"{option}: {path} is a directory, or its directory does not exist; "
                    f"give a file in an existing directory"
                )
            _try_to_write(path.parent, option)


@grouped
def run(inputs: Inputs, size: Size, privacy: Privacy, method: Method, outputs: Outputs) -> None:
    """Select points of owners that match a target."""
    outputs.check()
    books = [] if privacy.ledger is None else [privacy.ledger]
    _check_distinct(inputs.files, [*books, *outputs.files])
    sources = inputs.sources
    meaning = inputs.meaning()
    if outputs.weights:
        # Before the budget is spent. All owners have the same columns.
        name, source = next(iter(sources.items()))
        check_weight_is_free(read_owners({name: source}, **meaning)[0].schema)
    with console.progress() as progress:
        summary = summarize(
            sources,
            inputs.target,
            size=size,
            epsilon=privacy.epsilon,
            delta=privacy.delta,
            protocol=method.chosen(size),
            kernel=None if method.gamma is None else RBF(method.gamma),
            **meaning,
            ledger=privacy.ledger,
            run=privacy.run_name,
            seed=privacy.seed,
            progress=progress,
        )
    summary.save(outputs.out, weights=outputs.weights)
    if outputs.report is not None:
        summary.report(outputs.report)
    console.show_run(summary, outputs.files)
    console.warn(summary)


def _try_to_write(directory: Path, option: str) -> None:
    try:
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        raise InvalidParameterError(
            f"{option}: cannot write in {directory} ({error.strerror}); give a file in another "
            "directory"
        ) from None


def _check_distinct(inputs: list[Path], outputs: list[Path]) -> None:
    """Refuse to write over an input, or two outputs to one file."""
    taken = {path.resolve() for path in inputs}
    for path in outputs:
        if path.resolve() in taken:
            raise InvalidParameterError(
                f"{path} would be written over: it is named more than once among owners, "
                "target, --schema, --ledger, --out and --report; give each its own file"
            )
        taken.add(path.resolve())
