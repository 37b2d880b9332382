"""Parties and public points of two classes."""

import pytest

from helpers.learning import M, N, people


@pytest.fixture
def parties(rng):
    return {f"p{i}": people(rng, 25) for i in range(M)}


@pytest.fixture
def public_points(rng):
    return rng.normal(size=(N, 2))
