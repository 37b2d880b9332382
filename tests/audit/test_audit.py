"""The audits: the bound is a bound and has power, claims hold, broken twins are caught."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dpsumm import __version__, kernels
from dpsumm.audit import bound, lower_bound, measure, show
from dpsumm.audit.audit import Found, Outcome
from dpsumm.audit.changed_noise import half_the_noise
from dpsumm.audit.samples import target_release
from dpsumm.audit.suite import audits
from dpsumm.audit.witness import Search
from dpsumm.cli import main
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy.record import code_digest
from dpsumm.privacy.release import Bound, PaidNoise, Query
from dpsumm.report.audits import AuditResults


def run(*arguments):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    return stop.value.code or 0


def test_the_bound_of_randomized_response_is_below_and_near_its_epsilon(rng):
    """Known to be exactly epsilon, in both worlds' order and with the event on either side."""
    n, epsilon = 100_000, 1.0
    yes = math.exp(epsilon) / (1 + math.exp(epsilon))
    first, second = rng.random(n) < yes, rng.random(n) < 1 - yes
    for a, b in ((first, second), (second, first), (~first, ~second)):
        measured = lower_bound(a.astype(float), b.astype(float), 0.0)
        assert 0.9 < measured.epsilon <= epsilon
    # A constant adds nothing, delta takes something away.
    assert lower_bound(first * 1.0, second * 1.0, 0.3).epsilon < 0.6


def test_equal_worlds_measure_next_to_nothing(rng):
    measured = [
        lower_bound(rng.normal(size=2000), rng.normal(size=2000), 0.0).epsilon for _ in range(200)
    ]
    assert max(measured) == 0
    assert lower_bound(np.zeros(100), np.zeros(100), 0.0).epsilon == 0


def test_the_choice_of_the_event_costs_no_confidence(rng, monkeypatch):
    """At a false alarm of one in ten, bounds above the truth are at most that frequent."""
    monkeypatch.setattr(bound, "FALSE_ALARM", 0.1)
    above = 0
    for _ in range(300):
        a, b = rng.normal(0, 1, 400), rng.normal(1, 1, 400)
        # One Gaussian of parameter 1 at delta 0.1 has epsilon 1.177..
        above += lower_bound(a, b, 0.1).epsilon > 1.18
    # 300 trials at 0.1: 30 expected at most, 60 is more than five standard deviations off.
    assert above < 60


def test_the_bound_refuses_scores_it_cannot_halve():
    for n, m in ((3, 3), (4, 6), (2, 2)):
        with pytest.raises(InvalidParameterError, match="even number"):
            lower_bound(np.zeros(n), np.zeros(m), 0.0)


def test_the_bound_refuses_scores_that_are_no_numbers():
    with pytest.raises(InvalidParameterError, match="not a number"):
        lower_bound(np.array([0.0, 0, 0, np.nan]), np.zeros(4), 0.0)


def test_the_ceiling_is_the_bound_of_worlds_that_never_look_alike(rng):
    # Of few values, so that a threshold of the first half parts the second half as well.
    first, second = rng.integers(2, size=400) * 1.0, 2.0 + rng.integers(2, size=400)
    apart = lower_bound(first, second, 0.1).epsilon
    assert bound.ceiling(400, 0.1) == pytest.approx(apart, rel=1e-12)
    assert bound.ceiling(4, 0.1) == 0


def test_full_audits_see_more_than_quick_ones():
    few, many = (
        lower_bound(*(target_release().scores(w, n) for w in (0, 1)), 0.01).epsilon
        for n in (200, 10_000)
    )
    assert few < many < 2


def test_half_the_noise_is_half_and_only_while_it_is_asked_for():
    query = Query.with_std(Bound(1.0), 1000.0)

    def width():
        return PaidNoise([query]).on(np.zeros(20_000, np.int64)).std()

    # Of a width from 20,000 draws a thirtieth is six standard errors.
    with half_the_noise():
        assert width() == pytest.approx(500, rel=1 / 30)
    assert width() == pytest.approx(1000, rel=1 / 30)
    with pytest.raises(RuntimeError, match="integers"), half_the_noise():
        PaidNoise([query]).on(np.zeros(2))
    assert width() == pytest.approx(1000, rel=1 / 30)


def test_a_twin_is_charged_as_the_honest_one():
    for audit in audits():
        if not isinstance(audit.subject, Search):
            for twin in audit.twins:
                assert twin.subject.claimed(audit.delta) == audit.subject.claimed(audit.delta)


