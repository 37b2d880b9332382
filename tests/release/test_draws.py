"""What leaves is the exact sum, and draws of the one sampler as they are, in their order.

Without chance: a known sampler in place of the right one.
"""

import re

import numpy as np
import pytest
from paths import PATHS

from dpsumm.kernels.noise import rounded_normal
from dpsumm.privacy.release import Bound, PaidNoise, Query, annex, noise

SUMS = [path for path in PATHS if not path.name.startswith("private model")]
# Two noises add up for the analyst and for a third owner; an owner knows its own.
TWO_NOISES = [p for p in SUMS if re.match(r"rows.*, towards the analyst|rows of three", p.name)]
ONE_NOISE = [path for path in SUMS if not path.name.startswith("rows")]
EACH = pytest.mark.parametrize(
    ("path", "n"), [(p, n) for p in SUMS for n in p.records], ids=lambda x: getattr(x, "name", x)
)


def sampled_by(monkeypatch, sampler):
    for module in (noise, annex):
        monkeypatch.setattr(module, "rounded_normal", sampler)


@EACH
def test_a_constant_draw_is_added_as_it_is(path, n, rng, monkeypatch):
    """Noise that is scaled, cut, left out or drawn elsewhere would be another number."""

    def constant(std, size, seed=None):
        assert seed is None
        return np.full(size, 1001)

    sampled_by(monkeypatch, constant)
    left = path.run(rng, path.epsilon, n)
    noises = {1001, 2002} if path in TWO_NOISES else {1001}
    assert set(left.residuals.tolist()) <= noises


def test_no_draw_of_a_large_sum_is_used_again():
    """However many numbers a sum has: of so wide a noise next to none are equal by chance."""
    noisy = PaidNoise([Query.with_std(Bound(1.0), 2.0**39)]).on(np.zeros(2**19, np.int64))
    # Of all pairs 0.14 are expected to be, so that 20 have a chance below 1e-30.
    assert len(noisy) - len(np.unique(np.abs(noisy))) < 20
    for part in np.split(noisy, 8):
        assert abs(part.std() / 2.0**39 - 1) < 0.03
        assert len(np.unique(part % 64)) == 64


@pytest.mark.parametrize("path", ONE_NOISE, ids=lambda path: path.name)
def test_each_number_has_its_own_draw_of_its_own_width(path, rng, monkeypatch):
    """Asked for exactly the noise that is due, without a seed; used once, in its place."""
    drawn, widths = [], []

    def noted(std, size, seed=None):
        assert seed is None
        made = rounded_normal(std, size)
        drawn.append(made)
        widths.append(np.full(size, std))
        return made

    sampled_by(monkeypatch, noted)
    for n in path.records:
        drawn.clear()
        widths.clear()
        left = path.run(rng, path.epsilon, n)
        size = len(left.residuals)
        np.testing.assert_array_equal(np.concatenate(drawn)[:size], left.residuals)
        wanted = np.concatenate(widths)[:size]
        # Multipliers have six digits and are rounded up.
        assert (wanted >= left.stds * (1 - 1e-7)).all()
        assert (wanted <= left.stds * (1 + 2e-5)).all()
