"""The command ``dpsumm run``. Needs the extra ``cli``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from dpsumm.cli import console
from dpsumm.cli.arguments import file_format_of, formatted, parse_columns, parse_owners
from dpsumm.cli.config import use_config
from dpsumm.cli.options import Spending, described
from dpsumm.cli.output import check_distinct, check_outputs, rows_in
from dpsumm.cli.reading import Reading
from dpsumm.cli.spent import Kept
from dpsumm.data.files import FileFormat
from dpsumm.data.inputs import Source, read_owners
from dpsumm.data.large.stream import Stream
from dpsumm.data.schema import Schema
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy.events import Protected
from dpsumm.report.notes import Note, Severity
from dpsumm.report.numbers import round_up
from dpsumm.summary.frame import check_weight_is_free
from dpsumm.summary.kernel import RBF
from dpsumm.summary.protocols import Protocol, Requests
from dpsumm.summary.protocols.choose import Name, choose_protocol
from dpsumm.summary.summarize import summarize


@dataclass(frozen=True)
class Data(Reading):
    """What is read, and how.

    Parameters
    ----------
    config : FILE
        A TOML file with any of these options, such as [bold]size = 200[/]; what is typed comes
        first. Paths in it are relative to it.
    owner : NAME=FILE or PATTERN
        An owner's name and data (CSV, Parquet or Excel, by suffix), once per owner; or a folder, or
        a pattern such as 'sites/*.csv', each of whose files is an owner of the file's name.
    target : FILE
        The consumer's data, same columns, no label needed.
    schema : FILE
        The public schema: bounds, categories, dates, missing values, label. Instead of --column,
        --label, --missing and --drop-missing. See [bold]dpsumm schema[/].
    column : NAME[=LOW:HIGH]
        A column to use, with its public bounds in the column's units: values are clipped to them
        and scaled. Once per column; all but the label if none is given.
    label : COLUMN
        Column of labels, which travel along and are not used.
    missing : TOKEN
        A further field that means 'no value', besides empty ones, ?, NA, nan, null.
    drop_missing
        Leave out rows with missing values instead of refusing the file.
    format : NAME:KEY=VALUE
        How one file is read, where it differs from the others: NAME is an owner's or 'target', KEY
        one of kind (csv, parquet or excel, if the suffix does not say), separator, encoding,
        decimal, names. Once per key.
    stream
        Read the owners' Parquet (or .npy) files in blocks, never whole: for files larger than
        memory. With offers only.
    """

    owner: list[str]
    target: Path
    config: Annotated[Path | None, typer.Option(callback=use_config, is_eager=True)] = None
    schema: Path | None = None
    column: list[str] | None = None
    label: str | None = None
    missing: list[str] | None = None
    drop_missing: bool = False
    format: list[str] | None = None
    stream: bool = False

    def sources(self) -> tuple[dict[str, Source], Source]:
        """Return the owners' data by name, and the target."""
        given, form = self.format or [], self.file_format
        owners, others = formatted(self.named, {"target": self.target}, given, form)
        sources = {
            name: Stream(file) if self.stream and isinstance(file, Path) else file
            for name, file in owners.items()
        }
        return sources, others["target"]

    @property
    def named(self) -> dict[str, Path]:
        """The owners' files by name."""
        return parse_owners(self.owner)

    @property
    def files(self) -> list[Path]:
        """All that is read."""
        schema = [] if self.schema is None else [self.schema]
        config = [] if self.config is None else [self.config]
        return [*self.named.values(), self.target, *schema, *config]

    @property
    def file_format(self) -> FileFormat:
        """How files are read that have no format of their own."""
        return file_format_of(
            self.names,
            self.separator,
            self.missing or [],
            self.drop_missing,
            self.encoding,
            self.decimal,
        )

    def meaning(self) -> dict[str, Any]:
        """Return what says how columns are to be taken, as `summarize` wants it."""
        columns, bounds = parse_columns(self.column or [])
        return {
            "columns": columns or None,
            "bounds": bounds or None,
            "label": self.label,
            "schema": None if self.schema is None else Schema.read(self.schema),
            "file_format": self.file_format,
        }


