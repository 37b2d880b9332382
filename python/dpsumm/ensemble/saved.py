"""A model in a file: plain numbers, no pickle. Anyone who reads it runs no code of another."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.atomic import write_atomically
from dpsumm.basics.checks import check_installed
from dpsumm.basics.names import is_name
from dpsumm.data.inputs import Source
from dpsumm.data.schema import Schema
from dpsumm.data.schema_toml import to_toml
from dpsumm.data.written import write_rows
from dpsumm.ensemble.certainty import Certainty
from dpsumm.ensemble.inputs import Space
from dpsumm.ensemble.students.bases import Linear, Neighbours, Random
from dpsumm.ensemble.students.plain import Plain
from dpsumm.ensemble.students.student import Fitted
from dpsumm.ensemble.students.whitened import Whitened, is_whitened
from dpsumm.ensemble.terms import Label, are_classes
from dpsumm.errors import InvalidDataError, InvalidParameterError, ProtocolError
from dpsumm.exchange.codec import Codec, Kind
from dpsumm.exchange.disclosure import Disclosure, Reveals
from dpsumm.exchange.fields import is_array, is_number, is_whole
from dpsumm.exchange.messages import Answer

# Numbers of the random map that a file may ask for: 1 GiB.
MOST_MAP = 2**27


@dataclass(frozen=True, eq=False)
class SavedModel(Answer):
    """A classifier learnt from noisy votes or updates, in the form of its file. Consumer to anyone.

    Charge: none towards the parties, since it is post-processing of `NoisyVotes` or `NoisyMoments`.
    Public points are not charged: a model of updates holds up to 5,000 of them as they are, one of
    the neighbour graph all. Other points were charged by `Model.export`. The consumer's labelled
    points, if they chose the student, are not protected, and a statement says it.

    Attributes
    ----------
    run
        Name of the run.
    classes
        Labels, ascending.
    schema
        Of the columns, in TOML.
    student
        Name of the candidate.
    learnt
        The learnt functions.
    certainty
        How sure the probabilities may be.
    statements
        The run's guarantees.

    See Also
    --------
    dpsumm.ensemble.load_model : Reads one. Its example runs.
    """

    disclosure: ClassVar[Disclosure | None] = Disclosure(
        "consumer",
        "whoever the consumer gives the model",
        "the classifier as plain numbers, some public points among them, the columns' schema, the "
        "statements of privacy",
        "all parties' records, through the noisy votes or moments alone; points that are not "
        "public, through what their export released; labelled points of the consumer's, if they "
        "chose the student",
        "Post-processing of what was released, at no further cost; a model of points that are not "
        "public costs these points what its export was charged.",
        "privacy/votes.md#a-model-that-may-leave",
        releases=("noisy votes", "noisy moments", "sums and products of"),
        reveals=Reveals.CHARGED,
    )

    run: str
    classes: tuple[Label, ...]
    schema: str = field(repr=False)
    student: str
    learnt: Plain = field(repr=False)
    certainty: Certainty = field(repr=False)
    statements: tuple[str, ...] = field(repr=False)

    @property
    def classes_(self) -> NDArray[Any]:
        """Labels as an array, ascending."""
        return np.array(self.classes)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the points' columns."""
        return self._space().schema.names

    def predict(self, points: Source) -> NDArray[Any]:
        """Return the most probable class of each point, (n,). See `Model.predict`."""
        chosen: NDArray[Any] = self.classes_[self._chances(points).argmax(1)]
        return chosen

    def predict_proba(self, points: Source) -> NDArray[np.float64]:
        """Return probabilities of the classes, (n, K). See `Model.predict_proba`."""
        return self.certainty.of(self._chances(points))

    def save_predictions(self, points: Source, path: str | os.PathLike[str]) -> int:
        """Write classes and probabilities to a Parquet or CSV file, and return how many.

        Columns are those of `Model.to_frame`, rows in the order of the points. Whole or not at all.

        Raises
        ------
        InvalidDataError, InvalidParameterError, MissingExtraError
            As of `predict`. Another suffix, or the file cannot be written.
        """
        rows = predictions(self.classes_, self.certainty.of(self._chances(points)))
        about = {"run": self.run, "student": self.student, "privacy": self.statements}
        write_rows(path, rows, about)
        return len(rows)

    def _chances(self, points: Source) -> NDArray[np.float64]:
        # Two calls below the user's own.
        rows = self._space().to_predict(points, stacklevel=3)
        return self.learnt.chances(rows)

    def _space(self) -> Space:
        return Space(Schema.from_toml(self.schema, "the model's schema"))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file, whole or not at all."""
        data = CODEC.encode(self)
        write_atomically(path, lambda temporary: temporary.write_bytes(data))


def predictions(classes: NDArray[Any], chances: NDArray[np.float64]) -> Any:
    """Return the most probable of K classes and (n, K) probabilities as a polars data frame."""
    check_installed("polars", "predictions as a frame need", "files")
    import polars as pl

    columns = {"prediction": classes[chances.argmax(1)]}
    columns |= {f"p_{label}": chances[:, k] for k, label in enumerate(classes)}
    return pl.DataFrame(columns)


def saved_model(
    run: str,
    classes: tuple[Label, ...],
    space: Space,
    name: str,
    fitted: Fitted,
    certainty: Certainty,
    said: list[str],
) -> SavedModel:
    """Return what can be saved of a fitted student."""
    learnt = fitted.plain()
    if not isinstance(learnt, Plain):
        raise InvalidParameterError(
            f"student: {name} is an estimator and would have to be saved as code. Use "
            "Spectral(), with Model.refit for votes that are there, at no further budget"
        )
    columns = to_toml(space.schema.columns)
    return SavedModel(run, classes, columns, name, learnt, certainty, tuple(said))


def load_model(path: str | os.PathLike[str]) -> SavedModel:
    """Return the model that `Model.save` wrote. Reading runs nothing that is in the file.

    Raises
    ------
    InvalidParameterError
        There is no such file.
    InvalidDataError
        It is not a model's.

    See Also
    --------
    dpsumm.ensemble.Model : Whose `save` writes the file.
    dpsumm.ensemble.SavedModel : The class of the result.

    Examples
    --------
    >>> import tempfile, numpy as np, dpsumm
    >>> rng = np.random.default_rng(0)
    >>> def people(n):
    ...     x = rng.normal(0, 1, (n, 2))
    ...     return x, (x[:, 0] > 0).astype(int)
    >>> parties, (x, _) = [people(10) for _ in range(60)], people(1000)
    >>> model = dpsumm.learn(parties, x, classes=[0, 1], protocol="votes")
    >>> file = f"{tempfile.mkdtemp()}/model.dpsumm"
    >>> model.save(file)
    >>> read = dpsumm.ensemble.load_model(file)
    >>> bool((read.predict(x) == model.predict(x)).all())
    True
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise InvalidParameterError(f"model: {path} cannot be read ({error.strerror})") from None
    try:
        model = CODEC.decode(data, max_bytes=max(len(data), 1))
        if isinstance(model, SavedModel):
            # Names of columns and rules about values; nothing else is in a schema.
            width = len(Schema.from_toml(model.schema, "its schema").cells)
            if _fits(model.learnt, width):
                return model
    except (ProtocolError, InvalidParameterError):
        pass
    raise InvalidDataError(
        f"model: {path} is not a model of this version of dpsumm. Give a file that Model.save or "
        "`dpsumm learn --model` wrote"
    ) from None


