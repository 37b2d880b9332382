"""The input and the result of every way to train a model that may be shown."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpsumm.privacy.events import Charge
from dpsumm.privacy.ledger import Ledger

# Of the layers of a network.
Shapes = tuple[tuple[int, int], ...]
# What was charged, and the weights as bytes.
Released = tuple[Charge, bytes]


@dataclass(frozen=True, eq=False)
class Examples:
    """Records as vectors, and the budget of a model of them.

    Attributes
    ----------
    rows : (n, d) float64
        Of norm at most 1, the last coordinate a constant.
    answers : (n,) int64
        Class of each row, or -1 without one. The row then counts in n and for nothing else.
    classes
        K, at least 2.
    changed
        Rows, each with its answer, that one replaced record replaces.
    epsilon, delta
        What the model may cost.
    """

    rows: NDArray[np.float64] = field(repr=False)
    answers: NDArray[np.int64] = field(repr=False)
    classes: int
    changed: int
    epsilon: float
    delta: float


class Trainer(ABC):
    """A way to train: made from `Examples` before the charge, releases the weights."""

    @property
    @abstractmethod
    def public(self) -> tuple[object, ...]:
        """Public facts that a drawn model is of. Other facts, another model."""

    @abstractmethod
    def release(self, book: Ledger, key: str, message: str, binding: str) -> Released:
        """Charge a model that is (epsilon, delta)-DP for rows that are replaced, and draw it."""

    @abstractmethod
    def layers(self, drawn: bytes) -> tuple[NDArray[np.float64], ...]:
        """Return the weights of `PrivateModel.layers` from a draw."""


def parts(weights: NDArray[np.float64], shapes: Shapes) -> tuple[NDArray[np.float64], ...]:
    """Return all weights as layers."""
    ends = np.cumsum([a * b for a, b in shapes])
    flat = np.split(weights, ends[:-1])
    return tuple(one.reshape(shape) for one, shape in zip(flat, shapes, strict=True))
