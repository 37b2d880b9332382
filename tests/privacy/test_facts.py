"""Figures for readers."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsumm.privacy.facts import rounded_up


@given(st.floats(1e-6, 1e9))
def test_an_epsilon_is_never_shown_smaller_than_it_is(epsilon):
    shown = float(rounded_up(epsilon))
    # The accountant rounds up by more than that already.
    assert epsilon - 1e-9 * max(1.0, epsilon) <= shown <= epsilon * (1 + 1e-12) + 1e-4


@pytest.mark.parametrize(
    ("epsilon", "text"),
    [(1.00000000005, "1"), (0.12341, "0.1235"), (123.4567, "123.4567"), (100, "100"), (0.0, "0")],
)
def test_an_epsilon_in_a_sentence(epsilon, text):
    assert rounded_up(epsilon) == text
    assert rounded_up(math.inf) == "inf"
