"""The rules by which points are called useful, to be checked, or not to be used."""

import re
from dataclasses import replace

import numpy as np
import pytest
from tests.helpers.noted import ALARM, INFO, WARNING

import dpsumm
from dpsumm.summary.likeness import Estimate, Likeness, Use, places, strangers
from dpsumm.summary.verdict import judged


def found(closed=0.9, apart=0.55, rows=0.1, error=0.02):
    share = None if closed is None else Estimate(closed, error)
    return Likeness(share, Estimate(apart, error), Estimate(rows, error))


@pytest.mark.parametrize(
    ("likeness", "far", "n", "alarms", "severity", "head"),
    [
        (found(), [], 500, False, INFO, "these points look much like your data"),
        # Alike: how much of a gap was closed says no more.
        (found(closed=0.1), [], 500, False, INFO, "these points look much like your data"),
        (found(apart=0.68), [], 500, False, INFO, "these points look much like your data"),
        (found(0.1, 0.9), [], 500, False, ALARM, "no closer to your data than the rows read"),
        (found(0.1, 0.9), ["age"], 20, True, ALARM, "no closer to your data than the rows read"),
        (found(0.22, 0.9), [], 500, False, WARNING, "closer to your data, but most of the gap rem"),
        (found(0.4, 0.7), [], 500, False, WARNING, "closer to your data, but most of the gap rem"),
        (found(0.9, 0.9), [], 500, False, WARNING, "closer to your data, yet a classifier tells"),
        (found(0.1, 0.9, rows=0.03), [], 500, False, WARNING, "it stays open whether these points"),
        (found(None, 0.9), [], 500, False, WARNING, "nothing was chosen, and a classifier tells"),
        (found(None), [], 500, False, INFO, "these points look much like your data"),
        (found(), ["age", "sex"], 500, False, WARNING, "closer to your data, but not in age"),
        (found(), [], 49, False, WARNING, "too few records of yours to judge by"),
        (None, [], 500, False, WARNING, "too few rows to judge by"),
        (None, [], 500, True, WARNING, "read the warnings first"),
        (found(), ["age"], 500, True, WARNING, "read the warnings first"),
    ],
)
def test_the_rules(likeness, far, n, alarms, severity, head):
    verdict = judged(likeness, far, n, alarms=alarms)
    call = {INFO: "", WARNING: "check: ", ALARM: "do not use: "}[severity]
    assert verdict.head.startswith(f"{call}{head}")
    assert len(verdict.head.removeprefix(call).split()) <= 10
    assert verdict.severity is severity


@pytest.mark.parametrize(
    ("theirs", "own", "near", "severity", "head"),
    [
        (0.8, 0.7, (0.9, 0.55), INFO, "a model of these points works on your data"),
        # What a model learns from is not thrown away for its distance.
        (0.8, 0.7, (0.1, 0.9), WARNING, "no closer to your data than the rows read"),
        (0.8, 0.95, (0.9, 0.55), WARNING, "your own labels alone do better"),
        (0.3, 0.7, (0.9, 0.55), ALARM, "these labels contradict yours; do not train on them"),
        (0.3, 0.7, (0.1, 0.9), ALARM, "these labels contradict yours; do not train on them"),
        (0.51, 0.8, (0.9, 0.55), ALARM, "these labels say nothing about yours"),
        # Nor do the target's own.
        (0.51, 0.52, (0.9, 0.55), INFO, "these points look much like your data"),
    ],
)
def test_own_labels_settle_it(theirs, own, near, severity, head):
    use = Use(Estimate(theirs, 0.02), Estimate(own, 0.02), Estimate(theirs - own, 0.03))
    verdict = judged(replace(found(*near), use=use), [], 500)
    assert verdict.head.partition(": ")[2] == head or verdict.head == head
    assert verdict.severity is severity
    assert f"on your labels a model of them has AUC {100 * theirs:.0f}% (" in verdict.why


def test_labels_that_nobody_else_has_are_told_of():
    assert (
        judged(found(), [], 500, strange_labels=True).head
        == "check: your labels are none of theirs"
    )
    ones, words = np.array([0, 1]), np.array(["n", "y"])
    assert strangers(words, ones)
    assert strangers(np.array([None, 2], object), ones)
    assert not strangers(np.array(["1", "y"]), ones)
    assert not strangers(np.array([None, None]), ones)
    assert not strangers(None, ones)


def test_two_classes_are_places_whatever_their_spelling():
    ours, theirs = places(np.array(["1", None, "0.0"], object), np.array([0, 1, 1]))
    assert ours.tolist() == [1, -1, 0]
    assert theirs.tolist() == [0, 1, 1]
    assert places(np.array([1]), np.array([1])) is None
    assert places(None, ours) is None


