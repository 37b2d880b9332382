"""What a run has as options, in words: on the command line and in a file of them.

What is said of each is its help on the command line. The text after a type is the default that is
shown, where None stands for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dpsumm.data.words import (
    Columns,
    Reading,
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
class Data(Reading):
    """What is read, and how.

    Parameters
    ----------
    owner : NAME=FILE or PATTERN
        An owner's name and data (CSV, Parquet or Excel, by suffix), once per owner; or a folder, or
        a pattern such as 'sites/*.csv', each of whose files is an owner of the file's name.
    target : FILE
        The consumer's data, same columns, no label needed.
    schema : FILE or NAME=WHAT
        What the columns are, public: a file (see [bold]dpsumm schema[/]), or once for each column
        age=20:90 (bounds, to which values are clipped), sex=f,m (categories), outcome=label,
        dose=number. Columns that are not named are not read; without it all are numbers.
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
    schema: list[str] | None = field(default=None, metadata={"kind": Columns})
    format: list[str] | None = None
    stream: bool = False

    def sources(self) -> tuple[dict[str, Source], Source]:
        """Return the owners' data by name, and the target."""
        from dpsumm.data.stream import Stream

        own = {"target": self.target}
        owners, others = formatted(self.named, own, self.format or [], self.file_format)
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
        offers: one noisy broadcast. auction: the paper's rounds of bids. pool: random points of
        each owner, then selection. uniform: random points only. greedy: reads everything.
    gamma
        Public bandwidth of the kernel exp(-gamma |x - y|²), above 0, after scaling. By default from
        the bounds if all columns have some, else bought from epsilon.
    reads_per_record
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
        parameters (give --gamma 0.1 for the paper's kernel), not private either. These two need
        --allow-weak-privacy.
    batch
        Auction: points added per round, at least 1.
    drop_target_copies
        Leave out points that equal a record of the target in every column. Costs nothing.
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
        """Return the protocol; refuse options that it would ignore."""
        from dpsumm.summary.protocols import Requests
        from dpsumm.summary.protocols.choose import choose_protocol

        return choose_protocol(
            self.protocol,
            self.size,
            reads_per_record=self.reads_per_record,
            spread=self.spread,
            features=self.features,
            n_features=self.n_features,
            sample=None if self.sample is None else _public_sample(self.sample),
            requests=None if self.requests is None else Requests(self.requests.value),
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
    epsilon_owners: Annotated[float | None, "1"] = None


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
