"""What a distance is compared with: the expectations are those of draws, the verdict follows."""

import numpy as np
import pytest

import dpsumm
from dpsumm import kernels
from dpsumm.summary.scale import MOST_POOL, Scale, scale_of

GAMMA = 0.4


def distance(points, target):
    return kernels.mmd2(np.ascontiguousarray(points), target, GAMMA)


def test_the_scale_is_what_draws_give_on_average(rng):
    target, pool = rng.normal(0, 1, (200, 2)), rng.normal(1, 1, (80, 2))
    own = kernels.mean_kernel_self(target, GAMMA)
    scale = scale_of(target, own, pool, 10, GAMMA)
    fresh = [distance(target[rng.integers(0, 200, 10)], target) for _ in range(600)]
    drawn = [distance(pool[rng.integers(0, 80, 10)], target) for _ in range(600)]
    # Standard errors are some 3 % of the means.
    assert scale.fresh == pytest.approx(np.mean(fresh), rel=0.2)
    assert scale.random == pytest.approx(np.mean(drawn), rel=0.2)
    assert scale.pool == pytest.approx(distance(pool, target), abs=1e-9)
    assert scale.sampling == pytest.approx(scale.fresh / 20)
    assert scale_of(target, own, pool, 80, GAMMA).random is None


def test_a_large_pool_is_stood_for_by_some(rng):
    target, pool = rng.normal(0, 1, (50, 2)), rng.normal(1, 1, (3 * MOST_POOL + 1, 2))
    own = kernels.mean_kernel_self(target, GAMMA)
    assert scale_of(target, own, pool, 10, GAMMA).pool == pytest.approx(
        distance(pool, target), rel=0.2
    )


@pytest.mark.parametrize(
    ("mmd2", "random", "said"),
    [
        (0.011, 0.1, "close to the target: its distance is 1.1 times what as many fresh"),
        (0.009, 0.1, "close to the target: as many fresh target records would be expected to be"),
        (0.05, 0.1, "on the way to the target: random ones of the points read would be 2 times"),
        (0.2, 0.1, "poor: random ones of the points read would be no further away"),
        (0.05, None, "not close to the target: its distance is 5 times what"),
    ],
)
def test_the_verdict(mmd2, random, said):
    assert Scale(0.01, random, 0.1, 0.001).verdict(mmd2).startswith(said)


@pytest.mark.parametrize(
    ("mmd2", "random", "said"),
    [
        (0.011, 0.1, "about as well as fresh target records would."),
        (0.05, 0.1, "more than random ones would, and less than fresh target records would."),
        (0.2, 0.1, "no more than random ones would."),
        (0.05, None, "less than fresh target records would."),
    ],
)
def test_the_point_of_a_report_in_one_sentence(mmd2, random, said):
    point = Scale(0.01, random, 0.1, 0.001).point(mmd2, "9 records of the owners")
    assert point == f"These 9 records of the owners resemble the target {said}"


def test_a_report_s_title_is_the_verdict(rng, tmp_path):
    near, far = rng.normal(0, 1, (300, 2)), rng.normal(6, 1, (300, 2))
    target = rng.normal(0, 1, (200, 2))
    titles = []
    for owner, protocol in ((near, dpsumm.Greedy()), (far, dpsumm.Uniform())):
        summary = dpsumm.summarize(
            [owner], target, size=20, kernel=dpsumm.RBF(GAMMA), protocol=protocol
        )
        summary.report(tmp_path / "report.html")
        page = (tmp_path / "report.html").read_text("utf-8")
        titles.append(page[page.index("<h1>") : page.index("</h1>")])
    assert "Close to the target: 20 points of 1 owner" in titles[0]
    assert "Read the warnings first: 20 points of 1 owner" in titles[1]
