"""What `learn` is given, as public points and parties that can vote."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.checks import counted, listed
from dpsumm.basics.names import check_name
from dpsumm.data.file import each_file
from dpsumm.data.inputs import (
    Source,
    Table,
    check_other_files,
    read_every_row,
    read_inputs,
    read_table,
)
from dpsumm.data.kinds.label import label_of, places_of
from dpsumm.data.lint import of_columns
from dpsumm.data.schema import Schema
from dpsumm.ensemble.ballots import ballot_of, given_votes
from dpsumm.ensemble.copies import MOST_NAMED, TOLD, copies_notes
from dpsumm.ensemble.party import Voter
from dpsumm.ensemble.points import rows_notes
from dpsumm.ensemble.students.choose import Validation
from dpsumm.ensemble.terms import Label, Terms
from dpsumm.ensemble.trainer import Trainer, check_learner, declarer
from dpsumm.errors import InvalidDataError, InvalidParameterError
from dpsumm.exchange.roles import Party
from dpsumm.report.notes import Note
from dpsumm.report.outside import RUINED, strange_notes


@dataclass(frozen=True, eq=False)
class Space:
    """How raw data become the points that classifiers and students see."""

    schema: Schema
    labelled: Schema | None = None

    def read(self, source: Source, name: str) -> Table:
        """Return the usable rows of a source, and its counts."""
        return read_table(source, name=name, schema=self.schema)

    def points(self, source: Source, name: str) -> NDArray[np.float64]:
        """Return (n, d) float64 points of a source."""
        return float64(self.read(source, name))

    def to_predict(self, source: Source, stacklevel: int) -> NDArray[np.float64]:
        """Return (n, d) float64 points, one for each row of a source.

        Warns of columns that the schema cuts off; `stacklevel` counts from the caller, as that of
        `warnings.warn`.
        """
        table = read_every_row(source, name="points", schema=self.schema)
        for note in rows_notes(table):
            warnings.warn(note, stacklevel=stacklevel + 1)
        return float64(table)

    def validation(self, given: Any, classes: Sequence[Label]) -> Validation:
        """Return the consumer's labelled points: a pair, or one table of a schema with a label."""
        if _is_pair(given):
            points, labels = self.points(given[0], "validation"), np.asarray(given[1])
        elif self.labelled is not None and self.labelled.label is not None:
            table = read_table(given, name="validation", schema=self.labelled)
            assert table.labels is not None
            points, labels = float64(table), table.labels
        else:
            raise InvalidParameterError(
                "validation must be a pair (points, labels). One table needs a `schema` with a "
                "label"
            )
        if labels.shape != (len(points),):
            raise InvalidParameterError(
                f"validation: {len(points)} points need as many labels, got {labels.shape}"
            )
        places = places_of(labels, classes)
        if (places < 0).all():
            raise InvalidDataError(
                "validation: its labels are not among the classes. Compare their types (text or "
                "numbers) and spelling"
            )
        return Validation(points, places)


