"""Seeds and settings shared by all tests."""

import os
import secrets

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "default", max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("long", max_examples=1000, deadline=None)
settings.load_profile(os.environ.get("DPSUMM_HYPOTHESIS", "default"))


@pytest.fixture
def seed(record_property):
    """A fresh seed, printed when a test fails; set by DPSUMM_TEST_SEED."""
    value = int(os.environ.get("DPSUMM_TEST_SEED", secrets.randbits(32)))
    print(f"DPSUMM_TEST_SEED={value}")
    return value


@pytest.fixture
def rng(seed):
    return np.random.default_rng(seed)
