"""What a run of `synthesize` has as options, in words: on the command line and in a file of them.

What is said of each is its help on the command line. The text after a type is the default that is
shown, where None stands for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dpsumm.basics.checks import check_whole
from dpsumm.data.words import Spelling, formatted, parse_files
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy.spending import Spending
from dpsumm.vertical.defaults import COMPONENTS, KEEP

if TYPE_CHECKING:
    from dpsumm.vertical.products import Dealer, Mpyc
    from dpsumm.vertical.tables import Tables


class SecretProduct(str, Enum):
    """Words of ``--secret-product``."""

    DEALER = "dealer"
    MPYC = "mpyc"


@dataclass(frozen=True)
class Data(Spelling):
    """What is read, and how.

    Parameters
    ----------
    schema : NAME=FILE
        An owner's public schema: bounds, categories, dates, missing values; once per owner, two or
        more. See [bold]dpsumm schema[/].
    owner : NAME=FILE
        That owner's data (CSV or Parquet): its columns of the records that all hold; once per
        owner.
    ids : COLUMN
        A column of identifiers that all owners have, of kind 'ignore' in the schemas. Records are
        put in its order, and owners whose identifiers differ are refused; without it, equal order
        is trusted.
    format : NAME:KEY=VALUE
        How one file is read, where it differs from the others: NAME is an owner's, KEY one
        of kind (csv, parquet or excel, if the suffix does not say), separator, encoding, decimal,
        names. Once per key.
    """

    schema: list[str]
    owner: list[str]
    ids: str | None = None
    format: list[str] | None = None

    @property
    def owners(self) -> dict[str, Path]:
        """The owners' data by name."""
        return parse_files("--owner", self.owner)

    @property
    def schemas(self) -> dict[str, Path]:
        """The owners' schemas by name."""
        return schemas_of(self.schema)


def schemas_of(given: Sequence[str]) -> dict[str, Path]:
    """Return owners' schemas by name from ``NAME=FILE`` items."""
    return parse_files("--schema", given)


@dataclass(frozen=True)
class Method:
    """How rows are made; public, never chosen by looking at the data.

    Parameters
    ----------
    label : COLUMN
        What is to be predicted: its pairs get more of the budget.
    bins : N or COLUMN=N or COLUMN=EDGE,EDGE,...
        Bins of all columns of numbers and dates, or of one: how many of equal width, or their
        edges. By default they follow from noisy counts.
    pairs : COLUMN,COLUMN
        A pair of columns that the rows are for. All such pairs get half of the budget of the pairs
        without the label. It pays from about 20 columns on.
    keep
        Levels with fewer noisy records than so many standard deviations of the noise are counted
        together, from 0 to 10.
    components
        Products in the mixture, from which half of the rows are drawn.
    secret_product
        How tables of two owners' columns are made. dealer: by pads that the helper deals. mpyc: by
        three processes of MPyC (extra mpyc), slow.
    """

    label: str | None = None
    bins: Annotated[list[str] | None, "by noisy counts"] = None
    pairs: list[str] | None = None
    keep: float = KEEP
    components: int = COMPONENTS
    secret_product: SecretProduct = SecretProduct.DEALER

    @property
    def protocol(self) -> Tables:
        """The protocol."""
        from dpsumm.vertical.levels import bins_of
        from dpsumm.vertical.tables import Tables, pairs_of

        given = {} if not self.bins else {"bins": bins_of(self.bins)}
        return Tables(
            pairs=pairs_of(self.pairs or []),
            keep=self.keep,
            components=self.components,
            **given,  # type: ignore[arg-type]
        )

    @property
    def engine(self) -> Dealer | Mpyc:
        """The engine of the secret product."""
        from dpsumm.vertical.products import Dealer, Mpyc

        return Mpyc() if self.secret_product is SecretProduct.MPYC else Dealer()


@dataclass(frozen=True)
class Privacy(Spending):
    """What may be spent, and where that is written down.

    Parameters
    ----------
    epsilon
        What the observer who learns most may learn of one record, in nats, above 0; smaller is more
        private.
    ledger : NAME=FILE
        That owner's own books, kept across runs; refuses what exceeds its cap.
    """

    epsilon: float = 1.0
    ledger: list[str] | None = None

    @property
    def books(self) -> dict[str, Path]:
        """The ledgers by owner."""
        return parse_files("--ledger", self.ledger or [])


@dataclass(frozen=True)
class Output:
    """What is written.

    Parameters
    ----------
    out : FILE
        The rows, .parquet or .csv by suffix; that they are synthetic is in the Parquet file's
        metadata, or beside a CSV file in FILE.json.
    rows
        How many; as many as there are records by default.
    report : FILE
        An HTML report: what the rows are worth and what they cost, from released numbers alone.
    """

    out: Path = Path("synthetic.parquet")
    rows: Annotated[int | None, "records"] = None
    report: Path | None = None

    @property
    def files(self) -> dict[str, Path]:
        """All that is written but the rows themselves, by option."""
        return {} if self.report is None else {"--report": self.report}


GROUPS = (Data, Method, Privacy, Output)


def as_arguments(data: Data, method: Method, privacy: Privacy, output: Output) -> dict[str, Any]:
    """Return the arguments of `synthesize` that the options stand for.

    Raises
    ------
    InvalidParameterError
        An option is missing or has another form.
    """
    if output.rows is not None:
        check_whole(output.rows, "rows", 1)
    owners, schemas = data.owners, data.schemas
    _check_pairs(owners, schemas)
    sources, _ = formatted(owners, {}, data.format or [], data.file_format)
    return {
        "owners": sources,
        "schema": schemas,
        "epsilon": privacy.epsilon,
        "delta": privacy.delta,
        "label": method.label,
        "protocol": method.protocol,
        "secret_product": method.engine,
        "ids": data.ids,
        "ledger": privacy.books or None,
        "run": privacy.run,
        "seed": privacy.seed,
        "allow_weak_privacy": privacy.allow_weak_privacy,
    }


def _check_pairs(owners: Mapping[str, Path], schemas: Mapping[str, Path]) -> None:
    """Refuse an owner without data or without a schema."""
    for option, given, wanted in (("--owner", owners, schemas), ("--schema", schemas, owners)):
        for name in wanted:
            if name not in given:
                raise InvalidParameterError(
                    f"{option}: {option} {name}=FILE is missing; each owner needs its data "
                    "(--owner) and its --schema, under one name"
                )
