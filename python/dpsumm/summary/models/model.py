"""Classifiers trained on a summary, private towards everyone who sees them.

Claim
    A model's weights, together with all that was released in the summary's run and after it, are
    (epsilon, delta)-DP for one record of an owner, its label included, towards everybody.
Assumes
    The summary is stable (`Stability`). Classes, norm, regularisation, epsilon and the wish to
    train were chosen without looking at the summary.
Argument
    ``docs/privacy/private-models.md``.
Numerics
    Noise is exact and on integer grids (`perturbation.py`, `sgd.py`). A seed does not exist.
Tested by
    tests/summary/test_private_model.py
"""

from __future__ import annotations

import hashlib
import math
import reprlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.checks import check_number
from dpsumm.data.extract import Source
from dpsumm.data.inputs import read_every_row
from dpsumm.data.kinds.label import are_distinct, places_of
from dpsumm.data.schema import Schema
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy import accounting
from dpsumm.privacy.events import Approximate, Charge, Observer, Protected, Unit
from dpsumm.privacy.guarantees import PrivacyReport
from dpsumm.privacy.ledger import Ledger
from dpsumm.summary.models.ball import Ball
from dpsumm.summary.models.noise import Noise
from dpsumm.summary.models.perturbation import Perturbed
from dpsumm.summary.models.sgd import DpSgd, SgdNoise, SgdTrainer
from dpsumm.summary.models.training import Examples
from dpsumm.summary.stability import UNSTABLE, Stability

# Of the delta that is left, where the run's other releases need some, and where they do not.
_SHARE, _ALL = 0.5, 0.99
# Less than this is no model.
_LEAST_EPSILON = 1e-3


@dataclass(frozen=True, eq=False)
class PrivateModel:
    """A classifier that may be shown to anybody; `Summary.private_model` makes it.

    It depends on records only by charged releases.

    Attributes
    ----------
    classes
        The K classes, in the order given.
    schema
        The columns that it sees.
    ball
        How a record becomes a vector of d coordinates, its last a constant.
    layers
        Weights, float64. Of a linear model one array, (d, 1) for two classes (towards the second),
        else (d, K), a column for each class. Of a network two: (d, h) of h hidden units, whose
        hyperbolic tangents, with a constant 1, meet the second, (h + 1, 1) or (h + 1, K).
    noise
        Noise and regularisation of objective perturbation, or of DP-SGD.
    privacy
        The summary's report with this model in it.

    See Also
    --------
    dpsumm.summary.Summary.private_model : Makes one. Its example runs.
    dpsumm.summary.DpSgd : Parameters of a network trained by DP-SGD.
    """

    classes: tuple[Any, ...]
    schema: Schema
    ball: Ball
    layers: tuple[NDArray[np.float64], ...]
    noise: Noise | SgdNoise
    privacy: PrivacyReport

    def __repr__(self) -> str:
        epsilon = self.privacy.epsilon(protected=Protected.OWNERS)
        columns = len(self.schema.kernel)
        classes = reprlib.repr(self.classes)
        return f"PrivateModel(classes={classes}, epsilon={epsilon:.3g}, columns={columns})"

    def scores(self, data: Source) -> NDArray[np.float64]:
        """Return (n, 1) or (n, K) scores of records: arrays, frames or files, like the target's.

        Raises
        ------
        InvalidDataError
            The data do not fit the schema, or a row lacks a value and the schema drops such rows.
        """
        table = read_every_row(data, name="data", schema=self.schema)
        x = self.ball(table.scaled)
        for weights in self.layers[:-1]:
            x = np.column_stack([np.tanh(x @ weights), np.ones(len(x))])
        scores: NDArray[np.float64] = x @ self.layers[-1]
        return scores

    def predict(self, data: Source) -> NDArray[Any]:
        """Return the class (n,) of each record."""
        scores = self.scores(data)
        best = scores[:, 0] > 0 if len(self.classes) == 2 else scores.argmax(axis=1)
        return np.array(self.classes)[best.astype(np.int64)]

    def predict_proba(self, data: Source) -> NDArray[np.float64]:
        """Return (n, K) chances of the classes."""
        scores = self.scores(data)
        if len(self.classes) == 2:
            scores = np.hstack([np.zeros_like(scores), scores])
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        normed: NDArray[np.float64] = chances / chances.sum(axis=1, keepdims=True)
        return normed


