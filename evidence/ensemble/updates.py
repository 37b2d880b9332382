"""Private updates beside what else is trained in rounds: federated averaging, and DP-SGD of sums.

Both train a softmax regression on the points as they are, with noise for the same unit and budget,
and get the parameter that turned out best on the test points.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpsumm
from dpsumm.data.kinds.label import places_of
from dpsumm.privacy import Unit
from dpsumm.privacy.accounting import gaussian_noise_multiplier
from evidence.ensemble.tasks import Parts, Task, dealt

WHOLE, RECORD = "private updates", "private updates, a record"
AVERAGED, SUMMED = "federated averaging", "DP-SGD of sums, a record"
METHODS = (WHOLE, AVERAGED, RECORD, SUMMED)
# Parties of whom single records are protected as well, as in a few hospitals.
FEW = 10
# Draws of the noise of the two that are tried with several parameters.
DRAWS = 3
ROUNDS, LOCAL, LENGTHS = 10, 10, (0.3, 1.0, 3.0, 10.0)
STEPS, RATES = 50, (1.0, 4.0, 16.0)
Floats = NDArray[np.float32]


def measured(
    task: Task, n_parties: int, epsilons: Sequence[float], delta: float, draws: int
) -> Iterator[dict[str, Any]]:
    """Yield the rows of one data set and number of parties."""
    parties = list(dealt(task, n_parties))
    data = Stacked.of(task, parties)
    for epsilon in epsilons:
        units = [Unit.WHOLE_OWNER, *([Unit.REPLACE_RECORD] if n_parties == FEW else [])]
        for unit in units:
            whole = unit is Unit.WHOLE_OWNER
            found = [learnt(task, parties, epsilon, delta, unit) for _ in range(draws)]
            yield row(WHOLE if whole else RECORD, epsilon, found)
            run = data.averaged if whole else data.summed
            name, tried = (AVERAGED, LENGTHS) if whole else (SUMMED, RATES)
            yield best_of(name, epsilon, delta, run, tried)


def row(method: str, epsilon: float, found: Sequence[float], best: str = "") -> dict[str, Any]:
    """Return what stands in the table of results."""
    mean, spread = float(np.mean(found)), float(np.std(found))
    return {"method": method, "epsilon": epsilon, "mean": mean, "spread": spread, "best": best}


def learnt(task: Task, parties: Sequence[Parts], epsilon: float, delta: float, unit: Unit) -> float:
    """Return the accuracy of `dpsumm.learn` by its defaults."""
    each = round(len(task.points) / len(parties)) if unit is Unit.WHOLE_OWNER else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few parties, much noise
        model = dpsumm.learn(
            {f"p{i}": part for i, part in enumerate(parties)},
            task.public_points,
            classes=np.unique(task.labels),
            epsilon=epsilon,
            delta=delta,
            unit=unit,
            protocol=dpsumm.Updates(records_per_owner=each),
            allow_weak_privacy=True,
        )
        return float((model.predict(task.test) == task.test_labels).mean())


def best_of(
    name: str,
    epsilon: float,
    delta: float,
    run: Callable[[float, float, np.random.Generator], float],
    tried: Sequence[float],
) -> dict[str, Any]:
    """Return the row of the parameter that is best on the test points."""
    z = gaussian_noise_multiplier(epsilon, delta)
    found = {}
    for parameter in tried:
        rng = np.random.default_rng()
        found[parameter] = [run(parameter, z, rng) for _ in range(DRAWS)]
    best = max(found, key=lambda parameter: float(np.mean(found[parameter])))
    return row(name, epsilon, found[best], f"{best:g}")


@dataclass(frozen=True)
class Stacked:
    """All parties' records in one array, a constant before them; weight 0 where a party has fewer.

    Attributes
    ----------
    x : (M, n, d + 1), y : (M, n, K), weight : (M, n)
        Points as parts of the longest public one, labels one-hot.
    """

    x: Floats
    y: Floats
    weight: Floats
    test: Floats
    places: NDArray[np.int64]

    @classmethod
    def of(cls, task: Task, parties: Sequence[Parts]) -> Stacked:
        """Return a task's."""
        classes = tuple(np.unique(task.labels).tolist())
        radius = float(np.linalg.norm(task.public_points, axis=1).max())
        most, columns = max(len(y) for _, y in parties), task.points.shape[1]
        x = np.zeros((len(parties), most, columns + 1), np.float32)
        y = np.zeros((len(parties), most, len(classes)), np.float32)
        weight = np.zeros((len(parties), most), np.float32)
        for i, (points, labels) in enumerate(parties):
            n = len(labels)
            x[i, :n, 0], x[i, :n, 1:], weight[i, :n] = 1.0, points / radius, 1.0
            y[i, np.arange(n), places_of(labels, classes)] = 1.0
        test = np.hstack([np.ones((len(task.test), 1)), task.test / radius]).astype(np.float32)
        return cls(x, y, weight, test, places_of(task.test_labels, classes))

    def averaged(self, length: float, z: float, rng: np.random.Generator) -> float:
        """Return the accuracy of averaged local models: each round's change is cut to `length`."""
        m, _, d = self.x.shape
        weights = np.zeros((d, self.y.shape[2]), np.float32)
        # A mean of vectors of this length moves by twice it over M.
        noise = 2 * length * z * math.sqrt(ROUNDS) / m
        records = self.weight.sum(axis=1)[:, None, None]
        for _ in range(ROUNDS):
            own = np.repeat(weights[None], m, axis=0)
            for _ in range(LOCAL):
                missed = (self.y - _softmax(self.x @ own)) * self.weight[:, :, None]
                own += 4 * self.x.transpose(0, 2, 1) @ missed / records
            change = own - weights
            norms = np.sqrt((change**2).sum(axis=(1, 2)))
            change *= np.minimum(1.0, length / np.maximum(norms, 1e-12))[:, None, None]
            weights += change.mean(axis=0) + rng.normal(0, noise, weights.shape).astype(np.float32)
        return self._right(weights)

    def summed(self, rate: float, z: float, rng: np.random.Generator) -> float:
        """Return the accuracy of steps along the sum of gradients, each cut to length 1."""
        used = self.weight > 0
        x, y = self.x[used], self.y[used]
        lengths = np.linalg.norm(x, axis=1, keepdims=True)
        weights = np.zeros((x.shape[1], y.shape[1]), np.float32)
        noise = 2 * z * math.sqrt(STEPS) / len(x)
        for _ in range(STEPS):
            missed = y - _softmax(x @ weights)
            norms = lengths * np.linalg.norm(missed, axis=1, keepdims=True)
            missed *= np.minimum(1.0, 1 / np.maximum(norms, 1e-12))
            drawn = rng.normal(0, noise, weights.shape).astype(np.float32)
            weights += rate * (x.T @ missed / len(x) + drawn)
        return self._right(weights)

    def _right(self, weights: Floats) -> float:
        return float(((self.test @ weights).argmax(axis=1) == self.places).mean())


def _softmax(scores: Floats) -> Floats:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares: Floats = powers / powers.sum(axis=-1, keepdims=True)
    return shares
