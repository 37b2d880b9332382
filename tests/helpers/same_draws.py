"""The same draws in every run, for tests of what noisy results are good for.

How good a model is after noise has no law that a test could hold it to: its records and its noise
are drawn from seeds instead, so that chance decides nothing. The laws of the noise have tests of
their own.
"""

import random
import secrets
from importlib import import_module
from itertools import count

NOISE = ("rounded_normal", "discrete_laplace", "exponential_choice")
DRAWING = ("dpsumm.kernels", "dpsumm.vertical.owner", "dpsumm.vertical.dpvi.method")


def repeat(monkeypatch, seed: int) -> None:
    """Let noise and coins of this process, which nothing seeds, come from a seed."""
    coins, numbers = random.Random(seed), count(seed)
    monkeypatch.setattr(secrets, "randbits", coins.getrandbits)
    monkeypatch.setattr(secrets, "token_bytes", lambda size=32: coins.randbytes(size))
    for module in map(import_module, DRAWING):
        for name in NOISE:
            if hasattr(module, name):
                monkeypatch.setattr(module, name, _numbered(getattr(module, name), numbers))


def _numbered(draw, numbers):
    def drawn(first, second, seed=None):
        return draw(first, second, next(numbers) if seed is None else seed)

    return drawn