@pytest.mark.same_draws
def test_labels_that_contradict_the_targets_are_not_to_be_used(rng):
    kernel, x = dpsumm.RBF(0.2), rng.normal(0, 1.5, (3000, 3))
    target = rng.normal(0.5, 1, (200, 3))
    y, mine = (part[:, 0] + part[:, 1] > 0.5 for part in (x, target))
    given = {"size": 200, "kernel": kernel}
    right = dpsumm.summarize([(x, y)], (target, mine), **given)
    assert right.verdict.head == "a model of these points works on your data"
    assert right.likeness.use.theirs.low > 0.8
    wrong = dpsumm.summarize([(x, ~y)], (target, mine), **given)
    assert wrong.verdict.head.startswith("do not use: these labels contradict yours")
    assert wrong.verdict.severity is ALARM
    # Without labels nobody knows.
    assert dpsumm.summarize([(x, ~y)], target, **given).verdict.severity is INFO
    page = right.report().html
    assert "AUC of a model of the points on your labels" in page
    # Shares of the labels of the points read, of the summary and of the target.
    (row,) = re.findall(r'data-label="Label">True</td>(.*?)</tr>', page, re.DOTALL)
    shown = [float(share) / 100 for share in re.findall(r">([\d.]+)%<", row)]
    assert shown == pytest.approx(
        [right.pool.labels.mean(), right.labels.mean(), mine.mean()], abs=0.006
    )


@pytest.mark.same_draws
def test_labels_of_more_classes_are_ranked_each_against_the_others(rng):
    kernel, x = dpsumm.RBF(0.2), rng.normal(0, 1.5, (3000, 3))
    target = rng.normal(0.5, 1, (200, 3))
    y, mine = (part.argmax(axis=1) for part in (x, target))
    given = {"size": 200, "kernel": kernel}
    right = dpsumm.summarize([(x, y)], (target, mine), **given)
    assert right.verdict.head == "a model of these points works on your data"
    assert right.likeness.use.theirs.low > 0.8
    wrong = dpsumm.summarize([(x, (y + 1) % 3)], (target, mine), **given)
    assert wrong.verdict.head.startswith("do not use: these labels contradict yours")
    # A class that the summary lacks is ranked by chance.
    names = np.where(mine == 2, "mine alone", mine.astype(str))
    some = dpsumm.summarize([(x, y)], (target, names), **given)
    assert 0.7 < some.likeness.use.theirs.value < 0.87
    assert some.verdict.head == "check: your own labels alone do better"
    one = np.full(200, "0")
    assert dpsumm.summarize([(x, y)], (target, one), **given).likeness.use is None


def test_the_commonest_classes_stand_for_all():
    from dpsumm.summary.likeness import FEWEST_LABELS, MOST_CLASSES

    rng = np.random.default_rng(0)
    sizes = FEWEST_LABELS + np.arange(MOST_CLASSES + 4)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    points = np.eye(len(sizes))[labels] + rng.normal(0, 0.1, (len(labels), len(sizes)))
    same = Use.of((points, labels), (points, labels))
    rare = labels < 4
    spoilt = np.where(rare, rng.permutation(labels[rare])[np.cumsum(rare) - 1], labels)
    assert Use.of((points, labels), (points, spoilt)).theirs.value > 0.99
    assert same.theirs.value > 0.99


def test_what_a_verdict_rests_on_stands_behind_it():
    verdict = judged(found(0.4, 0.7), ["age"], 40, alarms=False)
    assert verdict.why == (
        "they close 40% (36% to 44%) of the gap between your data and the records read; a "
        "classifier tells them from your data in 70% (66% to 74%) of pairs, where 50% is chance; "
        "closer to your data, but not in "
        "age; too few records of yours to judge by"
    )


@pytest.mark.same_draws
def test_owners_that_have_the_targets_records_are_useful_and_others_are_not(rng):
    target, kernel = rng.normal(2, 1, (300, 3)), dpsumm.RBF(0.2)
    mixed, elsewhere = rng.normal(0, 2.5, (3000, 3)), rng.normal(-3, 0.5, (3000, 3))
    said = {
        name: dpsumm.summarize([owner], target, size=60, kernel=kernel).verdict
        for name, owner in (("mixed", mixed), ("elsewhere", elsewhere))
    }
    assert said["mixed"].severity is INFO
    assert said["mixed"].head == "these points look much like your data"
    assert said["elsewhere"].severity is not INFO
    drawn = dpsumm.summarize(
        [mixed], target, size=60, kernel=kernel, protocol=dpsumm.summary.Uniform()
    )
    assert drawn.likeness.closed is None
    assert drawn.verdict.head.startswith("check: nothing was chosen")
    few = dpsumm.summarize([mixed], target[:19], size=60, kernel=kernel)
    assert few.likeness is None
    assert few.verdict.head.startswith("check: ")
    assert np.isfinite(drawn.likeness.apart.error)
