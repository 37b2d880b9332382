"""The command ``dpsumm learn``. Needs the extra ``cli``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from dpsumm.checks import check_installed
from dpsumm.cli import console
from dpsumm.cli.options import described
from dpsumm.cli.output import check_distinct, check_outputs, rows_in
from dpsumm.cli.spent import Kept
from dpsumm.cli.typed import typed
from dpsumm.data.arguments import file_format_of, formatted, parse_owners
from dpsumm.data.reading import Spelling
from dpsumm.data.schema import Schema
from dpsumm.ensemble.learn import learn as make_model
from dpsumm.ensemble.model import Model
from dpsumm.ensemble.plan import plan_learning
from dpsumm.ensemble.terms import Label, classes_of
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy.events import Protected
from dpsumm.privacy.events import Unit as Units
from dpsumm.privacy.spending import Spending
from dpsumm.report.notes import Note
from dpsumm.report.numbers import percent, round_up

# Whether a party's labels are the classes may hang on one record, so a run cannot tell of it.
UNLISTED = (
    "The schema's label lists no categories: a party that spells its labels otherwise than the "
    "classes counts for nothing, and a run tells nobody. List them as categories, or let every "
    "party try at home: dpsumm schema check FILE --schema SCHEMA --classes A,B"
)


class Learner(str, Enum):
    """Words of ``--learner``."""

    LOGISTIC = "logistic"
    TREE = "tree"
    FOREST = "forest"
    BAYES = "bayes"


class Student(str, Enum):
    """Words of ``--student``."""

    SPECTRAL = "spectral"
    SOFTMAX = "softmax"


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
    classes : A,B,...
        All labels, public; those of the schema's label by default, if it lists categories. Parties
        leave rows with others out, and a party that has no other counts for nothing, unsaid: see
        dpsumm schema check --classes.
    owner : NAME=FILE or PATTERN
        A party's name and labelled data (CSV or Parquet), once per party; or a folder, or a pattern
        such as 'sites/*.csv', each of whose files is a party of the file's name. From 2; better
        from 50.
    public_points : FILE
        Points without labels, same columns: public, never anybody's private records.
    schema : FILE
        The public schema: bounds, categories, dates, missing values, label. See [bold]dpsumm
        schema[/].
    validation : FILE
        Labelled points of your own, which choose among candidates; a few hundred.
    format : NAME:KEY=VALUE
        How one file is read, where it differs from others: NAME is a party's, 'public_points' or
        'validation', KEY one of kind (csv, parquet or excel, if the suffix does not say),
        separator, encoding, decimal, names. Once per key.
    """

    classes: str | None = None
    owner: list[str] | None = None
    public_points: Path | None = None
    schema: Path | None = None
    validation: Path | None = None
    format: list[str] | None = None

    @property
    def parties(self) -> dict[str, Path]:
        """The parties' files by name."""
        return parse_owners(self.owner or [])

    @property
    def labels(self) -> tuple[Label, ...]:
        """The classes."""
        if self.classes is not None:
            return classes_of(self.classes)
        label = None if self.schema is None else Schema.read(self.schema).label
        if label is None or not label.categories:
            raise InvalidParameterError(
                "--classes: list all labels, or give a --schema whose label has categories"
            )
        return tuple(label.categories)

    def given(self) -> tuple[dict[str, Path], Path, Path]:
        """Return parties, public points and schema; all are needed but for a plan."""
        if not self.owner or self.public_points is None or self.schema is None:
            raise InvalidParameterError(
                "give --owner (twice or more, or a directory), --public-points and --schema; only "
                "--plan does without"
            )
        return self.parties, self.public_points, self.schema


