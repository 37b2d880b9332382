"""A party with labelled records, which trains when the task comes."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpsumm.basics.checks import counted
from dpsumm.data.table import Table
from dpsumm.ensemble.ballots import ballot_of, fit_labels, fitted, learner_of, own_coins, train
from dpsumm.ensemble.conversion import declare
from dpsumm.ensemble.messages import CODEC, ClassifierTask, VoteTask
from dpsumm.ensemble.party import Declarer, Voter
from dpsumm.ensemble.terms import Label, Terms
from dpsumm.errors import InvalidDataError, InvalidParameterError, ProtocolError
from dpsumm.exchange.messages import Answer, Describe, Description, Request
from dpsumm.exchange.roles import Party

# Records that a classifier is trained on, at least, unless its owner says otherwise.
LEAST_SHARD = 20


class Trainer(Party):
    """Trains its classifiers for the first task, and then votes with them or sends them.

    One that is made anew for every exchange is made with `dpsumm.ensemble.once.Once`.

    Parameters
    ----------
    table
        Its records, with labels.
    learner
        Estimator of scikit-learn that is cloned for each shard. The default for None. It must not
        have been chosen by looking at any party's records.
    least
        Records that a shard must hold, see `ballots.train`. A task of more shards is refused. That
        reveals the number of records alone, which `Describe` asks. Of records with a listed label
        a shard may have fewer, as only the party knows. Then its classifier abstains.
    """

    codec = CODEC
    forgets = True

    def __init__(
        self,
        table: Table,
        learner: Any = None,
        *,
        seed: int | None = None,
        checked: bool = False,
        least: int = LEAST_SHARD,
    ) -> None:
        self._table, self._learner, self._seed, self._checked = table, learner, seed, checked
        self._least = least
        self._role: Party | None = None

    @property
    def n_records(self) -> int:
        """Rows that it trains with."""
        return len(self._table)

    def answer(self, request: Request) -> Answer:
        """Describe the data. Train and vote, or send the classifiers. For the curator alone."""
        if isinstance(request, Describe):
            return Description(len(self._table), self._table.schema.fingerprint)
        if not isinstance(request, (VoteTask, ClassifierTask)):
            raise ProtocolError(f"no answer to a {type(request).__name__}")
        if self._role is None:
            self._role = self._trained(request)
        return self._role.answer(request)

    def _trained(self, task: VoteTask | ClassifierTask) -> Party:
        declared = isinstance(task, ClassifierTask)
        terms = task if isinstance(task, ClassifierTask) else task.terms
        columns = task.n_columns if isinstance(task, ClassifierTask) else task.points.shape[1]
        if columns != self._table.width:
            raise ProtocolError(
                f"the task is for points of {columns} columns, this party's have "
                f"{self._table.width}. Compare the schemas"
            )
        if len(self._table) < terms.shards * self._least:
            raise ProtocolError(
                f"a shard would hold fewer than {self._least} records, the least that this party "
                "trains on. Agree on fewer shards"
            )
        name = self._table.name
        if self._table.labels is None:
            raise InvalidDataError(
                f"{name!r}: has no labels. Give a pair (points, labels), or a `schema` with a label"
            )
        self._check_classes(terms.classes)
        if not self._checked:
            check_learner(self._learner, terms, columns, declared=declared)
        learner = learner_of(self._learner, terms.grid)
        classifiers = train(
            self._table.scaled,
            self._table.labels,
            self._table.rows,
            learner=learner,
            classes=terms.classes,
            shards=terms.shards,
            name=name,
            least=self._least,
            seed=self._seed,
        )
        if not declared:
            ballots = [ballot_of(c, self._seed, f"{name}/{k}") for k, c in enumerate(classifiers)]
            return Voter(ballots, terms.classes)
        kind = type(learner).__name__
        return declarer(classifiers, terms.classes, terms.grid, name, columns, kind)

    def _check_classes(self, classes: tuple[Label, ...]) -> None:
        """Refuse a choice among the classes of a public schema: it could name rare ones."""
        label = self._table.schema.label
        if label is None or not label.categories or self._checked:
            return
        if {*label.categories} - {*classes} or {*classes} - {*label.categories, label.other}:
            raise ProtocolError(
                f"classes: the task names {len(classes)}, the schema's column {label.name!r} lists "
                f"{len(label.categories)}. Name the same ones, or agree on another schema"
            )


def declarer(
    classifiers: list[Any],
    classes: tuple[Label, ...],
    grid: int,
    name: str,
    n_columns: int,
    kind: str | None = None,
) -> Declarer:
    """Return the role of a party that sends fitted classifiers as numbers."""
    numbers = declare(classifiers, classes, name, n_columns, kind)
    if grid > 1 and not numbers.probabilities:
        raise InvalidParameterError(
            f"{name!r}: a grid above 1 needs classifiers with probabilities"
        )
    return Declarer(numbers, classes, n_columns)


def check_learner(
    learner: Any, terms: Terms | ClassifierTask, n_columns: int, *, declared: bool
) -> None:
    """Refuse, by public facts alone, a learner that fails or cannot vote: on made-up points.

    At a party's own records a learner that fails abstains, so here is the one place to notice it.
    """
    learner = learner_of(learner, terms.grid)
    places = np.arange(max(40, 10 * len(terms.classes))) % len(terms.classes)
    points = np.random.default_rng(0).random((len(places), n_columns))
    try:
        made = fitted(learner, points, fit_labels(terms.classes)[places], 0, "")
        with own_coins(0, ""):
            said = made.predict(points)
            if terms.grid > 1:
                made.predict_proba(points)
    except Exception as error:
        raise InvalidParameterError(
            f"learner: it failed with {type(error).__name__} on made-up points from 0 to 1 of "
            f"{counted(n_columns, 'column', 'columns')} and {len(terms.classes)} classes. Try it "
            "on such points of your own"
        ) from None
    if np.shape(said) != places.shape:
        raise InvalidParameterError("learner: its predict must return one label for each point")
    if declared:
        declarer([made] * terms.shards, terms.classes, terms.grid, "learner", n_columns)
