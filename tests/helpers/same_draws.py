"""The same draws in every run, for tests of what noisy results are good for.

How good a model is after noise has no law that a test could hold it to: its records and its noise
are drawn from seeds instead, so that chance decides nothing. The laws of the noise have tests of
their own.
"""

import inspect
import random
import secrets
from importlib import import_module
from itertools import count

import numpy as np

from dpsumm.kernels import RandomFeatures

NOISE = (
    "rounded_normal",
    "discrete_laplace",
    "exponential_choice",
    "mwem",
    "sample_mixture",
)
DRAWING = (
    "dpsumm.kernels",
    "dpsumm.privacy.release.annex",
    "dpsumm.privacy.release.noise",
    "dpsumm.vertical.model",
    "dpsumm.papers.dpvi.method",
)


def repeat(monkeypatch, seed: int) -> None:
    """Let all that this process draws without a seed come from one, until this is undone.

    Functions that a test module imported by their own names are not among it: such a test says
    ``kernels.rounded_normal``.
    """
    coins, numbers = random.Random(seed), count(seed)
    monkeypatch.setattr(secrets, "randbits", coins.getrandbits)
    monkeypatch.setattr(secrets, "token_bytes", lambda size=32: coins.randbytes(size))
    monkeypatch.setattr(np.random, "default_rng", _numbered(np.random.default_rng, numbers))
    rounded = _numbered(RandomFeatures.quantized_sum, numbers)
    monkeypatch.setattr(RandomFeatures, "quantized_sum", rounded)
    # All before one changes: a module imported later would keep the changed names for good.
    for module in list(map(import_module, DRAWING)):
        for name in NOISE:
            if hasattr(module, name):
                monkeypatch.setattr(module, name, _numbered(getattr(module, name), numbers))


def _numbered(draw, numbers):
    signature = inspect.signature(draw)

    def drawn(*given, **named):
        bound = signature.bind(*given, **named)
        if bound.arguments.get("seed") is None:
            bound.arguments["seed"] = next(numbers)
        return draw(*bound.args, **bound.kwargs)

    return drawn
