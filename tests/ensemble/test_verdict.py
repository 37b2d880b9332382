"""What is said of a model: strength of the votes, the verdict, the report page."""

import html
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import dpsumm
from dpsumm import Voting
from dpsumm.ensemble import Spectral
from dpsumm.ensemble.page import render
from dpsumm.ensemble.strength import Strength, strength_of
from dpsumm.ensemble.students.choose import Validation
from dpsumm.ensemble.verdict import HIDDEN, SEEN, judged, missed_notes, verdict_of
from dpsumm.report.notes import Note, Severity
from helpers.chance import FALSE_ALARM
from helpers.votes import noisy

CLASSES = np.array(["no", "yes"])
MIXED, SAME = np.array([0, 1, 1]), np.zeros(3, int)


def test_strength_is_the_signal_and_chance_is_not_seen(rng):
    """Pure noise is called a signal by chance alone; a signal is estimated without bias."""
    points = rng.normal(size=(600, 2))
    flat = np.full((600, 2), 0.5)
    nothing = [strength_of(points, noisy(flat, 100, 40.0, rng)) for _ in range(40)]
    assert sum(one.chance <= SEEN for one in nothing) <= stats.binom.isf(FALSE_ALARM, 40, SEEN)
    # Of 400 squared normal numbers the mean is so far off once in 5 million runs.
    assert np.mean([one.signal / one.error for one in nothing]) == pytest.approx(0, abs=0.9)
    second = 0.5 + 0.3 * np.sign(points[:, 0])
    shares = np.column_stack([1 - second, second])
    exact = strength_of(points, noisy(shares, 100, 1e-6, rng)).signal
    found = [strength_of(points, noisy(shares, 100, 40.0, rng)) for _ in range(20)]
    assert all(one.chance < 1e-3 for one in found)
    assert np.mean([one.signal for one in found]) == pytest.approx(exact, rel=0.15)
    assert found[0].ratio == pytest.approx(10 * found[0].noise / found[0].signal)
    assert all((one.ratio == np.inf) == (one.signal <= 0) for one in nothing)


@pytest.mark.parametrize(
    ("chance", "predicted", "severity", "text"),
    [
        (0.11, MIXED, Severity.ALARM, "the noise hides what the votes say: about 200 labelled"),
        (0.11, SAME, Severity.ALARM, "the noise hides"),
        (0.09, SAME, Severity.ALARM, "it says no for every public point: about 200 labelled"),
        (0.009, SAME, Severity.WARNING, "it says no for every public point: use its probabilities"),
        (0.09, MIXED, Severity.WARNING, "the votes may tell points apart: noise is 0.5 times"),
        (
            0.009,
            MIXED,
            Severity.INFO,
            "the votes tell points apart: noise is 0.5 times the signal;",
        ),
    ],
)
def test_the_verdict_without_labels(chance, predicted, severity, text):
    verdict = verdict_of("votes", chance, 0.5, predicted, CLASSES)
    assert verdict.text.startswith(text)
    assert verdict.severity is severity


