"""The commands ``dpsumm run`` and ``dpsumm demo``. Needs the extra ``cli``."""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path
from typing import Annotated, Any, Optional

import numpy as np
import typer

from dpsumm import __version__
from dpsumm.cli import console
from dpsumm.cli.arguments import (
    Name,
    choose_protocol,
    file_format_of,
    parse_columns,
    parse_owners,
)
from dpsumm.cli.audit import audit
from dpsumm.cli.deploy import deploy_app
from dpsumm.cli.ledger import ledger_app
from dpsumm.cli.plan import plan
from dpsumm.cli.schema import schema_app
from dpsumm.data.inputs import Source, read_owners
from dpsumm.data.large.stream import Stream
from dpsumm.data.schema import Schema
from dpsumm.errors import InvalidParameterError, MissingExtraError
from dpsumm.summary.demo import N_OWNERS, WANTED, compare, load_digits
from dpsumm.summary.kernel import RBF
from dpsumm.summary.protocols import Requests
from dpsumm.summary.result import check_weight_is_free
from dpsumm.summary.summarize import summarize

DATA, PRIVACY, METHOD, OUTPUT = "Data", "Privacy", "Method", "Output"

# Pretty tracebacks print local variables, and here these are people's data.
app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Private summaries of distributed data: real points of many owners that match a target.",
)
app.command()(audit)
app.command()(plan)
app.add_typer(ledger_app, name="ledger")
app.add_typer(schema_app, name="schema")
app.add_typer(deploy_app, name="deploy")


