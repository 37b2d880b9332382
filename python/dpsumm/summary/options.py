"""The options of `summarize`, on the command line and in a TOML file.

The docstrings are the help of the command line. A text after a type is the default that the help
shows in place of None.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dpsumm.data.words import (
    Columns,
    formatted,
    parse_owners,
    schema_files,
)
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy.spending import Spending
from dpsumm.summary.words import Name, Rule

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpsumm.data.inputs import Source
    from dpsumm.summary.protocols import Protocol


@dataclass(frozen=True)
class Data:
    """The files, and how they are read.

    Parameters
    ----------
    owner : NAME=FILE or PATTERN
        An owner's name and its CSV, Parquet, Excel or SQL file. Repeat it for each owner. For a
        folder or a pattern such as 'sites/*.csv', each file is an owner, named after the file.
    target : FILE
        The consumer's data, with the same columns. It needs no label.
    schema : FILE or NAME=WHAT
        Public description of the columns. Give a file (see dpsumm schema), or repeat the option for
        each column, such as age=20:90 for bounds, sex=f,m for categories, outcome=label and
        dose=number. Values are clipped to the bounds. Other columns are not read. Without a
        schema all columns are numbers.
    format : KEY=VALUE or NAME:KEY=VALUE
        How to read all files, such as separator=';', or the one of an owner or 'target'. KEY is
        kind (csv, parquet, excel or sql), separator, encoding, decimal, or names for CSV files
        without a header row. Repeat it for each key.
    stream
        Read the owners' Parquet (or .npy) files block by block, for files larger than memory. Only
        with offers.
    """

    owner: list[str]
    target: Path
    schema: list[str] | None = field(default=None, metadata={"kind": Columns})
    format: list[str] | None = None
    stream: bool = False

    def sources(self) -> tuple[dict[str, Source], Source]:
        """Return the owners' data by name, and the target."""
        from dpsumm.data.stream import Stream

        own = {"target": self.target}
        owners, others = formatted(self.named, own, self.format or [])
        sources = {
            name: Stream(file.path) if self.stream else file for name, file in owners.items()
        }
        return sources, others["target"]

    @property
    def named(self) -> dict[str, Path]:
        """The owners' files by name."""
        return parse_owners(self.owner)

    @property
    def files(self) -> list[Path]:
        """The data and their schema."""
        return [*self.named.values(), self.target, *schema_files(self.schema)]


@dataclass(frozen=True)
class Method:
    """How points are chosen.

    Parameters
    ----------
    size
        Points in the summary, at least 1.
    protocol
        Offers send one noisy broadcast. The auction runs the paper's rounds of bids. Pool takes
        random points of each owner and selects from them. Uniform takes random points only. Greedy
        reads everything.
    gamma
        Public bandwidth of the kernel exp(-gamma |x - y|²), above 0, after scaling. By default it
        follows from the bounds, if all columns have some.
    reads_per_record
        Points to read for each point of the summary, at least 1. With more, the summary is closer
        to the target. Offers and pool.
    spread
        Share of an owner's offers that are drawn at random instead of picked, 0 to 1. Points like
        the target are drawn more often. Only with offers.
    features
        Features in which the target is released. Landmarks of the schema need less noise than
        random features. With auto, landmarks are used if the schema allows them and they need
        less noise. Only with offers.
    n_features
        Number of features. It must be even for random ones. Offers and auction.
    sample : FILE
        A public sample to take as landmarks. It is a .npy array with one row per record, columns in
        order, and values scaled as by the schema. Every owner receives it, so it must not hold a
        private record. Only with offers.
    requests
        How the auction chooses the owners to ask for points. All reveals nothing. Private asks by
        rank, with differential privacy. Winner and published (the paper's rule) are not private and
        need --allow-weak-privacy.
    batch
        Points that the auction adds per round, at least 1.
    drop_target_copies
        Leave out points that equal a record of the target in every column. It costs no privacy.
    """

    size: int
    protocol: Name = Name.OFFERS
    gamma: float | None = None
    reads_per_record: Annotated[float | None, "4"] = None
    spread: Annotated[float | None, "1/2"] = None
    features: Annotated[str | None, "auto"] = None
    n_features: Annotated[int | None, "Offers 1024 landmarks or 2048 random, Auction 140"] = None
    sample: Path | None = None
    requests: Annotated[Rule | None, "all"] = None
    batch: Annotated[int | None, "size / 10"] = None
    drop_target_copies: bool = False

    def chosen(self, epsilon_owners: float | None) -> Protocol:
        """Return the protocol, and refuse options that it would ignore."""
        from dpsumm.summary.protocols.choose import choose_protocol

        return choose_protocol(
            self.protocol,
            self.size,
            reads_per_record=self.reads_per_record,
            spread=self.spread,
            features=self.features,
            n_features=self.n_features,
            sample=None if self.sample is None else _public_sample(self.sample),
            requests=None if self.requests is None else self.requests.value,
            batch=self.batch,
            epsilon_owners=epsilon_owners,
        )


def _public_sample(path: Path) -> NDArray[Any]:
    import numpy as np

    try:
        return np.asarray(np.load(path, allow_pickle=False))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidParameterError(f"--sample: cannot read {path} as .npy: {reason}") from None


@dataclass(frozen=True)
class Privacy(Spending):
    """The budget, and where it is recorded.

    Parameters
    ----------
    epsilon
        Budget of the target's records towards an owner, above 0. Smaller is more private.
    ledger : FILE
        The ledger of the target's holder, kept across runs. A release beyond its cap is refused.
    epsilon_owners
        Budget of an owner's records towards another owner, above 0. Only with the auction.
    """

    ledger: Path | None = None
    epsilon_owners: Annotated[float | None, "1"] = None


@dataclass(frozen=True)
class Output:
    """The files to write.

    Parameters
    ----------
    out : FILE
        The summary, as .parquet or .csv. The Parquet file's metadata, or FILE.json next to a CSV
        file, has its origin and cost.
    weights
        Add a column 'weight' of mean 1, with which averages over the summary are closer to the
        target's.
    report : FILE
        An HTML report of the result and its cost.
    """

    out: Path = Path("summary.parquet")
    weights: bool = False
    report: Path | None = None

    @property
    def files(self) -> dict[str, Path]:
        """All that is written but the summary itself, by option."""
        return {} if self.report is None else {"--report": self.report}


GROUPS = (Data, Method, Privacy, Output)


def as_arguments(data: Data, method: Method, privacy: Privacy, output: Output) -> dict[str, Any]:
    """Return the arguments of `summarize` that the options stand for.

    Raises
    ------
    InvalidParameterError
        An option has another form, or is one that the protocol would ignore.
    """
    from dpsumm.data.short import schema_said
    from dpsumm.summary.kernel import RBF

    owners, target = data.sources()
    return {
        "owners": owners,
        "target": target,
        "size": method.size,
        "epsilon": 1.0 if privacy.epsilon is None else privacy.epsilon,
        "delta": privacy.delta,
        "protocol": method.chosen(privacy.epsilon_owners),
        "kernel": None if method.gamma is None else RBF(method.gamma),
        "schema": schema_said(data.schema),
        "ledger": privacy.ledger,
        "run": privacy.run,
        "seed": privacy.seed,
        "allow_weak_privacy": privacy.allow_weak_privacy,
        "drop_target_copies": method.drop_target_copies,
    }
