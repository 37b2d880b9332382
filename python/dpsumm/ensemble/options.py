"""What a run of `learn` has as options, in words: on the command line and in a file of them.

What is said of each is its help on the command line. The text after a type is the default that is
shown, where None stands for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dpsumm.data.words import (
    Columns,
    Spelling,
    formatted,
    parse_owners,
    schema_files,
)
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy.events import Unit as Units
from dpsumm.privacy.spending import Spending

if TYPE_CHECKING:
    from dpsumm.ensemble.protocols import Protocol
    from dpsumm.ensemble.terms import Label


class Engine(str, Enum):
    """Words of ``--protocol``."""

    UPDATES = "updates"
    VOTES = "votes"


class Learner(str, Enum):
    """Words of ``--learner``."""

    LOGISTIC = "logistic"
    TREE = "tree"
    FOREST = "forest"
    BAYES = "bayes"


class Unit(str, Enum):
    """Words of ``--unit``."""

    OWNER = Units.WHOLE_OWNER.value
    RECORD = Units.REPLACE_RECORD.value


class Whose(str, Enum):
    """Words of ``--points-are``."""

    PUBLIC = "public"
    CONSUMER = "consumer"


@dataclass(frozen=True)
class Data(Spelling):
    """What is read, and how.

    Parameters
    ----------
    owner : NAME=FILE or PATTERN
        A party's name and labelled data (CSV or Parquet), once per party; or a folder, or a pattern
        such as 'sites/*.csv', each of whose files is a party of the file's name. From 2; better
        from 50.
    public_points : FILE
        Points without labels, same columns: public, never anybody's private records.
    schema : FILE or NAME=WHAT
        What the columns are, public: a file (see [bold]dpsumm schema[/]), or once for each column
        age=20:90 (bounds, to which values are clipped), sex=f,m (categories), outcome=label,
        dose=number.
    classes : A,B,...
        All labels, public; those of the schema's label by default, if it lists categories. Parties
        leave rows with others out, and a party that has no other counts for nothing, unsaid: see
        dpsumm schema check --classes.
    validation : FILE
        Labelled points of your own, which judge the model; a
        few hundred.
    format : NAME:KEY=VALUE
        How one file is read, where it differs from others: NAME is a party's, 'public_points' or
        'validation', KEY one of kind (csv, parquet or excel, if the suffix does not say),
        separator, encoding, decimal, names. Once per key.
    """

    owner: list[str]
    public_points: Path
    schema: list[str] = field(metadata={"kind": Columns})
    classes: str | None = None
    validation: Path | None = None
    format: list[str] | None = None

    @property
    def parties(self) -> dict[str, Path]:
        """The parties' files by name."""
        return parse_owners(self.owner)

    @property
    def labels(self) -> tuple[Label, ...]:
        """The classes."""
        return labels_of(self.classes, self.schema)

    @property
    def files(self) -> list[Path]:
        """All that is read."""
        return [*self.parties.values(), *self.own.values(), *schema_files(self.schema)]

    @property
    def own(self) -> dict[str, Path]:
        """The consumer's files by name."""
        given = {"public_points": self.public_points, "validation": self.validation}
        return {name: path for name, path in given.items() if path is not None}


def labels_of(classes: str | None, schema: Sequence[str] | None) -> tuple[Label, ...]:
    """Return the classes as they are typed, or the categories of the schema's label."""
    from dpsumm.data.short import schema_said
    from dpsumm.ensemble.terms import classes_of

    if classes is not None:
        return classes_of(classes)
    known = schema_said(schema)
    label = None if known is None else known.label
    if label is None or not label.categories:
        raise InvalidParameterError(
            "--classes: list all labels, or give a --schema whose label has categories"
        )
    return tuple(label.categories)


@dataclass(frozen=True)
class Method:
    """How it is learnt; public, never chosen by looking at private data.

    Parameters
    ----------
    protocol
        updates: each party answers a public model with one clipped vector, in eight rounds. votes:
        classifiers of the parties vote on the public points, once. By default updates, unless an
        option is given that is of votes alone: --learner to --points-are.
    records_per_owner
        Updates that protect whole owners: records of a party on average, about; declared, never
        counted. A wrong one costs accuracy alone.
    learner
        Votes: what each party trains at home.
    models_per_owner
        Votes: classifiers of each party, on disjoint parts of its records, 1 to 255. With --unit
        'replace one record' M parties of J models are worth M J parties.
    grid
        Votes: above 1, to 255, each classifier spreads so many votes by its probabilities.
    points_are
        public: parties see the points. consumer: they are yours, parties send their classifiers as
        numbers; predictions are for you alone and there is no --model.
    """

    protocol: Engine | None = None
    records_per_owner: Annotated[int | None, "100"] = None
    learner: Annotated[Learner | None, "logistic"] = None
    models_per_owner: int = 1
    grid: int = 1
    points_are: Whose = Whose.PUBLIC

    @property
    def asked(self) -> Protocol | None:
        """The protocol that is asked for."""
        from dpsumm.ensemble.protocols import protocol_said

        return protocol_said(
            None if self.protocol is None else self.protocol.value,
            records_per_owner=self.records_per_owner,
            learner=None if self.learner is None else self.learner.value,
            models_per_owner=self.models_per_owner,
            grid=self.grid,
            points_are=self.points_are.value,
        )


@dataclass(frozen=True)
class Privacy(Spending):
    """What may be spent, and where that is written down.

    Parameters
    ----------
    epsilon
        Budget of the parties' records towards whoever sees the model, in nats, above 0; smaller is
        more private.
    ledger : FILE
        The parties' books, kept across runs; refuses what exceeds its cap.
    unit
        Whose data may change: all records of a party, or one record (give --models-per-owner).
    """

    epsilon: float = 1.0
    ledger: Path | None = None
    unit: Unit = Unit.OWNER


@dataclass(frozen=True)
class Output:
    """What is written.

    Parameters
    ----------
    out : FILE
        Predictions for the public points, .parquet or .csv by suffix; what they are and cost
        stands in the Parquet file's metadata, or beside a CSV file in FILE.json.
    model : FILE
        The model as plain numbers, no pickle; `dpsumm.ensemble.load_model` reads it.
    report : FILE
        An HTML report: what came out and what it cost.
    """

    out: Path = Path("predictions.parquet")
    model: Path | None = None
    report: Path | None = None

    @property
    def files(self) -> dict[str, Path]:
        """All that is written but the predictions themselves, by option."""
        given = {"--model": self.model, "--report": self.report}
        return {option: path for option, path in given.items() if path}


GROUPS = (Data, Method, Privacy, Output)


def as_arguments(data: Data, method: Method, privacy: Privacy, output: Output) -> dict[str, Any]:
    """Return the arguments of `learn` that the options stand for.

    Raises
    ------
    InvalidParameterError
        An option has another form.
    """
    from dpsumm.data.short import schema_said

    sources, points = formatted(data.parties, data.own, data.format or [], data.file_format)
    return {
        "parties": sources,
        "public_points": points["public_points"],
        "classes": data.labels,
        "epsilon": privacy.epsilon,
        "delta": privacy.delta,
        "protocol": method.asked,
        "validation": points.get("validation"),
        "unit": privacy.unit.value,
        "schema": schema_said(data.schema),
        "ledger": privacy.ledger,
        "run": privacy.run,
        "seed": privacy.seed,
        "allow_weak_privacy": privacy.allow_weak_privacy,
    }