@pytest.mark.parametrize(
    ("wins", "losses", "chance", "severity", "head"),
    [
        # Exact sign test, one-sided: 10 of 14 by chance in .0898, 11 of 14 in .0287.
        (11, 3, 0.9, Severity.INFO, "better than one label for all"),
        (10, 4, 0.9, Severity.WARNING, "perhaps better than one label for all"),
        (7, 7, 0.09, Severity.WARNING, "perhaps better than one label for all"),
        (7, 7, 0.11, Severity.ALARM, "no better than one label for all"),
        (0, 0, 0.11, Severity.ALARM, "no better than one label for all"),
        (4, 10, 0.0, Severity.WARNING, "perhaps better than one label for all"),
        (3, 11, 0.0, Severity.ALARM, "worse than one label for all"),
    ],
)
def test_the_verdict_by_labels(wins, losses, chance, severity, head):
    """Labels decide where they can; a model that leads is never called useless."""
    places = np.repeat([0, 1], [70, 30])
    met = places == 0
    met[:losses], met[70 : 70 + wins] = False, True
    verdict = judged(CLASSES, Validation(np.zeros((100, 1)), places), met, chance)
    assert verdict.head == head
    assert verdict.severity is severity
    right = f"right for {70 + wins - losses}% of your 100 labelled points, always saying no is for"
    assert verdict.why.startswith(f"{right} 70%")


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(4)
    points = rng.normal(size=(1000, 2))
    ballots = {f"site-{i}": np.eye(2, dtype=int)[(points[:, 0] > 0).astype(int)] for i in range(60)}
    labels = np.array(["<a>", "b&c"])
    return dpsumm.learn(
        ballots,
        points,
        classes=labels,
        protocol=Voting(student=Spectral(("linear",))),
        validation=(points[:200], labels[(points[:200, 0] > 0).astype(int)]),
        epsilon=12,
        allow_weak_privacy=True,
    )


def test_a_model_s_report_is_a_page_that_a_notebook_shows(model, tmp_path):
    page = model.report(tmp_path / "report.html")
    assert page.html == (tmp_path / "report.html").read_text("utf-8")
    assert page._repr_html_().startswith("<iframe srcdoc=")


def test_the_page_says_what_was_reached_and_names_no_party(model):
    page = render(model)
    assert "<h1>Read the warnings first</h1>" in page
    assert "<title>Read the warnings first (classifier" in page
    assert "60 registered parties voted for 2 classes on" in page
    assert "&lt;a&gt;" in page
    assert "<a>" not in page.replace("</a>", "")
    assert "site-" not in page
    assert "(in use)" in page
    assert "always &lt;a&gt;" in page or "always b&amp;c" in page
    assert "epsilon 12 promises next to nothing" in page.lower()
    assert page.index("Look at this first.") < page.index('class="screen"')
    # Nothing outside is asked for.
    assert 'src="http' not in page
    assert 'href="http' not in page


def test_warnings_and_alarms_are_in_a_model_s_verdict(model):
    """One rule with summaries and synthetic rows; a forecast gives way to what was measured."""
    good = replace(model, plan=replace(model.plan, epsilon=1.0), foreseen=())
    table = good.confusion
    assert table.shape == (2, 2)
    assert table.sum() == 200
    assert np.trace(table) / 200 == pytest.approx(good.accuracy)
    assert table.sum(axis=1).max() / 200 == pytest.approx(good.one_label[1])
    assert good.verdict.text.startswith("better than one label for all: right for ")
    assert "of your own labelled points are right" in render(good)
    thin = replace(good, plan=replace(good.plan, epsilon=8.0), foreseen=(Note("b", Severity.INFO),))
    assert thin.verdict.text.startswith("better than one label for all, with 1 warning to check: ")
    page = html.unescape(render(thin))
    assert "<h1>Better than one label for all, with 1 warning to check</h1>" in page
    assert f"Right for {thin.verdict.why.removeprefix('right for ')}.\n" in page
    doubtful = replace(good.plan, ratio=20.0)
    foreseen = replace(good, plan=doubtful, foreseen=doubtful.advice)
    assert foreseen.notes[0].startswith("The plan expected worse than was found. Noise over signal")
    # The points' own alarm stays one, and takes the verdict's place.
    spoilt = replace(good, foreseen=(Note("all are clipped", Severity.ALARM),))
    assert spoilt.notes == ("all are clipped",)
    assert spoilt.verdict.text == "read the warnings first"
    # Labels outdo the plan. Without them its alarm is still a warning.
    assert foreseen.verdict.text.startswith("better than one label for all: right for ")
    unlabelled = replace(foreseen, _validation=None)
    assert unlabelled.verdict.text.startswith("the votes tell points apart, with 1 warning ")
    # What means nothing says so itself, and no share of labels speaks for it.
    labels = replace(good._validation, places=1 - good._validation.places)
    bad = replace(thin, _validation=labels)
    assert bad.verdict.text.startswith("worse than one label for all: right for ")
    assert "to check" not in bad.verdict.text
    assert "of your own labelled points are right" not in render(bad)


