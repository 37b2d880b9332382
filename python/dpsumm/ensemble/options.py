"""The options of `learn`, on the command line and in a TOML file.

The docstrings are the help of the command line. A text after a type is the default that the help
shows in place of None.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dpsumm.data.words import (
    Columns,
    formatted,
    parse_owners,
    schema_files,
)
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
class Data:
    """The files, and how they are read.

    Parameters
    ----------
    owner : NAME=FILE or PATTERN
        A party's name and its labelled CSV, Parquet, Excel or SQL file. Repeat it for each party.
        For a folder or a pattern such as 'sites/*.csv', each file is a party, named after the file.
    public_points : FILE
        Public points with the same columns and without labels. They must not be private records.
    schema : FILE or NAME=WHAT
        Public description of the columns. Give a file (see dpsumm schema), or repeat the option for
        each column, such as age=20:90 for bounds, sex=f,m for categories, outcome=label and
        dose=number. Values are clipped to the bounds. Other columns are not read.
    classes : A,B,...
        All labels, public. By default they are the categories of the schema's label. Parties leave
        out rows with other labels (see dpsumm schema check --classes).
    validation : FILE
        About 200 labelled points of your own, which judge the model.
    format : KEY=VALUE or NAME:KEY=VALUE
        How to read all files, such as separator=';', or the one of a party, 'public_points' or
        'validation'. KEY is kind (csv, parquet, excel or sql), separator, encoding, decimal, or
        names for CSV files without a header row. Repeat it for each key.
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
    from dpsumm.ensemble.terms import classes_in, classes_of

    return classes_in(schema_said(schema)) if classes is None else classes_of(classes)


@dataclass(frozen=True)
class Method:
    """How the model is learnt. All of it is public and never chosen by looking at private data.

    Parameters
    ----------
    protocol
        With updates, each party answers a public model with one clipped vector, in eight rounds.
        With votes, the parties' classifiers label the public points once. By default updates,
        unless an option of votes is given.
    records_per_owner
        Declared average number of records of a party, for updates that protect whole parties. It is
        never counted. A wrong one makes the model less accurate.
    learner
        Classifier that each party trains at home. Only with votes.
    models_per_owner
        Classifiers of each party, on disjoint parts of its records, 1 to 255. With --unit 'replace
        one record', M parties with J models each count like M J parties. Only with votes.
    grid
        Votes of each classifier, 1 to 255, shared out by its probabilities. Only with votes.
    points_are
        With public, parties see the points. With consumer, the points stay with you. Parties send
        their classifiers as numbers, predictions are for you alone, and there is no --model. Only
        with votes.
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
    """The budget, and where it is recorded.

    Parameters
    ----------
    epsilon
        Budget of the parties' records towards anyone who sees the model, above 0. Smaller is more
        private.
    ledger : FILE
        The parties' ledger, kept across runs. A release beyond its cap is refused.
    unit
        Data that are protected together, all records of a party or one record.
    """

    epsilon: float = 1.0
    ledger: Path | None = None
    unit: Unit = Unit.OWNER


@dataclass(frozen=True)
class Output:
    """The files to write.

    Parameters
    ----------
    out : FILE
        Predictions for the public points, as .parquet or .csv. The Parquet file's metadata, or
        FILE.json next to a CSV file, has their origin and cost.
    model : FILE
        The model as plain numbers, without pickle, for dpsumm predict.
    report : FILE
        An HTML report of the result and its cost.
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

    sources, points = formatted(data.parties, data.own, data.format or [])
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
