"""A network's gradients, point by point, by JAX. Clipped by JAX Privacy. Steps by Optax.

Its numbers may differ from one processor to another. Gradients are cut to integers before they are
added up (`sgd.py`), and steps are taken with noisy sums alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax_privacy import clipped_grad
from numpy.typing import NDArray

from dpsumm.summary.models.training import Shapes, parts

# Rows whose gradients are held at once.
BLOCK = 256

# Of the last steps, whose weights are averaged: noise of single steps evens out.
_AVERAGED = 0.5
# First weights of hidden units: rows have norm at most 1, so this is where they begin to bend.
_SPREAD = 2.0


class Network:
    """One hidden layer of hyperbolic tangents, or none.

    Rows go through the same code one after another, and not side by side. So the last bits of a
    row's result do not depend on its place among the others.

    Parameters
    ----------
    shapes
        Of the layers.
    rows : (n, d) float64, answers : (n,) int64
        As `Examples`.
    clip
        Length of the longest gradient.
    """

    def __init__(
        self, shapes: Shapes, rows: NDArray[np.float64], answers: NDArray[np.int64], clip: float
    ) -> None:
        self._shapes = shapes
        gap = -len(rows) % BLOCK
        self._rows = np.pad(rows, ((0, gap), (0, 0))).astype(np.float32)
        self._answers = np.pad(answers, (0, gap), constant_values=-1)
        # A little less, so that rounding makes no gradient too long.
        one = clipped_grad(_loss, l2_clip_norm=clip * (1 - 2.0**-20), batch_argnums=(1, 2))

        def gradients(layers: Any, x: Any, answers: Any) -> Any:
            # A batch of one example has its own gradient for a sum.
            found = jax.lax.map(
                lambda row: one(layers, row[0], row[1]), (x[:, None], answers[:, None])
            )
            return jnp.concatenate([layer.reshape(len(x), -1) for layer in found], axis=1)

        self._gradients = jax.jit(gradients)

    def gradients(self, weights: NDArray[np.float64]) -> Iterable[NDArray[np.floating[Any]]]:
        """Yield gradients of blocks of rows, (rows, weights), one after another."""
        layers = tuple(jnp.asarray(x, jnp.float32) for x in parts(weights, self._shapes))
        for start in range(0, len(self._rows), BLOCK):
            block = slice(start, start + BLOCK)
            yield np.asarray(self._gradients(layers, self._rows[block], self._answers[block]))


def _loss(layers: Any, x: Any, answers: Any) -> Any:
    """Return the loss of one example, (1, d); 0 where its answer is -1."""
    for weights in layers[:-1]:
        hidden = jnp.tanh(x @ weights)
        x = jnp.concatenate([hidden, jnp.ones((len(x), 1))], axis=1)
    scores = x @ layers[-1]
    if scores.shape[1] == 1:
        losses = optax.sigmoid_binary_cross_entropy(scores[:, 0], answers == 1)
    else:
        losses = optax.softmax_cross_entropy_with_integer_labels(scores, jnp.maximum(answers, 0))
    return jnp.where(answers >= 0, losses, 0.0).sum()


class Steps:
    """The optimiser's way from public first weights, by means of noisy gradients.

    Parameters
    ----------
    shapes
        Of the layers.
    rate
        Of Adam.
    steps
        How many there will be.
    """

    def __init__(self, shapes: Shapes, rate: float, steps: int) -> None:
        self._optimiser = optax.adam(rate)
        rng = np.random.default_rng(0)
        first = [_SPREAD * rng.normal(size=shape).ravel() for shape in shapes[:-1]]
        self.weights = np.concatenate([*first, np.zeros(np.prod(shapes[-1]))])
        self._state = self._optimiser.init(jnp.asarray(self.weights, jnp.float32))
        self._taken, self._counted_from = 0, steps - max(1, round(_AVERAGED * steps))
        self._total = np.zeros_like(self.weights)

    def take(self, gradient: NDArray[np.float64]) -> None:
        """Take one step."""
        moved, self._state = self._optimiser.update(jnp.asarray(gradient, jnp.float32), self._state)
        self.weights = self.weights + np.asarray(moved, dtype=np.float64)
        if self._taken >= self._counted_from:
            self._total += self.weights
        self._taken += 1

    @property
    def mean(self) -> NDArray[np.float64]:
        """Mean weights of the last steps."""
        return self._total / (self._taken - self._counted_from)