@pytest.mark.parametrize("quick", [True, False])
def test_every_audit_can_fail(quick):
    """In every mode: the most it can measure is beyond its claim, and each has a twin of its kind
    with no more trials than the claim has.
    """
    for audit in audits():
        claimed, most = measure.limits_of(audit, quick=quick)
        assert audit.twins
        for twin in audit.twins:
            assert type(twin.subject) is type(audit.subject)
            assert twin.halved == (twin.subject == audit.subject)
            assert (twin.trials or 0) <= measure.trials_of(audit, quick=quick)
        if not isinstance(audit.subject, Search):
            assert most >= 1.5 * claimed
            assert claimed > 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"quick_trials": 40}, "too little for a claim"),
        ({"twins": ()}, "needs a twin"),
        ({"trials": 1000}, "as many trials as each twin"),
        ({"delta": 0.999}, "too little for a claim"),
    ],
)
def test_an_audit_that_cannot_fail_is_refused_before_anything_runs(changes, message, monkeypatch):
    honest = next(audit for audit in audits() if not any(t.trials for t in audit.twins))
    monkeypatch.setattr(measure, "audits", lambda: [honest, replace(honest, **changes)])
    monkeypatch.setattr(measure, "_find", lambda *_: pytest.fail("it ran"))
    with pytest.raises(InvalidParameterError, match=message):
        measure.run_audits(quick=True)


@pytest.fixture
def one_thread():
    kernels.set_threads(1)
    yield
    kernels.set_threads(0)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("audit", audits(), ids=lambda audit: audit.name)
@pytest.mark.usefixtures("one_thread")
def test_a_claim_holds_and_its_twins_are_caught(audit, monkeypatch):
    """One by one what `dpsumm audit --quick` does."""
    monkeypatch.setattr(measure, "audits", lambda: [audit])
    (found,) = measure.run_audits(quick=True)
    assert found.passed, (show.rows([found]), show.twin_rows([found]))


def test_the_quick_audit_shows_and_writes_what_it_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sampled, *_, searched = (a for a in audits() if "bits" in a.name or "silence" in a.name)
    monkeypatch.setattr(measure, "audits", lambda: [sampled, searched])
    monkeypatch.setenv("COLUMNS", "200")
    page = tmp_path / "audit.md"
    assert run("audit", "--quick", "--out", str(page)) == 0
    out = capsys.readouterr().out
    text = page.read_text()
    for shown in (out, text):
        assert "FAILS" not in shown
        assert "NOT CAUGHT" not in shown
        for audit in (sampled, searched):
            assert audit.name in shown
            for twin in audit.twins:
                assert twin.name in shown
    assert text.count("| holds |") == 2
    assert text.count("| caught |") == len(sampled.twins) + len(searched.twins)


def outcome(*, refuted, caught):
    audit = audits()[0]
    first, twin = (Found(0.5, None, 10, wrong) for wrong in (refuted, caught))
    return Outcome(audit, 1.0, 5.0, first, (twin,))


@pytest.mark.parametrize(
    ("refuted", "caught", "verdict"), [(True, True, "FAILS"), (False, False, "NOT CAUGHT")]
)
def test_a_claim_that_fails_or_a_twin_that_escapes_is_exit_code_one(
    refuted, caught, verdict, monkeypatch, capsys, tmp_path
):
    made = outcome(refuted=refuted, caught=caught)
    assert not made.passed
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr("dpsumm.audit.run_audits", lambda **_: [made])
    assert run("audit", "--quick", "--out", str(tmp_path / "audit.json")) == 1
    assert verdict in capsys.readouterr().out
    # What a dossier reads: bound to this package's files, and it has not passed.
    kept = AuditResults.read(tmp_path / "audit.json")
    assert (kept.version, kept.code, kept.quick) == (__version__, code_digest(), True)
    assert [(one.name, one.passed) for one in kept.results] == [(made.audit.name, False)]
    assert kept.results[0].twins == f"{caught:d} of 1"
    assert show.rows([made])[0][-2] == f"{caught:d} of 1"


def test_no_protocol_knows_the_twins():
    """They live in the audit package, and nothing outside it imports them."""
    package = Path(measure.__file__).parents[1]
    for path in package.rglob("*.py"):
        if path.parent.name != "audit":
            code = path.read_text(encoding="utf-8")
            assert "audit.twins" not in code, path
            assert "auction_twins" not in code, path
            assert "dpsumm.audit " not in code or path.parent.name == "cli", path
