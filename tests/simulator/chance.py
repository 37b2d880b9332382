"""Randomness of a simulated run: all of it from one seed, and none of it drawn twice."""

import random
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import numpy as np

from dpsumm.kernels import noise


class Chance:
    """What a run draws from the operating system, from a seed instead.

    Attributes
    ----------
    noise
        All noise that was drawn, in order.
    """

    def __init__(self, seed: int) -> None:
        # One for each kind: libraries draw when they are imported, which only the first run does.
        self._bytes, self._bits, self._noise = (random.Random(f"{seed} {i}") for i in range(3))
        self.noise: list[np.ndarray] = []

    @contextmanager
    def patched(self) -> Iterator[None]:
        """Draw from the seed inside."""
        with (
            mock.patch.object(secrets, "token_bytes", self._bytes.randbytes),
            mock.patch.object(secrets, "token_hex", lambda n: self._bytes.randbytes(n).hex()),
            mock.patch.object(secrets, "randbits", self._bits.getrandbits),
            mock.patch.object(noise, "_core", _Core(self)),
        ):
            yield

    def seed(self) -> int:
        """Return a fresh seed for a kernel."""
        return self._noise.getrandbits(64)


class _Core:
    """The compiled core, whose noise is seeded."""

    def __init__(self, chance: Chance) -> None:
        self._chance, self._real = chance, noise._core

    def rounded_normal(self, std: float, size: int, seed: int | None) -> np.ndarray:
        seed = self._chance.seed() if seed is None else seed
        drawn = self._real.rounded_normal(std, size, seed)
        self._chance.noise.append(drawn.copy())
        return drawn

    def discrete_laplace(self, scale: float, size: int, seed: int | None) -> np.ndarray:
        seed = self._chance.seed() if seed is None else seed
        return self._real.discrete_laplace(scale, size, seed)
