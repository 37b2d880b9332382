"""What a plan says of a label: the noise of its score, what is left of an AUC, by slow twins."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from dpsumm import plan_synthesis
from dpsumm.errors import InvalidParameterError
from dpsumm.vertical import label_plan
from dpsumm.vertical.label_plan import auc_of_rows, label_noise
from dpsumm.vertical.noise import plan_noise

SCHEMA = {
    "registry": {"age": (20, 80), "town": [str(place) for place in range(30)]},
    "clinic": {"ill": ["no", "yes"], "cost": (0, 30_000)},
}


def test_the_noise_is_that_of_added_log_odds(rng):
    """Levels of equal size and two even classes; each record adds the log-odds of its levels."""
    sizes, n = (4, 10, 2), 10**6
    plan = plan_noise(sizes, (0, 1, 1), 1.0, label=2)
    odds = np.zeros((2000, 4, 10))
    for index, pair in enumerate(plan.pairs):
        if 2 not in pair:
            continue
        levels = sizes[pair[0]]
        noisy = n / (2 * levels) + rng.normal(
            0, math.sqrt(plan.variance(index)), (2000, levels, 2)
        )  # fmt: skip
        each = np.log(noisy[..., 1] / noisy[..., 0])
        odds += each[:, :, None] if pair[0] == 0 else each[:, None, :]
    assert label_noise(plan) / n**2 == pytest.approx(odds.var(), rel=0.05)


@pytest.mark.parametrize("on_real", [0.6, 0.8, 0.95])
def test_what_is_left_is_the_auc_of_a_turned_score(on_real, rng, monkeypatch):
    """Two normal classes in 400 directions, and a direction that was measured with noise."""
    for name, value in (("FACTOR", 1.0), ("POWER", 1.0), ("SPREAD", 1.0), ("DRAWN", 0.0)):
        monkeypatch.setattr(label_plan, name, value)
    apart = rng.normal(size=400)
    apart *= math.sqrt(2) * norm.ppf(on_real) / np.linalg.norm(apart)
    for noise in (0.1, 1.0, 10.0):
        measured = apart + rng.normal(0, math.sqrt(noise / 400), (200, 400))
        turned = measured @ apart / np.linalg.norm(measured, axis=1)
        known = norm.cdf(turned / math.sqrt(2)).mean()
        low, high = auc_of_rows(on_real, noise * 9, 3)
        assert low == high == pytest.approx(known, abs=0.01)


def test_a_plan_tells_the_auc_and_its_limit():
    few, many = (plan_synthesis(SCHEMA, n, label="ill") for n in (500, 100_000))
    for plan, limit in ((few, "the noise"), (many, "more budget gains little")):
        low, high = plan.label_auc(0.8)
        assert 0.5 <= low < high <= 0.8
        text = " ".join(str(plan).split())
        assert f"{low:.2f} to {high:.2f} for 0.8" in text
        assert limit in text
    assert few.label_auc(0.8)[1] < many.label_auc(0.8)[0]
    assert few.label_auc(0.5) == (0.5, 0.5)
    assert few.label_auc(1) == (1 - label_plan.DRAWN, 1.0)
    smaller = plan_synthesis(SCHEMA, 500, epsilon=0.5, label="ill")
    assert smaller.label_auc(0.8) < few.label_auc(0.8)


@pytest.mark.parametrize("label", [None, "age"])
def test_without_a_label_of_categories_there_is_none(label):
    plan = plan_synthesis(SCHEMA, 500, label=label)
    assert plan.label_noise is None
    assert "AUC" not in str(plan)
    with pytest.raises(InvalidParameterError, match="Give `label=` to the plan"):
        plan.label_auc(0.8)


@pytest.mark.parametrize("on_real", [0.4, 1.1, math.nan, "0.8", None])
def test_a_guess_out_of_range_is_refused(on_real):
    with pytest.raises(InvalidParameterError, match=r"on_real must be a number from 0\.5 to 1"):
        plan_synthesis(SCHEMA, 500, label="ill").label_auc(on_real)
