"""What a distance is compared with: the expectations are those of draws, the verdict follows."""

import numpy as np
import pytest

import dpsumm
from dpsumm import kernels
from dpsumm.summary.page import render
from dpsumm.summary.scale import CLOSE, MOST_POOL, Scale, scale_of

GAMMA = 0.4


def distance(points, target):
    return kernels.mmd2(np.ascontiguousarray(points), target, GAMMA)


@pytest.mark.same_draws
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


@pytest.mark.same_draws
def test_a_large_pool_is_stood_for_by_some(rng):
    target, pool = rng.normal(0, 1, (50, 2)), rng.normal(1, 1, (3 * MOST_POOL + 1, 2))
    own = kernels.mean_kernel_self(target, GAMMA)
    assert scale_of(target, own, pool, 10, GAMMA).pool == pytest.approx(
        distance(pool, target), rel=0.2
    )


@pytest.mark.parametrize(
    ("mmd2", "random", "said"),
    [
        (0.005, 0.1, "close to the target: the distance, with the target's sampling error, is abo"),
        (0.011, 0.1, "close to the target: the distance, with the target's sampling error, is 1.2"),
        (0.014, 0.1, "close to the target: the distance, with the target's sampling error, is 1.5"),
        (0.015, 0.1, "on the way to the target: random ones of the points read would be 6.7 times"),
        (0.05, 0.1, "on the way to the target: random ones of the points read would be 2 times"),
        (0.2, 0.1, "poor: random ones of the points read would be no further away"),
        (0.05, None, "not close to the target: the distance, with the target's"),
    ],
)
def test_the_verdict(mmd2, random, said):
    assert Scale(0.01, random, 0.1, 0.001).verdict(mmd2).startswith(said)


@pytest.mark.parametrize(
    ("mmd2", "random", "said"),
    [
        (0.011, 0.1, "the target about as well as fresh target records would."),
        (0.015, 0.1, "the target more than random ones would, and less than fresh target records"),
        (0.05, 0.1, "the target more than random ones would, and less than fresh target records"),
        (0.2, 0.1, "the target no more than random ones would."),
        (0.05, None, "the target less than fresh target records would."),
    ],
)
def test_the_point_of_a_report_in_one_sentence(mmd2, random, said):
    point = Scale(0.01, random, 0.1, 0.001).point(mmd2, "9 records of the owners")
    assert point.startswith(f"These 9 records of the owners resemble {said}")


def test_fewer_target_records_than_points_are_too_few_to_tell():
    few = Scale(0.01, 0.1, 0.1, 0.02)
    said = few.verdict(0.015)
    assert said.startswith("close to the target records given, too few to tell more: the distance")
    assert "given, which are too few to tell whether fresh ones" in few.point(0.015, "9 records")
    assert few.verdict(0.05).startswith("on the way to the target: ")


def fitted(rng, m, size):
    """Return a summary of 3,000 points fitted to m target records, and how far it really is.

    That is its MMD^2 to the target's distribution, in units of what as many fresh records have.
    """
    pool, target, fresh = (rng.normal(at, 1, (n, 2)) for at, n in ((0.5, 3000), (0, m), (0, 3000)))
    summary = dpsumm.summarize(
        [pool], target, size=size, kernel=dpsumm.RBF(GAMMA), protocol=dpsumm.Greedy()
    )
    # Without the diagonal: so the mean over samples is the distance to what they come from.
    n, own = len(fresh), kernels.mean_kernel_self(fresh, GAMMA)
    apart = (1 - own) / (n - 1)
    return summary, (distance(summary.points, fresh) - apart) / ((1 - own + apart) / size)


@pytest.mark.same_draws
def test_few_target_records_do_not_make_a_summary_close(rng):
    found = []
    for m, size in [(30, 200), (40, 100), (60, 300)] * 5:
        summary, times = fitted(rng, m, size)
        # Far closer to the records given than fresh ones are to where they come from.
        assert summary.mmd2 < 0.5 * summary.scale.fresh
        said = summary.scale.verdict(summary.mmd2)
        assert said.startswith("close to the target records given, too few to tell more: ")
        found.append(times)
    assert np.mean(found) > 1
    page = render(summary)
    assert "<h1>Close to the target records given, too few to tell more: 300 points" in page
    assert "which are too few to tell whether" in page
    assert "With the target&#x27;s sampling error" in page


@pytest.mark.same_draws
def test_a_summary_said_to_be_close_is_as_close_as_that_on_average(rng):
    found = []
    for m, size in [(150, 100), (100, 40), (1000, 50)] * 4:
        summary, times = fitted(rng, m, size)
        assert summary.scale.verdict(summary.mmd2).startswith("close to the target: ")
        found.append((times, summary.mmd2 / summary.scale.fresh))
    true, fitted_to = np.mean(found, axis=0)
    assert true < CLOSE
    # The distance to the records given would have promised several times too much.
    assert true > 2 * fitted_to


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
