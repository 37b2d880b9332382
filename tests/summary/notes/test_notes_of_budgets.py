"""Budgets that promise little, or nothing, say their odds."""

import html
import re
from dataclasses import replace

import pytest
from tests.helpers.noted import ALARM, INFO, WARNING, found, frame, run

import dpsumm
from dpsumm.data.column import Column
from dpsumm.data.schema import Schema
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy.weak import thin_budget, weak_budget
from dpsumm.report.notes import Note, budget_notes
from dpsumm.summary.silos import summarize_silos


@pytest.mark.parametrize(
    ("epsilon", "delta", "said"),
    [(1.0, 1e-5, ()), (12.0, 1e-5, ("1.6e+05 times",)), (1.0, 0.02, ("1 / 60",)),
     (800.0, 0.5, ("any number of times", "1 / 60"))],
)  # fmt: skip
def test_a_budget_that_promises_nothing_says_its_odds(epsilon, delta, said):
    weak = weak_budget(epsilon, delta, 60)
    assert len(weak) == len(said)
    assert all(text in sentence for text, sentence in zip(said, weak, strict=True))


def test_such_a_budget_is_an_alarm_or_refused(rng):
    given = {"epsilon": 12.0, "delta": 0.02, "protocol": None}
    owners, target = [frame(rng), frame(rng)], frame(rng)
    summary = run(owners, target, **given, allow_weak_privacy=True)
    assert found(summary, "Epsilon 12 promises next to nothing") is ALARM
    assert found(summary, "Delta 0.02 is not below 1 / 60") is ALARM
    with pytest.raises(InvalidParameterError, match=r"allow_weak_privacy"):
        run(owners, target, **given)
    # What is not spent is not told of.
    assert found(run(owners, target, epsilon=12.0, allow_weak_privacy=True), "Epsilon") is None


def test_owners_who_are_not_protected_from_each_other_are_an_alarm(rng):
    winner = dpsumm.papers.Auction(batch=5, n_features=16, requests="winner")
    summary = run([frame(rng), frame(rng)], frame(rng), protocol=winner, allow_weak_privacy=True)
    assert found(summary, "Epsilon ∞ between owners promises next to nothing") is ALARM
    everybody = dpsumm.papers.Auction(batch=5, n_features=16)
    assert found(run([frame(rng)] * 2, frame(rng), protocol=everybody), "between owners") is None


@pytest.mark.parametrize("rule", ["winner", "published", "all", "private"])
def test_requests_without_a_guarantee_are_refused_unless_accepted(rng, tmp_path, rule):
    """By a property of the protocol, so that whoever refuses a weak budget refuses these, too."""
    batch = 1 if rule == "published" else 5
    protocol = dpsumm.papers.Auction(batch=batch, n_features=16, requests=rule)
    given = {"protocol": protocol}
    owners, target, path = [frame(rng), frame(rng)], frame(rng), tmp_path / "books"
    dpsumm.Ledger.create(path).close()
    if rule in ("all", "private"):
        assert protocol.unprotected == ""
        assert run(owners, target, **given).privacy.epsilon(protected="owners") <= 1.0
        return
    said = rf"^`requests='{rule}'` protect .* between owners is ∞\. Give a"
    with pytest.raises(InvalidParameterError, match=said):
        run(owners, target, ledger=path, **given)
    schema = Schema([Column("age", bounds=(18, 95)), Column("bmi", bounds=(15, 40))])
    with pytest.raises(InvalidParameterError, match=said):
        summarize_silos(None, ["a"], target, schema=schema, size=10, **given)
    # Nothing was charged.
    with dpsumm.Ledger(path) as book:
        assert book.charges() == ()


def test_a_seeded_run_and_one_with_an_alarm_say_so_before_anything_good(rng, tmp_path):
    owners, target = [frame(rng, 600), frame(rng, 600)], frame(rng, 400)
    given = {"size": 20, "protocol": dpsumm.Offers(n_features=64), "epsilon": 8.0}
    good = replace(run(owners, target, **given), notes=(Note("Well.", INFO),))
    assert good.verdict.text.startswith("these points look much like your data: ")
    thin = replace(good, notes=(Note("Thin."), Note("Well.", INFO)))
    head = "these points look much like your data"
    assert thin.verdict.text.startswith(f"{head}, with 1 warning to check: ")
    assert thin.verdict.text in html.unescape(thin._repr_html_())
    title = f"{head.capitalize()}, with 1 warning to check"
    assert f"<h1>{title}" in thin.report().html
    assert f"<title>{title}" in thin.report().html
    seeded = run(owners, target, seed=1, **given)
    said = "not private (a seed was given); "
    assert seeded.verdict.text.startswith(f"{said}these points look much like your data")
    title = re.search("<h1>(.*?)</h1>", seeded.report().html)[1]
    assert title.startswith("Not private (a seed was given); ")
    page = seeded.report().html
    assert page.index("Seeded run: nothing is guaranteed.") < page.index("points read, ")
    assert said in seeded._repr_html_()
    seeded.save(tmp_path / "summary.csv")
    assert f'"{said}' in (tmp_path / "summary.csv.json").read_text("utf-8")
    weak = run(owners, target, **{**given, "epsilon": 12.0, "allow_weak_privacy": True})
    # Nothing good is said anywhere beside an alarm.
    assert weak.verdict.head == "check: read the warnings first"
    for shown in (weak._repr_html_(), weak.report().html):
        assert "check: read the warnings first" in shown.lower()
        assert "look much like" not in shown.lower()
    both = replace(seeded, notes=weak.notes)
    assert both.verdict.head == f"{said}check: read the warnings first"
    title = "<h1>Not private (a seed was given); check: read the warnings first</h1>"
    assert title in both.report().html