@dataclass(frozen=True, eq=False)
class Given:
    """Parties as they were given, sorted into what can vote.

    Attributes
    ----------
    public_points
        The public points.
    tables
        Of the parties that gave records.
    """

    space: Space
    public_points: Table
    names: tuple[str, ...]
    tables: Mapping[str, Table]
    others: Mapping[str, Any]
    typed: tuple[str, ...]

    @cached_property
    def points(self) -> NDArray[np.float64]:
        """The public points, (N, d)."""
        return float64(self.public_points)

    @property
    def n_given(self) -> int:
        """Rows of all parties, also those that were left out. Public where a record is the unit."""
        return sum(table.n_given for table in self.tables.values())

    @property
    def copies(self) -> list[Note]:
        """Return notes, for the caller alone, on records that other parties or points have, too."""
        records = {name: float64(table) for name, table in self.tables.items()}
        return copies_notes(self.points, records)

    @property
    def strange(self) -> list[Note]:
        """Return notes, for the caller alone, on columns of parties that look strange."""
        tables = self.tables.items()
        found = {name: of_columns(t.schema.kernel, t.head.values) for name, t in tables}
        return list(strange_notes(found))

    def foreign(self, classes: Sequence[Label]) -> list[Note]:
        """Return a note, for the caller alone, on parties whose labels are spelled otherwise."""
        shares = {
            name: float((places_of(table.labels, classes) < 0).mean())
            for name, table in self.tables.items()
            if table.labels is not None and len(table)
        }
        some = [name for name, share in shares.items() if share >= RUINED]
        if not some:
            return []
        named = f"{listed(some[:MOST_NAMED])}{' and others' if len(some) > MOST_NAMED else ''}"
        return [
            Note(
                f"{len(some):,} of {len(self.names):,} parties have labels of which at least nine "
                f"in ten are not among the classes, such as {named}. Compare their types and "
                f"spelling with classes. {TOLD}"
            )
        ]

    def check_labels(self, terms: Terms) -> None:
        """Refuse labels that are numbers where classes are text."""
        # The type of an array is its giver's choice, and no record's.
        if self.typed and all(isinstance(label_of(name), str) for name in terms.classes):
            raise InvalidDataError(
                f"{self.typed[0]!r}: labels are numbers, the classes text. Give both the same type"
            )

    def roles(
        self, terms: Terms, learner: Any, seed: int | None, *, declared: bool
    ) -> dict[str, Party]:
        """Return the parties' roles. Those that gave records train when they are asked."""
        if self.tables:  # here too, so that nobody trains in vain
            check_learner(learner, terms, self.points.shape[1], declared=declared)
            fewest = min(self.tables, key=lambda name: len(self.tables[name]))
            if (n := len(self.tables[fewest])) < terms.shards:
                raise InvalidParameterError(
                    f"models_per_owner: {fewest!r} has {counted(n, 'record', 'records')}, fewer "
                    f"than {terms.shards} classifiers need. Give at most {n}, "
                    "or leave such parties out"
                )
        roles: dict[str, Party] = {}
        for name in self.names:
            one = self.others.get(name)
            if one is None:
                roles[name] = Trainer(self.tables[name], learner, seed=seed, checked=True, least=1)
            elif isinstance(one, np.ndarray):
                if declared:
                    raise InvalidParameterError(
                        f"{name!r}: gives votes, but under points_are='consumer' no party sees "
                        "the points. Give records or classifiers"
                    )
                roles[name] = _voted(given_votes(one, name, terms), terms)
            else:
                classifiers = _classifiers(name, one, terms)
                _check_columns(name, classifiers, self.space.schema.names)
                ballots = [ballot_of(c, seed, f"{name}/{k}") for k, c in enumerate(classifiers)]
                roles[name] = (
                    declarer(classifiers, terms.classes, terms.grid, name, self.points.shape[1])
                    if declared
                    else Voter(ballots, terms.classes)
                )
        return roles


def read_parties(
    parties: Any,
    public_points: Source,
    *,
    schema: Schema | None = None,
    validation: object = None,
) -> Given:
    """Return the inputs with all data read. See `dpsumm.learn`."""
    named = _named(parties)
    records = {name: one for name, one in named.items() if _has_records(one)}
    others = {name: one for name, one in named.items() if name not in records}
    check_other_files(records, "give each party's file once")
    for name, one in records.items():
        check_other_files(
            {name: one, "public points": public_points},
            "public points are nobody's private records: give other "
            "`public_points`, or leave the party out",
        )
        check_other_files(
            {name: one, "validation": validation[0] if _is_pair(validation) else validation},
            "it chooses among candidates without noise, which would tell of the party's records: "
            "give labelled points of your own as `validation`, or leave the party out",
        )
    tables: dict[str, Table] = {}
    if records:
        read, goal = read_inputs(
            records,
            public_points,
            target_name="public_points",
            schema=schema,
        )
        for table in read:
            if table.in_memory is None:
                raise InvalidParameterError(
                    f"{table.name!r}: a Stream or Shards cannot train a classifier. Give the data "
                    "in memory, or a classifier that you trained on them"
                )
            if table.labels is None:
                raise InvalidParameterError(
                    f"{table.name!r}: has no labels. Give a pair (points, labels), or a "
                    "`schema` with a label"
                )
            tables[table.name] = table.in_memory
    else:
        goal = read_table(
            public_points,
            name="public_points",
            schema=None if schema is None else schema.for_target(),
        )
    space = Space(goal.schema.for_target(), schema)
    typed = tuple(name for name, one in records.items() if _has_numbers(one))
    return Given(space, goal, tuple(named), tables, others, typed)


