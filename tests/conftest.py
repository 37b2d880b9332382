"""Seeds and settings shared by all tests."""

import os
import random

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from helpers.same_draws import repeat

settings.register_profile(
    "default", max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("long", max_examples=1000, deadline=None)
settings.load_profile(os.environ.get("DPSUMM_HYPOTHESIS", "default"))


@pytest.fixture(autouse=True)
def same_draws(request):
    """Noise of a test marked `same_draws` is the same in every run."""
    if request.node.get_closest_marker("same_draws"):
        repeat(request.getfixturevalue("monkeypatch"), int(os.environ.get("DPSUMM_TEST_SEED", "0")))


@pytest.fixture
def seed(request):
    """A fresh seed, printed when a test fails; 0 under `same_draws`; set by DPSUMM_TEST_SEED.

    Fresh for each test and each value of DPSUMM_TEST_DRAW, where that is set: a commit then passes
    or fails again.
    """
    same = request.node.get_closest_marker("same_draws")
    draw = os.environ.get("DPSUMM_TEST_DRAW")
    coins = random.Random(f"{draw} {request.node.nodeid}") if draw else random.SystemRandom()
    value = int(os.environ.get("DPSUMM_TEST_SEED", 0 if same else coins.getrandbits(32)))
    print(f"DPSUMM_TEST_SEED={value}")
    return value


@pytest.fixture
def rng(seed):
    return np.random.default_rng(seed)