def test_the_owners_budget_is_judged_as_the_targets_is(rng, tmp_path):
    owners, target, path = [frame(rng), frame(rng)], frame(rng), tmp_path / "books"
    dpsumm.Ledger.create(path).close()
    given = {"delta": 1e-5, "protocol": dpsumm.papers.Auction(epsilon_owners=50.0, n_features=8)}
    with pytest.raises(InvalidParameterError, match=r"^epsilon_owners 50 .*allow_weak_privacy"):
        run(owners, target, ledger=path, **given)
    with dpsumm.Ledger(path) as book:
        assert book.charges() == ()
    summary = run(owners, target, **given, allow_weak_privacy=True)
    assert found(summary, "Epsilon 50 between owners promises next to nothing") is ALARM
    schema = Schema([Column("age", bounds=(18, 95)), Column("bmi", bounds=(15, 40))])
    with pytest.raises(InvalidParameterError, match=r"^epsilon_owners 50 promises"):
        # Before an owner is asked: there is no channel.
        summarize_silos(None, ["a"], target, schema=schema, size=10, **given)
    usual = dpsumm.papers.Auction(n_features=8)
    assert found(run(owners, target, protocol=usual), "next to nothing") is None


@pytest.mark.parametrize(
    ("epsilon", "delta", "said"),
    [
        (4.0, 1e-5, ()),
        (4.1, 1e-5, ("epsilon 4.1 promises little: .* 60 times .* 98.37% sure",)),
        (10.0, 1e-5, (" 22,026 times .* 99.99% sure",)),
        (10.1, 1e-5, ()),  # refused
        (1.0, 4.9e-3, ()),  # good to know
        (1.0, 5e-3, (r"delta 0.005 is 0.5 / 100, .* 0.5 of them on average",)),
        (1.0, 1e-2, ()),  # refused
    ],
)
def test_a_budget_that_promises_little_says_its_odds(epsilon, delta, said):
    thin = thin_budget(epsilon, delta, 100)
    assert len(thin) == len(said)
    assert all(re.search(a, b) for a, b in zip(said, thin, strict=True))


@pytest.mark.parametrize(
    ("m", "severity", "odds"),
    [
        (10_000, None, ""),
        (12_000, INFO, "Delta 1e-05 is 0.12 / 12,000 protected records: .* 0.12 of them on"),
        (49_999, INFO, "0.5 / 49,999 protected records: .* 2e-07 would be about a hundredth"),
        (50_000, WARNING, "0.5 / 50,000, close to one over .* 2e-07 would be about a hundredth"),
        (99_999, WARNING, "1 / 99,999, close to one over .* 1 of them on average"),
        (100_000, ALARM, "Delta 1e-05 is not below 1 / 100,000, .* one of them as it is would"),
        (10**9, ALARM, "is not below 1 / 1,000,000,000"),
    ],
)  # fmt: skip
def test_the_usual_delta_is_no_warning_for_some_ten_thousand_records(m, severity, odds):
    notes = budget_notes(1.0, 1e-5, m)
    assert [note.severity for note in notes] == ([] if severity is None else [severity])
    assert all(re.search(odds, note) for note in notes)


def test_such_a_budget_is_a_warning_and_no_refusal(rng):
    given = {"epsilon": 8.0, "delta": 0.5 / 60, "protocol": None}
    summary = run([frame(rng), frame(rng)], frame(rng), **given)
    assert found(summary, "Epsilon 8 promises little") is WARNING
    assert found(summary, "Delta 0.00833333 is 0.5 / 60") is WARNING
    auction = dpsumm.papers.Auction(epsilon_owners=6.0, n_features=8)
    summary = run([frame(rng), frame(rng)], frame(rng), protocol=auction, delta=1e-5)
    assert found(summary, "between owners promises little") is WARNING
