"""The options of `synthesize`, on the command line and in a TOML file.

The docstrings are the help of the command line. A text after a type is the default that the help
shows in place of None.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dpsumm.basics.checks import check_whole
from dpsumm.data.words import formatted, parse_files
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy.spending import Spending
from dpsumm.vertical.defaults import COMPONENTS, KEEP

if TYPE_CHECKING:
    from dpsumm.vertical.tables import Tables


class SecretProduct(str, Enum):
    """Words of ``--secret-product``."""

    DEALER = "dealer"
    MPYC = "mpyc"


@dataclass(frozen=True)
class Data:
    """The files, and how they are read.

    Parameters
    ----------
    schema : NAME=FILE or FILE
        An owner's public schema. Repeat it for each owner. For owners of the same columns one file
        without a name is enough. See dpsumm schema.
    owner : NAME=FILE
        That owner's columns of the records that all owners hold, or its own records, as CSV,
        Parquet, Excel or SQL.
    ids : COLUMN
        Column of identifiers that all owners have, of kind 'ignore' in the schemas. Records are
        sorted by it, and owners with other identifiers are refused. Without it the order of the
        records is trusted.
    format : KEY=VALUE or NAME:KEY=VALUE
        How to read all files, such as separator=';', or the one of an owner. KEY is kind (csv,
        parquet, excel or sql), separator, encoding, decimal, or names for CSV files without a
        header row. Repeat it for each key.
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
        return schemas_of(self.schema, self.owners)


def schemas_of(given: Sequence[str], owners: Iterable[str] = ()) -> dict[str, Path]:
    """Return owners' schemas by name from ``NAME=FILE`` items, or from one file that all have."""
    if len(given) == 1 and "=" not in given[0]:
        return dict.fromkeys(owners, Path(given[0]))
    return parse_files("--schema", given)


@dataclass(frozen=True)
class Method:
    """How rows are made. All of it is public and never chosen by looking at the data.

    Parameters
    ----------
    label : COLUMN
        Column that models of the rows should predict. Its tables get more of the budget. By default
        the schemas' label.
    bins : N or COLUMN=N or COLUMN=EDGE,EDGE,...
        Bins of all columns of numbers and dates, or of one column. Give a number of bins of equal
        width, or their edges.
    pairs : COLUMN,COLUMN
        A pair of columns that the rows are for. Such pairs get half of the budget of all pairs
        without the label. It pays from about 20 columns on.
    keep
        Levels with fewer noisy records than this many standard deviations of the noise are counted
        together, from 0 to 10.
    components
        Products in the mixture, from which half of the rows are drawn.
    secret_product
        Engine for tables of two owners' columns. With dealer, a helper deals random pads. With
        mpyc, three processes of MPyC do it slowly (extra mpyc).
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
        from dpsumm.vertical.products import Dealer, Mpyc
        from dpsumm.vertical.tables import Tables, pairs_of

        given = {} if not self.bins else {"bins": bins_of(self.bins)}
        return Tables(
            pairs=pairs_of(self.pairs or []),
            keep=self.keep,
            components=self.components,
            secret_product=Mpyc() if self.secret_product is SecretProduct.MPYC else Dealer(),
            **given,  # type: ignore[arg-type]
        )


@dataclass(frozen=True)
class Privacy(Spending):
    """The budget, and where it is recorded.

    Parameters
    ----------
    epsilon
        Budget of one record towards every party, above 0. Smaller is more private.
    ledger : NAME=FILE
        That owner's ledger, kept across runs. A release beyond its cap is refused.
    """

    epsilon: float = 1.0
    ledger: list[str] | None = None

    @property
    def books(self) -> dict[str, Path]:
        """The ledgers by owner."""
        return parse_files("--ledger", self.ledger or [])


@dataclass(frozen=True)
class Output:
    """The files to write.

    Parameters
    ----------
    out : FILE
        The rows, as .parquet or .csv. The Parquet file's metadata, or FILE.json next to a CSV file,
        says that they are synthetic.
    rows
        Number of rows.
    report : FILE
        An HTML report of the rows' use and their cost, from released numbers alone.
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
    sources, _ = formatted(owners, {}, data.format or [])
    return {
        "owners": sources,
        "schema": schemas,
        "epsilon": privacy.epsilon,
        "delta": privacy.delta,
        "label": method.label,
        "protocol": method.protocol,
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
                    f"{option}: {option} {name}=FILE is missing. Each owner needs its data "
                    "(--owner) and its --schema, under one name"
                )
