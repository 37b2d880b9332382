"""A party of private updates. Its records stay at home, and one vector a round leaves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpsumm.data.kinds.label import places_of
from dpsumm.data.table import Table
from dpsumm.ensemble.students.whitened import Whitened
from dpsumm.ensemble.terms import Label
from dpsumm.ensemble.updates.clipping import BLOCK, owner_vector, records_vector
from dpsumm.ensemble.updates.messages import CODEC, Step, Update, UpdateTask, is_step
from dpsumm.errors import InvalidDataError, ProtocolError
from dpsumm.exchange.messages import Answer, Describe, Description, Request
from dpsumm.exchange.roles import Party

Array = NDArray[np.float64]


class Updater(Party):
    """Answers each round once, from its records and the round's task.

    Nothing is drawn at random, so asked the same it answers the same. This object remembers its
    answers while it lives. One that is made anew for every exchange needs
    `dpsumm.ensemble.once.Once`.

    Parameters
    ----------
    table
        Its records, with labels. Rows of other labels and rows without a value count for nothing. A
        party that has no other answers with zeros, which look the same as absence.
    classes
        The terms that it agreed to, if it did.
    """

    codec = CODEC
    forgets = True

    def __init__(self, table: Table, classes: tuple[Label, ...] | None = None) -> None:
        if table.labels is None:
            raise InvalidDataError(
                f"{table.name!r}: has no labels. Give a pair (points, labels), or a `schema` "
                "with a label"
            )
        self._table = table
        self._classes = None if classes is None else tuple(sorted(classes))
        self._agreed: UpdateTask | None = None
        self._data: tuple[Whitened, Array, Array] | None = None
        self._answered: dict[int, tuple[Step, Update]] = {}

    @property
    def n_records(self) -> int:
        """Rows that it learns from."""
        return len(self._table)

    def answer(self, request: Request) -> Answer:
        """Describe the data, or answer a round. For the curator alone."""
        if isinstance(request, Describe):
            return Description(len(self._table), self._table.schema.fingerprint)
        if not isinstance(request, UpdateTask):
            raise ProtocolError(f"no answer to a {type(request).__name__}")
        self._agree(request)
        step = request.step
        if not is_step(step, (len(request.gains), request.terms.n_classes)):
            raise ProtocolError("the round's model does not fit the task, or is not finite")
        if step.number >= request.recipe.rounds:
            raise ProtocolError("the round is none of those that were agreed on")
        known = self._answered.get(step.number)
        if known is None:
            vector = self._vector(request)
            made = Update(request.run, request.terms.digest, step.number, vector)
            known = self._answered[step.number] = (step, made)
        if not known[0].same_as(step):
            raise ProtocolError(
                "this party has answered the round with another model, and answers once"
            )
        return known[1]

    def _agree(self, task: UpdateTask) -> None:
        """Take the terms of the first task. Refuse one of others."""
        if (agreed := self._agreed) is not None:
            if (task.run, task.terms, task.recipe) != (agreed.run, agreed.terms, agreed.recipe):
                raise ProtocolError("this party takes part in one run, of one budget and points")
            return
        if self._classes is not None and self._classes != task.terms.classes:
            raise ProtocolError("the classes of the task are not those that this party agreed to")
        if len(task.basis.mean) != self._table.width:
            raise ProtocolError(
                f"the task is for points of {len(task.basis.mean)} columns, this party's have "
                f"{self._table.width}. Compare the schemas"
            )
        self._agreed = task

    def _vector(self, task: UpdateTask) -> NDArray[np.int64]:
        if self._data is None or self._data[0] is not task.basis:
            self._data = task.basis, *self._made(task)
        step = task.step
        given = (*self._data[1:], step.weights, task.gains, step.clip)
        return owner_vector(*given, step.shares) if task.recipe.whole else records_vector(*given)

    def _made(self, task: UpdateTask) -> tuple[Array, Array]:
        """Return features, (n, m + 1), and one-hot labels, (n, K), of all n rows of the data.

        Rows that were left out are NaN and zero. So neither a product's shape nor a record's place
        tells of another record, and features are those of the record to the last bit.
        """
        table = self._table
        assert table.labels is not None
        points = np.full((table.n_given, table.width), np.nan)
        points[table.rows] = table.scaled
        parts = [task.basis.of(points[i : i + BLOCK]) for i in range(0, len(points), BLOCK)]
        features = np.concatenate([np.empty((0, len(task.gains) - 1)), *parts])
        places = places_of(table.labels, task.terms.classes)
        y = np.zeros((len(points), task.terms.n_classes))
        listed = np.flatnonzero(places >= 0)
        y[table.rows[listed], places[listed]] = 1.0
        return np.hstack([np.ones((len(points), 1)), features]), y