@dataclass(frozen=True)
class Method:
    """How points are chosen.

    Parameters
    ----------
    size
        Points in the summary, at least 1.
    protocol
        offers: one noisy broadcast. auction: the paper's rounds of bids. pool: random points of
        each owner, then selection. uniform: random points only. greedy: reads everything.
    gamma
        Public bandwidth of the kernel exp(-gamma |x - y|²), above 0, after scaling. By default from
        the bounds if all columns have some, else bought from epsilon.
    parsimony
        Points accessed per summary point, at least 1: more accesses, a closer summary. Offers,
        Pool.
    spread
        Share of each owner's offers that are drawn at random, the likelier the more they are like
        the target, 0 to 1; the others are picked. Offers only.
    features
        What the target is released in: landmarks of the schema (less noise), random features, or
        auto: landmarks where the schema allows them and they are worth it. Offers only.
    n_features
        How many features; random ones are even in number. Offers, Auction.
    sample : FILE
        A public sample to take as landmarks: a .npy array with a row for each, in the columns'
        order and scaled as the schema says (the values themselves without bounds). Every owner
        receives it, so it must hold nobody's private record. Offers only.
    requests
        Auction: who is asked for points. all: every owner, which reveals nothing. private: by rank,
        with differential privacy. winner: not private. published: the paper's rule with all its
        parameters (give --gamma 0.1 for the paper's kernel).
    batch
        Auction: points added per round, at least 1.
    drop_target_copies
        Leave out points that equal a record of the target in every column. Costs nothing.
    """

    size: int
    protocol: Name = Name.OFFERS
    gamma: float | None = None
    parsimony: Annotated[float | None, typer.Option(show_default="4")] = None
    spread: Annotated[float | None, typer.Option(show_default="1/2")] = None
    features: Annotated[str | None, typer.Option(show_default="auto")] = None
    n_features: Annotated[
        int | None, typer.Option(show_default="Offers 1024 landmarks or 2048 random, Auction 140")
    ] = None
    sample: Path | None = None
    requests: Annotated[Requests | None, typer.Option(show_default="all")] = None
    batch: Annotated[int | None, typer.Option(show_default="size / 10")] = None
    drop_target_copies: bool = False

    def chosen(self, epsilon_owners: float | None) -> Protocol:
        """Return the protocol; refuse options that it would ignore."""
        return choose_protocol(
            self.protocol,
            self.size,
            parsimony=self.parsimony,
            spread=self.spread,
            features=self.features,
            n_features=self.n_features,
            sample=None if self.sample is None else _public_sample(self.sample),
            requests=self.requests,
            batch=self.batch,
            epsilon_owners=epsilon_owners,
        )


def _public_sample(path: Path) -> NDArray[Any]:
    try:
        return np.asarray(np.load(path, allow_pickle=False))
    except (OSError, ValueError) as error:
        raise InvalidParameterError(f"--sample: cannot read {path} as .npy: {error}") from None


@dataclass(frozen=True)
class Privacy(Spending):
    """What may be spent, and where that is written down.

    Parameters
    ----------
    epsilon
        Budget for the target's records towards an owner, in nats, above 0; smaller is more private.
    ledger : FILE
        Books of the target's holder, kept across runs; refuses what exceeds its cap.
    epsilon_owners
        Auction: budget of an owner's records towards another owner, nats, above 0.
    """

    ledger: Path | None = None
    epsilon_owners: Annotated[float | None, typer.Option(show_default="1")] = None


@dataclass(frozen=True)
class Output:
    """What is written.

    Parameters
    ----------
    out : FILE
        The summary, .parquet or .csv by suffix; what it is and cost stands in the Parquet file's
        metadata, or beside a CSV file in FILE.json.
    weights
        Add a column 'weight' of mean 1 that brings averages over the summary closer to the
        target's.
    report : FILE
        An HTML report: what came out and what it cost.
    openings : FILE.json
        Let every owner commit to its data before anything is released, and write the commitments,
        with the openings of all points read, here. See [bold]dpsumm commitment[/].
        A run that has released cannot be resumed with it.
    """

    out: Path = Path("summary.parquet")
    weights: bool = False
    report: Path | None = None
    openings: Path | None = None

    @property
    def files(self) -> dict[str, Path]:
        """All that is written, by option."""
        more = {"--report": self.report, "--openings": self.openings}
        return rows_in(self.out) | {name: path for name, path in more.items() if path}


@described
def run(data: Data, method: Method, privacy: Privacy, output: Output) -> None:
    """Select points of owners that match a target."""
    check_outputs(output.files)
    books = [] if privacy.ledger is None else [privacy.ledger]
    kept = Kept(Protected.TARGET, {str(path): path for path in books}, privacy.run)
    check_distinct(data.files, [*books, *output.files.values()])
    sources, target = data.sources()
    meaning = data.meaning()
    if output.weights:
        # Before the budget is spent. All owners have the same columns.
        name, source = next(iter(sources.items()))
        check_weight_is_free(read_owners({name: source}, **meaning)[0].schema)
    with kept.told_when_stopped():
        with console.progress() as progress:
            summary = summarize(
                sources,
                target,
                size=method.size,
                epsilon=1.0 if privacy.epsilon is None else privacy.epsilon,
                delta=privacy.delta,
                protocol=method.chosen(privacy.epsilon_owners),
                kernel=None if method.gamma is None else RBF(method.gamma),
                **meaning,
                ledger=privacy.ledger,
                run=kept.run,
                seed=privacy.seed,
                accept=privacy.accept,
                drop_target_copies=method.drop_target_copies,
                commitments=output.openings is not None,
                progress=progress,
            )
        kept.write_all(
            f"Epsilon {round_up(summary.privacy.epsilon())} of the target is spent",
            (output.out, partial(summary.save, weights=output.weights)),
            (output.report, summary.report),
            *([(output.openings, made.save)] if (made := summary.commitments) else []),
        )
    console.show_run(summary)
    console.show_files(output.files.values())
    console.warn(summary.warnings, seeded=summary.privacy.seeded)
    if privacy.epsilon is not None and summary.privacy.epsilon() == 0:
        text = (
            f"--epsilon {privacy.epsilon:g} was not needed: {summary.protocol} sends owners "
            "nothing about the target, and nothing was spent."
        )
        console.tell(Note(text, Severity.INFO))
    console.tell_uncounted(kept.uncounted(), summary.privacy.epsilon())
