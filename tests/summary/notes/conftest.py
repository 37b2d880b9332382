"""Notes are rules with thresholds, so an example of one is drawn from the same seed in every run.

Whether noise of a protocol can decide what a note says is left to chance: it must not.
"""

import os

import pytest


@pytest.fixture
def seed():
    """0, or what DPSUMM_TEST_SEED says."""
    return int(os.environ.get("DPSUMM_TEST_SEED", "0"))