@pytest.mark.parametrize("head", ["bare", "noise", "one", "labels"])
def test_a_title_is_short_and_the_figures_stand_below(model, head):
    bare = replace(model, plan=replace(model.plan, epsilon=1.0), foreseen=(), _validation=None)
    if head == "noise":
        bare.__dict__["strength"] = Strength(np.array([1.0, 4.0]), 1.0, 2.0)
    elif head == "one":
        bare.__dict__["places"] = np.zeros(1000, np.int64)
    elif head == "labels":
        bare = replace(bare, _validation=model._validation, foreseen=(Note("a"), Note("b")))
    [title] = re.findall(r"<h1>(.*)</h1>", html.unescape(render(bare)))
    assert title.count(":") <= 1
    assert len(title.split()) <= 13
    assert not re.search(r"\d\d|%", title)


def places(*counts):
    return np.repeat(np.arange(len(counts)), counts)


@pytest.mark.parametrize(
    ("counts", "known", "missed"),
    [
        ((980, 20), None, []),
        ((981, 19), None, ["1 (1.9%)"]),
        ((1000, 0, 0), None, ["1 (0%)", "2 (0%)"]),
        # Of many classes each has few points.
        ((50,) * 19 + (50,), None, []),
        ((50,) * 19 + (41, 9), None, ["20 (0.9%)"]),
        # By labels of one's own it is as rare, or is not.
        ((990, 10), (490, 9), []),
        ((990, 10), (490, 10), ["1 (1.0%)"]),
    ],
)
def test_a_class_that_hardly_any_point_gets_is_told_unless_it_is_rare(counts, known, missed):
    classes = np.arange(len(counts))
    validation = None if known is None else Validation(np.zeros((sum(known), 1)), places(*known))
    notes = list(missed_notes(places(*counts), classes, validation))
    assert [note.severity for note in notes] == [Severity.WARNING] * bool(missed)
    assert all(f"predicted to be {', '.join(missed)}. Unless" in note for note in notes)


def test_many_missed_classes_are_counted():
    [note] = missed_notes(np.zeros(1000, np.int64), np.arange(100), None)
    assert "to be 1 (0%), 2 (0%), 3 (0%), 4 (0%), 5 (0%) and 94 more. Unless they are" in note


def test_parties_that_know_one_class_are_a_warning_in_the_verdict(model):
    good = replace(model, plan=replace(model.plan, epsilon=1.0), foreseen=(), _validation=None)
    assert good.notes == ()
    good.__dict__["places"] = places(990, 10)
    assert good.notes[0].startswith("Hardly any public point is predicted to be b&c (1.0%)")
    assert good.verdict.head == "the votes tell points apart, with 1 warning to check"


def test_the_page_without_labels_of_ones_own(model):
    judged = tuple(replace(one, accuracy=None) for one in model.candidates)
    plan = replace(model.plan, epsilon=1.0)
    page = render(replace(model, plan=plan, candidates=judged, _validation=None))
    assert "about 200 labelled points of your own (validation) can say" in page
    assert "Stein&#x27;s estimate chose" in page


@pytest.mark.parametrize("level", [SEEN, HIDDEN])
def test_pure_noise_passes_for_a_signal_as_often_as_is_said(rng, level):
    energies = rng.chisquare(1, (6_000, 10))
    below = [Strength(one, 1.0, math.sqrt(20)).chance <= level for one in energies]
    low, high = stats.binom.ppf((FALSE_ALARM / 2, 1 - FALSE_ALARM / 2), 6_000, level)
    assert low <= sum(below) <= high