Size = Annotated[
    int, typer.Option(help="Points in the summary, at least 1.", rich_help_panel=METHOD)
]
Epsilon = Annotated[
    float,
    typer.Option(
        help="Budget for the target's records towards an owner, in nats, above 0; smaller is "
        "more private.",
        rich_help_panel=PRIVACY,
    ),
]
Delta = Annotated[
    float,
    typer.Option(
        help="Probability of failure of the guarantee, between 0 and 1; usual: well below "
        "1 / target records.",
        rich_help_panel=PRIVACY,
    ),
]
Seed = Annotated[
    Optional[int],  # noqa: UP045 (typer on Python 3.10 reads this form only)
    typer.Option(
        help="Repeatable run for tests: [bold]not private[/], epsilon is then infinite.",
        rich_help_panel=PRIVACY,
        min=0,
    ),
]


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dpsumm {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and leave.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Private summaries of distributed data: real points of many owners that match a target."""


@app.command()
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
    _need("matplotlib", "reports", "report")
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
    console.show_demo(
        rows,
        files,
        delta,
        f"The target, {len(data.target)} records, is mostly {digits}. These are "
        f"{np.isin(theirs, WANTED).mean():.0%} of the {len(theirs)} digits at {N_OWNERS} owners. "
        f"Summaries of {size} points:",
    )
    console.warn(summary)


@app.command()
def run(
    owner: Annotated[
        list[str],
        typer.Option(
            metavar="NAME=FILE",
            help="An owner's name and data (CSV or Parquet); once per owner.",
            rich_help_panel=DATA,
        ),
    ],
    target: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="The consumer's data, same columns, no label needed.",
            rich_help_panel=DATA,
        ),
    ],
    size: Size,
    epsilon: Epsilon = 1.0,
    delta: Delta = 1e-5,
    ledger: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            metavar="FILE",
            help="Books of the target's holder, kept across runs; refuses what exceeds its cap.",
            rich_help_panel=PRIVACY,
        ),
    ] = None,
    run_name: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--run",
            metavar="NAME",
            help="Name of this run in the ledger. The name of a run that died resumes it: what it "
            "released is sent again, unchanged and uncharged.",
            rich_help_panel=PRIVACY,
        ),
    ] = None,
    seed: Seed = None,
    schema: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            metavar="FILE",
            help="The public schema: bounds, categories, dates, missing values, label. Instead of "
            "--column, --label, --missing and --drop-missing. See [bold]dpsumm schema[/].",
            rich_help_panel=DATA,
        ),
    ] = None,
    column: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            metavar="NAME[=LOW:HIGH]",
            help="A column to use, with its public bounds in the column's units: values are "
            "clipped to them and scaled. Once per column; all but the label if none is given.",
            rich_help_panel=DATA,
        ),
    ] = None,
    label: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            metavar="COLUMN",
            help="Column of labels, which travel along and are not used.",
            rich_help_panel=DATA,
        ),
    ] = None,
    names: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            metavar="A,B,C",
            help="Column names, for CSV files without a header row.",
            rich_help_panel=DATA,
        ),
    ] = None,
    missing: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            metavar="TOKEN",
            help="A further field that means 'no value', besides ?, NA, nan, null and none at all.",
            rich_help_panel=DATA,
        ),
    ] = None,
    drop_missing: Annotated[
        bool,
        typer.Option(
            "--drop-missing",
            help="Leave out rows with missing values instead of refusing the file.",
            rich_help_panel=DATA,
        ),
    ] = False,
    separator: Annotated[
        str, typer.Option(help="Character between CSV fields.", rich_help_panel=DATA)
    ] = ",",
    stream: Annotated[
        bool,
        typer.Option(
            "--stream",
            help="Read the owners' Parquet (or .npy) files in one pass, never whole: for files "
            "larger than memory. With offers only.",
            rich_help_panel=DATA,
        ),
    ] = False,
    protocol: Annotated[
        Name,
        typer.Option(
            help="offers: one noisy broadcast. auction: the paper's rounds of bids. pool: random "
            "points of each owner, then selection. uniform: random points only. greedy: reads "
            "everything.",
            rich_help_panel=METHOD,
        ),
    ] = Name.OFFERS,
    gamma: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(
            help="Public bandwidth of the kernel exp(-gamma |x - y|²), above 0, after scaling. "
            "By default from the bounds if all columns have some, else bought from epsilon.",
            rich_help_panel=METHOD,
        ),
    ] = None,
    parsimony: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(
            help="Points accessed per summary point, at least 1: more accesses, a closer summary. "
            "Offers, Pool.",
            show_default="4",
            rich_help_panel=METHOD,
        ),
    ] = None,
    spread: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(
            help="Share of each owner's offers that are drawn at random among points that the "
            "target has room for, 0 to 1. Offers only.",
            show_default="1/3",
            rich_help_panel=METHOD,
        ),
    ] = None,
    weight: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(
            help="Mass of an offer in units of 1 / size, above 0, "
            "which decides how many an owner adds below its cap. Offers only.",
            show_default="1.5 owners / parsimony",
            rich_help_panel=METHOD,
        ),
    ] = None,
    features: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(
            help="Random features of the release, even, at least 2. Offers, Auction.",
            show_default="Offers 2048, Auction 140",
            rich_help_panel=METHOD,
        ),
    ] = None,
    requests: Annotated[
        Optional[Requests],  # noqa: UP045
        typer.Option(
            help="Auction: who is asked for points. all: every owner, which reveals nothing. "
            "private: by rank, with differential privacy. winner: not private. published: "
            "the paper's rule with all its parameters (give --gamma 0.1 for the paper's kernel).",
            show_default="all",
            rich_help_panel=METHOD,
        ),
    ] = None,
    batch: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(
            help="Auction: points added per round, at least 1.",
            show_default="size / 10",
            rich_help_panel=METHOD,
        ),
    ] = None,
    epsilon_owners: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(
            help="Auction: budget of an owner's records towards another owner, nats, above 0.",
            show_default="1",
            rich_help_panel=PRIVACY,
        ),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="The summary, .parquet or .csv by suffix.",
            rich_help_panel=OUTPUT,
        ),
    ] = Path("summary.parquet"),
    weights: Annotated[
        bool,
        typer.Option(
            "--weights",
            help="Add a column 'weight' of mean 1, a sample_weight for training that brings the "
            "summary closer to the target.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    report: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            metavar="FILE",
            help="An HTML report: what came out and what it cost.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
) -> None:
    """Select points of owners that match a target."""
    owners = parse_owners(owner)
    columns, bounds = parse_columns(column or [])
    file_format = file_format_of(names, separator, missing or [], drop_missing)
    # Before the budget is spent, not after.
    _check_outputs(out, report)
    inputs = [*owners.values(), target, *([] if schema is None else [schema])]
    _check_distinct(inputs, [ledger, out, report])
    sources: dict[str, Source] = {
        name: Stream(path) if stream else path for name, path in owners.items()
    }
    choice: dict[str, Any] = {
        "columns": columns or None,
        "bounds": bounds or None,
        "label": label,
        "schema": None if schema is None else Schema.read(schema),
        "file_format": file_format,
    }
    if weights:
        # Before the budget is spent. All owners have the same columns.
        name, source = next(iter(sources.items()))
        check_weight_is_free(read_owners({name: source}, **choice)[0].schema)
    with console.progress() as progress:
        summary = summarize(
            sources,
            target,
            size=size,
            epsilon=epsilon,
            delta=delta,
            protocol=choose_protocol(
                protocol,
                size,
                parsimony=parsimony,
                spread=spread,
                weight=weight,
                features=features,
                requests=requests,
                batch=batch,
                epsilon_owners=epsilon_owners,
            ),
            kernel=None if gamma is None else RBF(gamma),
            **choice,
            ledger=ledger,
            run=run_name,
            seed=seed,
            progress=progress,
        )
    summary.save(out, weights=weights)
    if report is not None:
        summary.report(report)
    console.show_run(summary, [out] if report is None else [out, report])
    console.warn(summary)


def _check_outputs(out: Path, report: Path | None) -> None:
    if out.suffix not in (".parquet", ".csv"):
        raise InvalidParameterError(f"--out must end in .parquet or .csv, got {out.name!r}")
    if report is not None:
        _need("matplotlib", "--report", "report")
    for option, path in (("--out", out), ("--report", report)):
        if path is not None and (path.is_dir() or not path.parent.is_dir()):
            raise InvalidParameterError(
                f"{option}: {path} is a directory, or its directory does not exist; "
                f"give a file in an existing directory"
            )
        if path is not None:
            _try_to_write(path.parent, option)


def _try_to_write(directory: Path, option: str) -> None:
    try:
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        raise InvalidParameterError(
            f"{option}: cannot write in {directory} ({error.strerror}); give a file in another "
            "directory"
        ) from None


def _check_distinct(inputs: list[Path], outputs: list[Path | None]) -> None:
    """Refuse to write over an input, or two outputs to one file."""
    taken = {path.resolve() for path in inputs}
    for path in outputs:
        if path is not None:
            if path.resolve() in taken:
                raise InvalidParameterError(
                    f"{path} would be written over: it is named more than once among owners, "
                    "target, --schema, --ledger, --out and --report; give each its own file"
                )
            taken.add(path.resolve())


def _need(module: str, what: str, extra: str) -> None:
    if importlib.util.find_spec(module) is None:
        raise MissingExtraError(f"{what} need {module}: pip install 'dpsumm[{extra}]'")