def _is_pair(one: object) -> TypeGuard[tuple[Any, Any]]:
    return isinstance(one, tuple) and len(one) == 2


def _has_numbers(one: Any) -> bool:
    labels = one[1] if isinstance(one, tuple) else None
    return isinstance(labels, np.ndarray) and labels.dtype.kind in "biuf"


def float64(table: Table) -> NDArray[np.float64]:
    """Return a table's points, (n, d), as classifiers and students take them.

    Read-only, since they may be the caller's own array. Code that is not dpsumm's gets a copy.
    """
    points = np.ascontiguousarray(table.scaled, dtype=np.float64).view()
    points.flags.writeable = False
    return points


def _named(parties: Any) -> dict[str, Any]:
    parties = each_file(parties)
    if isinstance(parties, Mapping):
        named = {str(name): one for name, one in parties.items()}
        if len(named) < len(parties) or any(not name.strip() for name in named):
            raise InvalidParameterError("parties: names must be distinct and not empty")
        for name in named:
            check_name(name, "parties")
    elif isinstance(parties, (list, tuple)):
        named = {f"party-{i}": one for i, one in enumerate(parties)}
    else:
        raise InvalidParameterError(
            "parties must be a dict of name to (points, labels), a fitted classifier or votes, "
            f"got {type(parties).__name__}"
        )
    if len(named) < 2:
        raise InvalidParameterError(
            f"parties: their number must be at least 2 (usual: from 50), got {len(named)}"
        )
    return named


def _is_classifier(one: Any) -> bool:
    return callable(getattr(one, "predict", None)) and not isinstance(one, type)


def _has_records(one: Any) -> bool:
    """Return whether this is data to train on: no classifiers, and no votes."""
    if isinstance(one, np.ndarray) or _is_classifier(one):
        return False
    return not (isinstance(one, (list, tuple)) and one and all(map(_is_classifier, one)))


def _voted(votes: NDArray[np.int64], terms: Terms) -> Voter:
    # All shards' votes together: the others add nothing.
    nothing = np.zeros_like(votes)
    given = [lambda points, terms: votes, *[lambda points, terms: nothing] * (terms.shards - 1)]
    return Voter(given, terms.classes)


def _check_columns(name: str, classifiers: list[Any], columns: Sequence[str]) -> None:
    """Refuse a classifier that was fitted on a data frame with other columns, or in another order.

    It is given the public points' columns by position.
    """
    for classifier in classifiers:
        known = getattr(classifier, "feature_names_in_", None)
        if known is not None and list(map(str, known)) != list(columns):
            raise InvalidParameterError(
                f"{name!r}: its classifier was fitted on a data frame with the columns "
                f"{listed(list(map(str, known)))}, the public points have {listed(columns)}. Give "
                "public points as a data frame with the classifiers' columns in their order "
                "(schema=), or fit on arrays"
            )


def _classifiers(name: str, one: Any, terms: Terms) -> list[Any]:
    classifiers = list(one) if isinstance(one, (list, tuple)) else [one]
    if len(classifiers) != terms.shards:
        raise InvalidParameterError(
            f"{name!r}: {len(classifiers)} classifiers, models_per_owner={terms.shards} needs as "
            "many, each trained on a part of the records that no other has seen"
        )
    if terms.grid > 1 and not all(
        hasattr(classifier, "predict_proba") and hasattr(classifier, "classes_")
        for classifier in classifiers
    ):
        raise InvalidParameterError(
            f"{name!r}: a grid above 1 needs classifiers with predict_proba and classes_"
        )
    return classifiers