@dataclass(frozen=True)
class Method:
    """How it is learnt; public, never chosen by looking at private data.

    Parameters
    ----------
    learner
        What each party trains at home.
    models_per_owner
        Classifiers of each party, on disjoint parts of its records, 1 to 255. With --unit 'replace
        one record' M parties of J models are worth M J parties.
    grid
        Above 1, to 255: each classifier spreads so many votes by its probabilities.
    student
        What learns from the noisy votes; given twice, --validation chooses. Costs no privacy.
    points_are
        public: parties see the points and vote. consumer: they are yours, parties send their
        classifiers as numbers; predictions are for you alone and there is no --model.
    """

    learner: Learner = Learner.LOGISTIC
    models_per_owner: int = 1
    grid: int = 1
    student: Annotated[list[Student] | None, typer.Option(show_default="spectral")] = None
    points_are: Whose = Whose.PUBLIC


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
    plan
        Say what to expect and stop, before any data are read: nothing is written or spent. Needs
        --points, and --owner or --parties.
    points, parties
        For --plan: how many public points and parties there are.
    """

    out: Path = Path("predictions.parquet")
    model: Path | None = None
    report: Path | None = None
    plan: bool = False
    points: int | None = None
    parties: int | None = None

    @property
    def files(self) -> dict[str, Path]:
        """All that is written, by option."""
        given = {"--model": self.model, "--report": self.report}
        return rows_in(self.out) | {option: path for option, path in given.items() if path}


@described
def learn(data: Data, method: Method, privacy: Privacy, output: Output) -> None:
    """Learn a classifier from parties' classifiers, by noisy votes on unlabelled points.

    In one process, which sees all data: for a rehearsal or one trusted machine.
    """
    if output.plan != (output.points is not None) or (output.parties and not output.plan):
        raise InvalidParameterError("--points and --parties are for --plan, which needs --points")
    if output.plan:
        console.echo(*typed(str(_planned(data, method, privacy, output))).splitlines())
        return
    parties, public_points, schema = data.given()
    if output.model is not None and method.points_are is Whose.CONSUMER:
        raise InvalidParameterError(
            "--model: a model of points that parties must not see may not be given away; leave it "
            "out and keep the predictions to yourself"
        )
    check_outputs(output.files)
    books = [] if privacy.ledger is None else [privacy.ledger]
    kept = Kept(Protected.OWNERS, {str(path): path for path in books}, privacy.run)
    read = [
        *parties.values(),
        public_points,
        schema,
        *([data.validation] if data.validation else []),
    ]
    check_distinct(read, [*books, *output.files.values()])
    mine = {"public_points": public_points} | (
        {"validation": data.validation} if data.validation else {}
    )
    form = file_format_of(None, data.separator, encoding=data.encoding, decimal=data.decimal)
    sources, points = formatted(parties, mine, data.format or [], form)
    label = Schema.read(schema).label
    if label is not None and not label.categories:  # public: what a party's labels are, is not
        console.tell(Note(UNLISTED))
    with kept.told_when_stopped():
        # What is warned of is said at once: nothing is spent yet.
        with console.progress() as progress, console.warnings_told() as told, _one_thread():
            model = make_model(
                sources,
                points["public_points"],
                classes=data.labels,
                epsilon=privacy.epsilon,
                delta=privacy.delta,
                learner=method.learner.value,
                models_per_owner=method.models_per_owner,
                grid=method.grid,
                student=[one.value for one in method.student or [Student.SPECTRAL]],
                validation=points.get("validation"),
                points_are=method.points_are.value,
                unit=privacy.unit.value,
                schema=schema,
                file_format=form,
                ledger=privacy.ledger,
                run=kept.run,
                seed=privacy.seed,
                allow_weak_privacy=privacy.allow_weak_privacy,
                progress=progress,
            )
        kept.write_all(
            f"Epsilon {round_up(model.privacy.epsilon())} of the parties is spent",
            (output.out, model.save_predictions),
            (output.model, model.save),
            (output.report, model.report),
        )
    _show(model)
    console.show_files(output.files.values())
    new = [note for note in model.notes if note not in told]
    console.warn(new, seeded=model.privacy.seeded)
    console.tell_uncounted(kept.uncounted(), model.privacy.epsilon())


def _planned(data: Data, method: Method, privacy: Privacy, output: Output) -> object:
    count = output.parties or len(data.parties)
    if not count:
        raise InvalidParameterError("--plan: give --parties, how many there are, or their --owner")
    return plan_learning(
        count,
        output.points or 0,
        len(data.labels),
        epsilon=privacy.epsilon,
        delta=privacy.delta,
        models_per_owner=method.models_per_owner,
        unit=privacy.unit.value,
    )


@contextmanager
def _one_thread() -> Iterator[None]:
    """Have matrix libraries use one thread, unless the environment says how many.

    Their matrices are small here: more threads take three times the processor time, and on a busy
    machine wait for each other.
    """
    if any(name in os.environ for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")):
        yield
        return
    # Comes with scikit-learn, and limits what is loaded by then.
    check_installed("sklearn", "learn needs", "learn")
    import scipy.linalg
    from threadpoolctl import threadpool_limits

    assert scipy.linalg
    with threadpool_limits(1):
        yield


def _show(model: Model) -> None:
    terms, privacy = model.votes.terms, model.privacy
    facts = [
        ("run", model.votes.run),
        ("votes", f"of {terms.n_parties:,} parties on {terms.n_points:,} points, with noise"),
        ("verdict", model.verdict.text),
        ("student", model.student),
        (
            "epsilon, parties",
            f"{round_up(privacy.epsilon())} at delta {privacy.delta:g}, unit: {model.votes.unit}",
        ),
    ]
    # A share of labels beside a model that means nothing would speak for it.
    if model.accuracy is not None and model.verdict.good:
        facts.insert(4, ("your labels", f"{percent(model.accuracy)} are met"))
    console.show_facts(facts)
