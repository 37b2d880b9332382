"""Seeds and settings shared by all tests."""

import os
import random
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from dpsumm.privacy.weak import Unrecorded
from helpers.same_draws import repeat

# A warning that is given once in a process would be in whichever test runs first.
Unrecorded.is_said = True

settings.register_profile(
    "default", max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("long", max_examples=1000, deadline=None)
settings.load_profile(os.environ.get("DPSUMM_HYPOTHESIS", "default"))


# What attacks and simulates for long is for `make test-deep`. Of each `make test` has a witness.
DEEP = {
    "audit/test_audit.py": (
        "quick_audit",
        "can_fail",
        "votes, two classes",
        "Gaussian",
        "as_the_honest",
    ),
    "faults/test_single_faults.py": ("[Votes]",),
    "faults/test_planted_bugs.py": ("[charged_after_it_is_sent]", "[the_end_is_not_kept]"),
    "faults/test_real_kills.py": (),
    "faults/test_rows_one_process.py": (),
    "simulator/test_simulator.py": ("page", "one_seed", "half_a_commit", "fixed_seed[rows]"),
    "simulator/test_simulator_finds_bugs.py": ("fresh noise", "taken in twice", "asked for again"),
}


# Long ones, of which a shorter neighbour looks at the same, and what is not in the wheel.
LONG = re.compile(
    r"tests/evidence/|tests/runs/test_adult_columns"
    r"|a_page_run_in_order\[docs/|doctests\[dpsumm\.ensemble\.comparison"
    r"|wrong_noise_is_refused_on_every_path\[(?!less|laplace)"
    r"|offers_on_mnist_come_close|every_answer_may_get_lost_once|one_thread_unless.*\[given1"
    r"|report_of_thousands_of_columns|reaches_the_points\[replace|little_noise_a_model_is_not_too_sure"
    r"|classes_are_far_apart_are_seen_and_learnt\[2|agree_with_the_plds.*-1\.5-"
    r"|lost_is_sent_again_byte|honest_owners_of_other_places|no_more_than_a_plan_says\[30"
    r"|by_less_as_a_rule\[protocol1|killed_curator_goes_on_where_it_was\[(?!1\])"
    r"|is_zero_from_it_on_and_nobody_is_told\[(?!silent)|in_a_round_goes_on.*\[(?!2)"
)


def pytest_collection_modifyitems(items):
    """Mark as deep what only `make test-deep` runs."""
    for item in items:
        kept = DEEP.get("/".join(item.path.parts[-2:]))
        witness = kept is None or any(word in item.nodeid for word in kept)
        if not witness or LONG.search(item.nodeid):
            item.add_marker(pytest.mark.deep)


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