def _fits(learnt: Plain, width: int) -> bool:
    """Return whether all arrays are of one number of columns."""
    match learnt.features:
        case Linear():
            count = width
        case Random(_, n_columns, n_features):
            count = n_features if n_columns == width else -1
        case Neighbours(points, vectors, _):
            count = vectors.shape[1] if points.shape == (len(vectors), width) else -1
        case Whitened(mean, spread=spread):
            count = len(spread) if len(mean) == width else -1
        case _:
            return False
    return len(learnt.weights) == count + 1


def _is_saved(value: SavedModel) -> bool:
    learnt = value.learnt
    classes = len(value.classes)
    return (
        is_name(value.run)
        and type(value.schema) is str
        and type(value.student) is str
        and isinstance(value.statements, tuple)
        and all(type(text) is str for text in value.statements)
        and are_classes(value.classes)
        and isinstance(learnt, Plain)
        and type(learnt.softmax) is bool
        and _is_finite(learnt.weights)
        and learnt.weights.shape[1] == (1 if classes == 2 else classes)
        and _are_features(learnt.features)
        and _is_certainty(value.certainty, classes)
    )


def _is_certainty(value: object, classes: int) -> bool:
    return (
        isinstance(value, Certainty)
        and isinstance(value.shares, tuple)
        and all(type(part) is float and 0 <= part <= 1 for part in (value.factor, *value.shares))
        and (value.factor == 1 or len(value.shares) == classes)
    )


def _are_features(value: object) -> bool:
    match value:
        case Linear():
            return True
        case Random(gamma, n_columns, n_features):
            return (
                is_number(gamma)
                and is_whole(n_columns, 2**20)
                and is_whole(n_features, 2**18)
                and min(n_columns, n_features) >= 1
                # A few bytes stand for the map, which whoever predicts holds.
                and n_columns * n_features <= MOST_MAP
            )
        case Neighbours(points, vectors, width):
            return _is_finite(points) and _is_finite(vectors) and is_number(width)
        case Whitened():
            return is_whitened(value)
    return False


def _is_finite(value: object) -> bool:
    return is_array(value, 2, "f8") and len(value) > 0 and bool(np.isfinite(value).all())  # type: ignore[arg-type,call-overload]


CODEC = Codec(
    [Kind("Model", SavedModel, _is_saved)],
    parts={
        "Plain": Plain,
        "Certainty": Certainty,
        "Linear": Linear,
        "Random": Random,
        "Neighbours": Neighbours,
        "Whitened": Whitened,
    },
)