@dataclass(frozen=True, eq=False)
class Training:
    """The summary that a model is trained from, and the books of its run.

    Attributes
    ----------
    points : (p, e), labels : (p,)
        In the kernel's space. The labels that travelled along.
    size
        p, public.
    schema
        Of the summary.
    stability
        How much of the summary one record changes.
    privacy
        The run's report, with all releases since.
    """

    points: NDArray[np.floating] = field(repr=False)
    labels: NDArray[Any] | None = field(repr=False)
    size: int
    schema: Schema
    stability: Stability
    privacy: PrivacyReport

    def model(
        self,
        book: Ledger,
        classes: Sequence[Any],
        *,
        epsilon: float,
        method: DpSgd | str,
        regularization: float | None,
        norm: float | None,
        key: str,
    ) -> PrivateModel:
        """Charge a model, train it and return it. See `Summary.private_model`."""
        for name, value in (("regularization", regularization), ("norm", norm)):
            if value is not None:
                check_number(value, name, 1e-12, 1e12)
        sgd = _method(method, regularization)
        classes = _classes(classes)
        changed = self._changed()
        ball = Ball.of(self.schema.for_target(), norm)
        answers = self._answers(classes)
        left = self._left(book, key, epsilon)
        examples = Examples(ball(self.points), answers, len(classes), changed, *left)
        trainer: Perturbed | SgdTrainer
        trainer = Perturbed(examples, regularization) if sgd is None else SgdTrainer(examples, sgd)
        facts = (classes, ball.centre.tolist(), ball.norm, *trainer.public)
        binding = hashlib.sha256(repr(facts).encode()).hexdigest()
        charge, drawn = trainer.release(
            book,
            key,
            message=f"weights of a model of {len(classes)} classes, {self.size} points ({key})",
            binding=binding,
        )
        return PrivateModel(
            classes=classes,
            schema=self.schema.for_target(),
            ball=ball,
            layers=trainer.layers(drawn),
            noise=trainer.noise,
            privacy=self._with(charge, book),
        )

    def _with(self, charge: Charge, book: Ledger) -> PrivacyReport:
        """Return the report after the charge, by the books if there are any."""
        charges = (
            (*self.privacy.charges, charge) if book.path is None else book.charges(run=book.run)
        )
        return replace(self.privacy, charges=charges)

    def _changed(self) -> int:
        if self.stability.points is None:
            raise InvalidParameterError(
                "a model trained on this summary cannot be private: "
                f"{self.stability.argument}. {UNSTABLE}"
            )
        if len(self.points) != self.size:
            raise InvalidParameterError(
                "a model trained on this summary cannot be private: it has fewer points than were "
                "asked for, and how many depends on records"
            )
        if self.privacy.embedded:
            raise InvalidParameterError(
                "a model of features under a secret map means nothing to who lacks the map. Make "
                "the summary without an embedding"
            )
        return self.stability.points

    def _answers(self, classes: tuple[Any, ...]) -> NDArray[np.int64]:
        """Return the position of each label among the classes, -1 for one that is not listed."""
        labels = self.labels
        if labels is None:
            raise InvalidParameterError(
                "label: the summary has no labels. Give the owners' (label=, or a schema with one)"
            )
        answers = places_of(labels, classes)
        if (answers < 0).any():
            # For the consumer, who has the labels; to stop would tell everybody.
            warnings.warn(
                "some labels of the summary are not among the classes. Their points count for "
                "nothing. Do not tell this to whom the model is shown",
                stacklevel=4,
            )
        return answers

    def _left(self, book: Ledger, key: str, epsilon: float) -> tuple[float, float]:
        """Return the (epsilon, delta) that is left for this model."""
        charges = self.privacy.charges if book.path is None else book.charges(before=key)
        mine = [c for c in charges if c.protected is Protected.OWNERS]
        if any(c.unit is not Unit.REPLACE_RECORD for c in mine):
            raise InvalidParameterError("unit: what was released before is for another unit")
        earlier = [(c.event, c.count) for c in mine]
        added = sum(e.delta * n for e, n in earlier if isinstance(e, Approximate))
        only_added = all(isinstance(e, Approximate) for e, _ in earlier)
        delta = (_ALL if only_added else _SHARE) * (book.delta - added)
        spent = accounting.compose(earlier, book.delta - delta)
        if math.isinf(spent):
            raise InvalidParameterError(
                "a model trained on this summary cannot be private: what the run released has no "
                "guarantee for the owners' records (see Summary.privacy). Use "
                "Auction(reselect=False) with requests 'all' or 'private' and without a seed"
            )
        # A little less, since sums are rounded up.
        left = (epsilon - spent) * (1 - 1e-8)
        if left < _LEAST_EPSILON:
            raise InvalidParameterError(
                f"epsilon is for all that everybody can see of the owners' records: {spent:.3g} of "
                f"{epsilon:g} was spent before this model, at delta {book.delta - delta:.3g}, "
                f"which this model leaves of the run's {book.delta:g}. {_way_out(mine)}"
            )
        return left, delta


def _way_out(earlier: Sequence[Charge]) -> str:
    if any(charge.observer is Observer.PUBLIC for charge in earlier):
        return "This summary has given a model, to which another adds: ask for a larger epsilon"
    return "Ask for more, or run Auction with a smaller epsilon_owners"


def _method(method: DpSgd | str, regularization: float | None) -> DpSgd | None:
    """Return DP-SGD's parameters, or None for objective perturbation."""
    if method == "objective":
        return None
    if method == "sgd":
        method = DpSgd()
    if not isinstance(method, DpSgd):
        raise InvalidParameterError(
            f"method must be 'objective', 'sgd' or dpsumm.summary.DpSgd(...), got {method!r}"
        )
    if regularization is not None:
        raise InvalidParameterError("regularization means nothing for DP-SGD. Leave it out")
    method.check()
    return method


def _classes(classes: Sequence[Any]) -> tuple[Any, ...]:
    listed = () if isinstance(classes, str) else tuple(classes)
    kinds = {np.array(name).dtype.kind for name in listed}
    if (
        not 2 <= len(listed) <= 1000
        or not (kinds == {"U"} or (kinds <= set("biuf") and np.isfinite(listed).all()))
        or not are_distinct(listed)
    ):
        raise InvalidParameterError(
            "classes must list 2 to 1000 different labels, all texts or all finite numbers: a "
            "public list, not one made from the summary"
        )
    return listed
