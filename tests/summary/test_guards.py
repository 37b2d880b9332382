"""What would make a summary mean nothing is refused, or said first and in red."""

import pickle
import re
from dataclasses import replace
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest

import dpsumm
from dpsumm.cli import console
from dpsumm.data.schema import Column, Schema
from dpsumm.errors import InvalidDataError, InvalidParameterError, ProtocolError
from dpsumm.privacy.weak import thin_budget, weak_budget
from dpsumm.report.notes import CALLS, Note, Severity, notebook_notes, shown_notes, sorted_notes
from dpsumm.summary.copies import _nearly_equal as nearly_equal
from dpsumm.summary.mechanisms import Exact
from dpsumm.summary.release import TARGET, Draw
from dpsumm.summary.silos import summarize_silos

ALARM, WARNING, INFO = Severity
GREEDY = dpsumm.Greedy()


def frame(rng, n=60, low=18.0, high=95.0):
    return pl.DataFrame({"age": rng.uniform(low, high, n), "bmi": rng.uniform(15, 40, n)})


def run(owners, target, **more):
    given = {"size": 10, "bounds": {"age": (18, 95), "bmi": (15, 40)}, "protocol": GREEDY} | more
    return dpsumm.summarize(owners, target, **given)


def found(summary, text):
    """Return the severity of the note that has this text, None if there is none."""
    notes = [note for note in summary.warnings if text in note]
    assert len(notes) <= 1, notes
    return notes[0].severity if notes else None


def test_notes_have_the_worst_first_and_survive_a_copy():
    notes = sorted_notes([Note("c", INFO), "b", Note("a", ALARM)])
    assert notes == ("a", "b", "c")
    assert [note.severity for note in notes] == [ALARM, WARNING, INFO]
    assert [note.severity for note in pickle.loads(pickle.dumps(notes))] == [ALARM, WARNING, INFO]


def test_each_severity_is_called_the_same_on_page_notebook_and_terminal(capsys):
    notes = [Note(f"<b>{severity.name}", severity) for severity in Severity]
    page = "".join(shown_notes(notes[:2], seeded=False))
    told = [page, notebook_notes(notes[::-1])]
    assert re.findall('class="note ([a-z]+)"', page) == ["alarm", "warning"]
    assert (
        told[1].count("border-left:") == len(set(re.findall("border-left:([^;]+)", told[1]))) == 3
    )
    for html in told:
        assert "<b>" not in html
        assert html.index(CALLS[ALARM]) < html.index(CALLS[WARNING])
    assert f"{CALLS[INFO]}.</strong> &lt;b&gt;INFO" in told[1]
    console.warn(notes[::-1], seeded=False)
    said = [f"{CALLS[note.severity]}: {note}" for note in notes]
    assert capsys.readouterr().err.splitlines() == said
    assert len(set(CALLS.values())) == 3


# --- bounds -----------------------------------------------------------------------------------


def test_a_target_outside_its_bounds_is_refused_before_anything_is_charged(rng, tmp_path):
    path = tmp_path / "books"
    dpsumm.Ledger.create(path).close()
    message = r"'target': every value of column 'age' is outside its bounds \(0\.0, 1\.0\)"
    with pytest.raises(InvalidDataError, match=message):
        run([frame(rng)], frame(rng), bounds={"age": (0, 1), "bmi": (15, 40)}, protocol=None,
            ledger=path)  # fmt: skip
    with dpsumm.Ledger(path) as book:
        assert book.charges() == ()
    same = pl.DataFrame({"age": [30.0] * 5, "bmi": [20.0] * 5})
    with pytest.raises(InvalidDataError, match="the same point for the kernel"):
        run([frame(rng)], same)


@pytest.mark.parametrize(("outside", "severity"), [(2, INFO), (8, ALARM), (59, ALARM)])
def test_a_tenth_of_the_target_outside_its_bounds_is_an_alarm(rng, outside, severity):
    inside, far = frame(rng, 60 - outside), frame(rng, outside, 96, 120)
    summary = run([frame(rng)], pl.concat([inside, far]))
    assert found(summary, "of age were clipped to the public bounds") is severity
    assert found(summary, "check that the public bounds") is (None if severity is INFO else ALARM)


@pytest.mark.parametrize(
    ("first", "others", "severity"), [(1, 1, INFO), (50, 0, WARNING), (50, 50, ALARM)]
)
def test_owners_outside_the_bounds_are_told_of_together(rng, first, others, severity):
    owners = [
        pl.concat([frame(rng, 60 - n), frame(rng, n, 96, 120)])
        for n in (first, others, others, others)
    ]
    summary = run(owners, frame(rng))
    assert found(summary, "of age") is severity
    if others:
        assert found(summary, f"at 4 of 4 owners: {first} of age") is severity


@pytest.mark.parametrize(("dropped", "severity"), [(29, INFO), (30, WARNING)])
def test_an_owner_half_of_whose_rows_were_dropped_is_a_warning(rng, dropped, severity):
    age = pl.when(pl.int_range(60) < dropped).then(None).otherwise(30)
    form = dpsumm.data.FileFormat(drop_missing=True)
    owners = {"a": frame(rng).with_columns(age=age), "b": frame(rng)}
    summary = run(owners, frame(rng), file_format=form)
    assert found(summary, f"a: {dropped} rows with missing values were left out") is severity


def test_dropped_rows_of_many_owners_are_one_note(rng):
    def short(n):
        return frame(rng).with_columns(age=pl.when(pl.int_range(60) < n).then(None).otherwise(30))

    form = dpsumm.data.FileFormat(drop_missing=True)
    summary = run([short(3), short(41), frame(rng), short(7)], frame(rng), file_format=form)
    note = "Rows with missing values were left out at 3 of 4 owners: 3 to 41 each."
    assert found(summary, note) is WARNING  # 41 of 60 at one


# --- copies -----------------------------------------------------------------------------------


def test_a_target_that_is_also_an_owner_is_an_alarm(rng):
    target = frame(rng)
    summary = run({"a": target, "b": frame(rng)}, target)
    assert found(summary, "60 of 120 points read equal a target record in every column") is ALARM
    assert found(summary, "held by two owners") is None
    clean = run([frame(rng), frame(rng)], target)
    assert found(clean, "equal") is None


def test_one_file_as_two_owners_is_an_alarm(rng):
    twice = frame(rng)
    summary = run({"a": twice, "b": twice, "c": frame(rng)}, frame(rng))
    assert found(summary, "120 of 180 points read are held by two owners or more") is ALARM


def test_records_that_a_file_holds_twice_are_told_of(rng):
    once, few = frame(rng, 30), frame(rng, 59)
    summary = run({"a": pl.concat([once, once]), "b": frame(rng)}, frame(rng))
    said = "60 of 120 points read equal another one of the same owner in every column"
    assert found(summary, said) is ALARM
    assert found(summary, "held by two owners") is None
    summary = run({"a": pl.concat([few, few[:1]]), "b": frame(rng)}, frame(rng))
    assert found(summary, "2 of 120 points read equal another one of the same owner") is WARNING


def test_records_of_few_categories_are_equal_by_chance(rng):
    def coarse():
        return pl.DataFrame({"a": rng.integers(0, 2, 60) * 1.0, "b": rng.integers(0, 3, 60) * 1.0})

    summary = run([coarse(), coarse()], coarse(), bounds={"a": (0, 2), "b": (0, 3)})
    assert found(summary, "equal") is None


def whole_numbers(rng, n, slope=1.0):
    """Return people of two whole numbers each, of which many are equal where the target is."""
    age = rng.normal(62, 11, n).clip(18, 95).round()
    pressure = (130 + slope * (age - 62) + rng.normal(0, 10, n)).clip(60, 240).round()
    return pl.DataFrame({"age": age, "pressure": pressure})


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "protocol", [dpsumm.Offers(), dpsumm.Uniform(), GREEDY], ids=["offers", "uniform", "greedy"]
)
def test_points_of_whole_numbers_are_equal_by_chance_and_copies_are_found(protocol, seed):
    rng = np.random.default_rng(seed)
    owners = {"a": whole_numbers(rng, 1200, -1), "b": whole_numbers(rng, 900)}
    owners["c"], target = whole_numbers(rng, 700), whole_numbers(rng, 220)
    given = {"size": 60, "bounds": {"age": (18, 95), "pressure": (60, 240)}, "seed": seed}
    given |= {"protocol": protocol, "delta": 1e-5}
    assert found(run(owners, target, **given), "equal") is None
    if not isinstance(protocol, dpsumm.Uniform):  # which reads few of a file's rows twice
        twice = run(owners | {"d": owners["a"]}, target, **given)
        assert found(twice, "held by two owners or more") is ALARM
        assert found(twice, "equal a target record") is None
        copied = run(owners | {"d": target}, target, **given)
        assert found(copied, "equal a target record") is not None


def test_a_target_that_was_pasted_twice_hides_no_copies_and_is_told_of(rng):
    once, owner = frame(rng), frame(rng)
    summary = run({"a": once, "b": owner, "c": owner}, pl.concat([once, once[:40]]))
    said = "80 of the target's 100 records equal another one in every column, up to 2 of them"
    assert found(summary, said) is ALARM
    assert found(summary, "60 of 180 points read equal a target record in every column") is ALARM
    assert found(summary, "120 of 180 points read are held by two owners or more") is ALARM
    few = run([frame(rng)], pl.concat([once, once[:1]]))
    assert found(few, "2 of the target's 61 records equal another one") is WARNING


def test_what_equal_records_of_a_coarse_target_are_is_left_open(rng):
    """Different rows that are equal but for one column are as frequent as equal ones."""
    coarse = pl.DataFrame({"a": rng.integers(0, 2, 60) * 1.0, "b": rng.integers(0, 3, 60) * 1.0})
    assert nearly_equal(coarse.to_numpy(), None) == 1.0
    schema = Schema(
        [
            Column("a", categories=("x", "y", "z")),
            Column("b", bounds=(0, 1)),
            Column("c", categories=("u", "v")),
        ]
    )
    # Rows 0 and 1 differ in the category a alone, which is three coordinates.
    rows = np.array([[1, 0, 0, 0.5, 1, 0], [0, 1, 0, 0.5, 1, 0], [0, 0, 1, 0.7, 0, 1]], float)
    assert nearly_equal(rows, schema) == pytest.approx(2 / 3)
    assert nearly_equal(rows, None) == 0.0


# --- columns of the summary -------------------------------------------------------------------


@pytest.mark.parametrize(("most", "severity"), [(95.0, None), (95e4, ALARM)])
def test_a_column_that_wide_bounds_hide_is_named(most, severity):
    """Of the target, all are old; an owner's few are, and the rest of a record does not matter."""
    rng = np.random.default_rng(5)
    owner = pl.concat([frame(rng, 3000, 18, 60), frame(rng, 300, 60, 95)])
    summary = run([owner], frame(rng, 200, 60, 95), size=60,
                  bounds={"age": (18, most), "bmi": (15, 40)})  # fmt: skip
    assert found(summary, "does not follow the target in age") is severity
    assert found(summary, "follow the target in bmi") is None


@pytest.mark.parametrize(("absent", "severity"), [(10, INFO), (35, WARNING), (60, ALARM)])
def test_a_target_without_values_of_a_column_is_told_of(rng, absent, severity):
    schema = Schema(
        [
            Column("age", bounds=(18, 95), when_missing="encode"),
            Column("bmi", bounds=(15, 40)),
        ]
    )
    target = frame(rng).with_columns(
        age=pl.when(pl.int_range(60) < absent).then(None).otherwise(pl.col("age"))
    )
    summary = run([frame(rng, 200)], target, bounds=None, schema=schema)
    assert found(summary, f"target: {absent} values of age were missing") is severity


# --- budgets ----------------------------------------------------------------------------------


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
    summary = run(owners, target, **given)
    assert found(summary, "Epsilon 12 promises next to nothing") is ALARM
    assert found(summary, "Delta 0.02 is not below 1 / 60") is ALARM
    with pytest.raises(InvalidParameterError, match=r"--accept"):
        run(owners, target, accept=False, **given)
    # What is not spent is not told of.
    assert found(run(owners, target, epsilon=12.0), "Epsilon") is None


def test_owners_who_are_not_protected_from_each_other_are_an_alarm(rng):
    winner = dpsumm.Auction(batch=5, n_features=16, requests="winner")
    # Chosen by name, which is no budget: said, not refused.
    summary = run([frame(rng), frame(rng)], frame(rng), protocol=winner, accept=False)
    assert found(summary, "Epsilon ∞ between owners promises next to nothing") is ALARM
    everybody = dpsumm.Auction(batch=5, n_features=16)
    assert found(run([frame(rng)] * 2, frame(rng), protocol=everybody), "between owners") is None


def test_a_seeded_run_and_one_with_an_alarm_say_so_before_anything_good(rng, tmp_path):
    owners, target = [frame(rng, 600), frame(rng, 600)], frame(rng, 400)
    given = {"size": 20, "protocol": dpsumm.Offers(n_features=64), "epsilon": 8.0}
    good = run(owners, target, **given)
    assert good.verdict == good.scale.verdict(good.mmd2)
    seeded = run(owners, target, seed=1, **given)
    said = "not private (a seed was given); "
    assert seeded.verdict == f"{said}{seeded.scale.verdict(seeded.mmd2)}"
    title = re.search("<h1>(.*?)</h1>", seeded.report().html)[1]
    assert title.startswith("Not private (a seed was given); ")
    assert title.endswith(": 20 points of 2 owners")
    page = seeded.report().html
    assert page.index("Seeded run: nothing is guaranteed.") < page.index("points read, ")
    assert said in seeded._repr_html_()
    seeded.save(tmp_path / "summary.csv")
    assert f'"{said}' in (tmp_path / "summary.csv.json").read_text("utf-8")
    weak = run(owners, target, **{**given, "epsilon": 12.0})
    assert weak.verdict.startswith("read the warnings first; ")
    both = replace(seeded, warnings=weak.warnings)
    assert both.verdict.startswith(f"{said}read the warnings first; ")
    title = (
        "<h1>Not private (a seed was given); read the warnings first: 20 points of 2 owners</h1>"
    )
    assert title in both.report().html


def test_the_owners_budget_is_judged_as_the_targets_is(rng, tmp_path):
    owners, target, path = [frame(rng), frame(rng)], frame(rng), tmp_path / "books"
    dpsumm.Ledger.create(path).close()
    given = {"delta": 1e-5, "protocol": dpsumm.Auction(epsilon_owners=50.0, n_features=8)}
    with pytest.raises(InvalidParameterError, match=r"^epsilon_owners 50 promises.*--accept"):
        run(owners, target, accept=False, ledger=path, **given)
    with dpsumm.Ledger(path) as book:
        assert book.charges() == ()
    summary = run(owners, target, **given)
    assert found(summary, "Epsilon 50 between owners promises next to nothing") is ALARM
    schema = Schema([Column("age", bounds=(18, 95)), Column("bmi", bounds=(15, 40))])
    with pytest.raises(InvalidParameterError, match=r"^epsilon_owners 50 promises"):
        # Before an owner is asked: there is no channel.
        summarize_silos(None, ["a"], target, schema=schema, size=10, accept=False, **given)
    usual = dpsumm.Auction(n_features=8)
    assert found(run(owners, target, accept=False, protocol=usual), "next to nothing") is None


# --- labels -----------------------------------------------------------------------------------


def test_labels_of_one_class_or_other_shares_are_said(rng):
    def labelled(shift, label, n=60):
        return rng.normal(shift, 0.1, (n, 1)), np.full(n, label)

    kernel = {"bounds": None, "kernel": dpsumm.RBF(1.0)}
    target = rng.normal(0, 0.1, (60, 1))
    far = {"a": labelled(0, "x"), "b": labelled(9, "y")}
    assert found(run(far, target, **kernel), "have the same label, one of 2") is ALARM
    alone = run({"a": labelled(0, "x")}, target, **kernel)
    assert found(alone, "All points read have the same label") is WARNING
    listed = dpsumm.Schema([
        dpsumm.Column("x", bounds=(-1, 1)), dpsumm.Column("y", kind="label", categories=("x", "y"))
    ])  # fmt: skip
    one = pl.DataFrame({"x": rng.uniform(-1, 1, 60), "y": ["x"] * 60})
    of_one = run({"a": one}, one.select("x") * 0.9, bounds=None, schema=listed)
    assert found(of_one, "All points read have the same label") is ALARM
    mixed = np.concatenate([target, rng.normal(9, 0.1, (6, 1))])
    shifted = found(run(far, mixed, **kernel), "the class that differs most is 50% of the points")
    assert shifted is INFO


def test_labels_that_one_owner_spells_otherwise_are_told_of(rng):
    def of(*labels):
        return frame(rng).with_columns(y=pl.Series(list(labels) * (60 // len(labels))))

    target, said = frame(rng), "No label in the points read of"
    schema = dpsumm.Schema([
        dpsumm.Column("age", bounds=(18, 95)), dpsumm.Column("bmi", bounds=(15, 40)),
        dpsumm.Column("y", kind="label"),
    ])  # fmt: skip
    given = {"bounds": None, "schema": schema, "size": 40}
    usual = {"a": of("yes", "no"), "b": of("yes", "no")}
    assert found(run({**usual, "c": of("yes")}, target, **given), said) is None
    for own, severity in (
        (of("1", "0"), ALARM),
        (of("Yes", "No "), ALARM),
        (of("maybe", "later"), WARNING),
    ):
        summary = run({**usual, "c": own}, target, **given)
        assert found(summary, f"{said} 'c' is one of any other owner's") is severity


# --- copies left out ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "protocol",
    [dpsumm.Offers(n_features=64), dpsumm.Auction(batch=5, n_features=16), dpsumm.Pool(), GREEDY],
    ids=lambda protocol: protocol.name,
)
def test_copies_of_the_target_are_left_out_at_no_cost(rng, protocol):
    target = frame(rng)
    owners = {"a": target, "b": frame(rng)}
    given = {"protocol": protocol, "size": 20, "seed": 1}
    plain = run(owners, target, **given)
    summary = run(owners, target, drop_target_copies=True, **given)
    theirs = set(map(tuple, target.rows()))
    assert any(tuple(point) in theirs for point in plain.points.tolist())
    assert not any(tuple(point) in theirs for point in summary.points.tolist())
    assert found(summary, "were left out") is INFO
    assert found(summary, "holds the target's own data") is None
    # What owners see is the same: the same points were read, at the same charges.
    assert summary.privacy.charges == plain.privacy.charges
    np.testing.assert_array_equal(summary.pool, plain.pool)
    with pytest.raises(InvalidParameterError, match="drop_target_copies"):
        summary.private_model([0, 1])


def test_copies_cannot_be_left_out_while_messages_follow_or_if_nothing_is_left(rng):
    target = frame(rng)
    first = dpsumm.Auction(batch=5, n_features=16, reselect=False)
    with pytest.raises(InvalidParameterError, match="reselect=True"):
        run([target], target, protocol=first, drop_target_copies=True)
    with pytest.raises(ProtocolError, match="leave out the owner"):
        run([target], target, drop_target_copies=True)


# --- owners that lie outside the bounds altogether ----------------------------------------------


def test_owners_in_other_units_are_an_alarm_after_everything_was_sent(rng):
    months = frame(rng).with_columns(age=pl.col("age") * 12)
    owners = {"north": months, "south": frame(rng), "west": months}
    summary = run(owners, frame(rng), protocol=None)
    said = "read of 'north', 'west', at least nine in ten values of age lie outside its bounds"
    assert found(summary, said) is ALARM
    assert summary.warnings[0].severity is ALARM
    everybody = run({"north": months}, frame(rng))
    said = "In the points read of all owners, at least nine in ten values of age lie outside"
    assert found(everybody, said) is ALARM


@pytest.mark.same_draws  # a tenth of the summary from such an owner would be an alarm
def test_a_column_that_is_ruined_at_one_owner_is_a_warning_that_names_both(rng):
    def owner(ages, sex):
        rows = frame(rng).with_columns(sex=pl.Series(sex * 20))
        return rows.with_columns(age=ages)

    schema = dpsumm.Schema([
        dpsumm.Column("age", bounds=(18, 95), when_missing="encode"),
        dpsumm.Column("bmi", bounds=(15, 40)),
        dpsumm.Column("sex", categories=("f", "m"), other="else"),
    ])  # fmt: skip
    usual, mixed = pl.col("age"), ["f", "m", "f"]
    half = pl.when(pl.int_range(60) < 50).then(None)
    owners = {
        "months": owner(half.otherwise(usual * 12), mixed),
        "empty": owner(pl.lit(None, pl.Float64), mixed),
        "french": owner(usual, ["homme", "femme", "femme"]),
        "some": owner(half.otherwise(usual), ["f", "f", "else"]),
        "usual": owner(usual, mixed),
    }
    given = {"bounds": None, "schema": schema}
    summary = run(owners, owner(usual, mixed), **given)
    said = {
        "read of 'months', at least nine in ten values of age lie outside its bounds": WARNING,
        "No point read of 'empty' has a value of age": WARNING,
        "read of 'french', at least nine in ten values of sex are in no category": WARNING,
    }
    assert {text: found(summary, text) for text in said} == said
    assert not any(
        name in note for note in summary.warnings for name in ("'some'", "'usual'", "of bmi")
    )
    # Of the ten values that it has, all are clipped: no share of its sixty rows.
    assert found(summary, "months: 10 values of age were clipped") is WARNING
    assert not any(note.severity is ALARM for note in summary.warnings)
    # Where most of the summary comes from such an owner, it means nothing.
    alone = run({name: owners[name] for name in ("french", "usual")}, owner(usual, mixed), **given)
    assert found(alone, "read of 'french', at least nine in ten values of sex") is ALARM


def test_a_pool_of_one_point_is_an_alarm(rng):
    same = pl.DataFrame({"age": [30.0] * 20, "bmi": [20.0] * 20})
    assert found(run([same], frame(rng)), "All points read are one point") is ALARM
    assert found(run([frame(rng)], frame(rng)), "All points read") is None


# --- columns that the distance does not see ------------------------------------------------------

AGE, BMI = Column("age", bounds=(18, 95)), Column("bmi", bounds=(15, 40))
HIDDEN, LIGHT = "take up a small part of the bounds of", "The distance hardly sees"


def with_columns(owners, target, *columns, **more):
    return run(owners, target, bounds=None, schema=Schema(columns), **more)


@pytest.mark.parametrize(
    ("most", "severity"), [(95, None), (1000, None), (2000, WARNING), (1e6, ALARM)]
)
def test_bounds_far_wider_than_the_values_are_told_of(rng, most, severity):
    age = Column("age", bounds=(0, most))
    summary = with_columns([frame(rng, 200)], frame(rng), age, BMI)
    assert found(summary, f"{HIDDEN} age (") is severity
    assert found(summary, "of bmi") is None
    # A bandwidth as much smaller sees the column again.
    sharp = dpsumm.RBF(3 * (most / 20) ** 2)
    summary = with_columns([frame(rng, 200)], frame(rng), age, BMI, kernel=sharp)
    assert found(summary, HIDDEN) is None


def test_dates_up_to_the_year_9999_are_an_alarm_whatever_a_few_marks_are(rng):
    def dated(n):
        days = [date(2024, 1, 1) + timedelta(int(i)) for i in rng.integers(0, 365, n)]
        return frame(rng, n).with_columns(day=pl.Series([date(9999, 12, 31), *days[1:]]))

    for last, severity in ((9999, ALARM), (2026, None)):
        day = Column("day", bounds=(date(2023, 1, 1), date(last, 12, 31)))
        summary = with_columns([dated(300)], dated(100), AGE, BMI, day)
        assert found(summary, f"{HIDDEN} day (") is severity


def test_a_column_of_one_value_is_not_told_of(rng):
    def nearly(n):
        return frame(rng, n).with_columns(age=pl.when(pl.int_range(n) < 1).then(90).otherwise(18))

    assert found(run([nearly(200)], nearly(100)), HIDDEN) is None


@pytest.mark.parametrize(("weight", "severity"), [(1.0, None), (0.1, None), (0.001, WARNING)])
def test_a_weight_that_takes_a_column_out_is_a_warning(rng, weight, severity):
    age = replace(AGE, weight=weight)
    sex = Column("sex", categories=("f", "m"), weight=weight)
    owner, target = (
        frame(rng, n).with_columns(sex=pl.lit("f"), kg=pl.Series(rng.uniform(40, 120, n)))
        for n in (200, 60)
    )
    summary = with_columns([owner], target, age, BMI, sex, Column("kg", bounds=(40, 120)))
    assert found(summary, f"{LIGHT} age ({weight:g}), sex ({weight:g})") is severity
    # All weights alike are none.
    alike = with_columns([owner], target, age, replace(BMI, weight=weight))
    assert found(alike, LIGHT) is None


def test_a_distance_that_sees_few_of_the_columns_is_an_alarm(rng):
    wide, light = Column("age", bounds=(0, 2000)), replace(BMI, weight=0.001)
    third = Column("third", bounds=(0, 1))
    owner, target = (
        frame(rng, n).with_columns(third=pl.Series(rng.uniform(0, 1, n))) for n in (200, 60)
    )
    one = with_columns([owner], target, wide, BMI, third)
    assert found(one, f"{HIDDEN} age") is WARNING
    both = with_columns([owner], target, wide, light, third)
    assert found(both, f"{HIDDEN} age") is found(both, f"{LIGHT} bmi (0.001)") is ALARM
    assert both.verdict.startswith("read the warnings first")


# --- a kernel that takes all records for alike ---------------------------------------------------

ALIKE = "takes the target's records for alike"


@pytest.mark.parametrize(("wider", "severity"), [(1, None), (2, None), (8, WARNING), (30, ALARM)])
@pytest.mark.parametrize("by_gamma", [False, True])
def test_a_kernel_that_tells_no_records_apart_is_told_of(rng, wider, severity, by_gamma):
    bounds = {"age": (18, 18 + 77 * wider), "bmi": (15, 15 + 25 * wider)}
    given = {"bounds": bounds}
    if by_gamma:
        given = {"kernel": dpsumm.RBF(3 / wider**2)}
    owners, target = [frame(rng, 200), frame(rng, 200)], frame(rng, 300)
    summary = run(owners, target, **given)
    assert found(summary, ALIKE) is severity
    # One note about one thing.
    assert sum(ALIKE in note or HIDDEN in note for note in summary.warnings) == bool(severity)
    assert (found(summary, HIDDEN) is ALARM) == (wider == 30 and not by_gamma)
    assert summary.verdict.startswith("read the warnings first") == (severity is ALARM)
    # Without bounds, in the data's own units.
    free = run(owners, target, bounds=None, kernel=dpsumm.RBF(3 / (77 * wider) ** 2))
    assert found(free, ALIKE) is severity


def test_a_narrow_target_and_equal_records_are_told_apart(rng):
    """A kernel that sees owners' points far from a narrow target, or a few among copies, works."""
    narrow = frame(rng, 200, 40, 41).with_columns(bmi=20 + pl.col("bmi") / 100)
    assert found(run([frame(rng, 200)], narrow), ALIKE) is None
    assert found(run([narrow], narrow.reverse()), ALIKE) is ALARM
    copies = pl.concat([frame(rng, 10), *[frame(rng, 1)] * 990])
    assert found(run([copies], copies), ALIKE) is None


# --- an owner whose column is elsewhere ----------------------------------------------------------

ELSEWHERE = "far from the target's and from every other owner's"


@pytest.mark.parametrize(
    ("factor", "told"), [(1, False), (10, True), (1 / 18, True), (2.54, False), (2.2046, False)]
)
@pytest.mark.parametrize("bounds", [(0, 500), None])
def test_one_owner_in_other_units_inside_the_bounds_is_named(rng, factor, told, bounds):
    other = frame(rng, 200).with_columns(bmi=factor * pl.col("bmi"))
    owners = {"north": frame(rng, 200), "south": other, "west": frame(rng, 200)}
    given = {} if bounds else {"kernel": dpsumm.RBF(1e-3)}
    columns = (Column("age", bounds=bounds), Column("bmi", bounds=bounds))
    summary = with_columns(owners, frame(rng), *columns, **given)
    said = f"values of bmi in the points read of 'south' lie {ELSEWHERE}"
    assert found(summary, said) is (WARNING if told else None)
    assert sum(ELSEWHERE in note for note in summary.warnings) == told


OUTSIDE = "points of the summary have values of bmi far outside the target's"


@pytest.mark.parametrize(("slips", "severity"), [(0, None), (2, None), (3, ALARM), (30, ALARM)])
def test_points_in_other_units_at_several_owners_are_counted(rng, slips, severity):
    """A pool that is the summary: so many points are far outside, at two owners of three."""
    part = frame(rng, 10)
    far = pl.when(pl.int_range(10) < slips / 2).then(88 * pl.col("bmi")).otherwise("bmi")
    near = pl.when(pl.int_range(10) < slips // 2).then(88 * pl.col("bmi")).otherwise("bmi")
    owners = [part.with_columns(bmi=far), part.with_columns(bmi=near), frame(rng, 10)]
    given = {"size": 30, "bounds": {"age": (18, 95), "bmi": (0, 4000)}}
    summary = run(owners, frame(rng), **given)
    assert found(summary, f"{min(slips, 20)} of the 30 {OUTSIDE}") is severity
    assert found(summary, OUTSIDE) is severity


def test_an_owner_in_other_units_who_fills_the_summary_is_one_alarm(rng):
    other = frame(rng, 60).with_columns(bmi=88 * pl.col("bmi"))
    owners = {"north": frame(rng, 20), "south": other}
    summary = run(owners, frame(rng), size=80, bounds={"age": (18, 95), "bmi": (0, 4000)})
    assert found(summary, f"of 'south' lie {ELSEWHERE}") is ALARM
    assert found(summary, OUTSIDE) is None


def test_owners_of_other_populations_are_not_in_other_units(rng):
    owners = [rng.normal(shift, 1, (500, 2)) for shift in (-3, 0, 3)]
    summary = run(owners, rng.normal(2, 1, (300, 2)), bounds=None, kernel=dpsumm.RBF(0.25))
    assert found(summary, ELSEWHERE) is found(summary, "far outside the target's") is None
    # Nor is one of a column that is mostly 0, as pixels are.
    dark = np.where(rng.random((4, 200, 1)) < 0.05, rng.uniform(0, 1, (4, 200, 1)), 0.0)
    lit = [*dark[:2], 9 + dark[2]]
    summary = run(lit, dark[3], bounds=None, kernel=dpsumm.RBF(0.25))
    assert found(summary, ELSEWHERE) is None


# --- a column that says the label ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (lambda y, rng: y * 3.0, True),
        (lambda y, rng: (y == 1) * 2.0, True),
        (lambda y, rng: y + rng.uniform(0, 0.9, len(y)), True),
        (lambda y, rng: np.where(y == 0, np.nan, 1.0), True),
        (lambda y, rng: rng.uniform(0, 3, len(y)), False),
        (lambda y, rng: np.where(np.arange(len(y)) == 7, 1 - y, y), False),
    ],
)
def test_a_column_that_says_the_label_is_told_of(rng, values, told):
    y = np.arange(300) % 2
    rows = frame(rng, 300).with_columns(y=pl.Series(y), leak=pl.Series(values(y, rng)))
    rows = rows.with_columns(leak=pl.col("leak").fill_nan(None))
    columns = (AGE, BMI, Column("leak", bounds=(-1, 3), when_missing="encode"))
    label = Column("y", kind="label")
    summary = with_columns([rows], rows.drop("y").reverse(), *columns, label)
    said = "one column alone tells the label without an error: 'leak'"
    assert found(summary, said) is (WARNING if told else None)
    few = with_columns([rows.head(49)], rows.drop("y"), *columns, label)
    assert found(few, "tells the label") is None


def test_with_as_many_points_read_as_kept_nothing_was_chosen(rng):
    said = "the curator had none to choose from"
    for protocol in (dpsumm.Pool(parsimony=1), dpsumm.Offers(parsimony=1, n_features=64)):
        assert found(run([frame(rng)], frame(rng), protocol=protocol), said) is WARNING
    for protocol in (dpsumm.Pool(parsimony=2), dpsumm.Uniform(), GREEDY):
        assert found(run([frame(rng)], frame(rng), protocol=protocol), said) is None


# --- a run that is resumed -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "protocol",
    [
        dpsumm.Offers(),
        dpsumm.Offers(features="random", n_features=64),
        dpsumm.Offers(release=Exact()),
        dpsumm.Auction(batch=5, n_features=64),
    ],
    ids=lambda protocol: repr(protocol)[:60],
)
def test_a_run_resumed_with_another_target_is_an_alarm(rng, tmp_path, protocol):
    dpsumm.Ledger.create(tmp_path / "books").close()
    owners, target = [frame(rng, 100)], frame(rng, 2000)
    given = {"ledger": tmp_path / "books", "run": "r", "protocol": protocol, "delta": 1e-6}
    young = target.with_columns(age=18 + (pl.col("age") - 18) / 3)
    said = "'r' was resumed: what it had released was used again, not released anew. "
    first = run(owners, target, **given)
    assert found(first, "resumed") is None
    again = run(owners, target, **given)
    assert found(again, f"{said}Its noise cannot tell the target given from") is WARNING
    other = run(owners, young, **given)
    assert found(other, f"{said}It was released of another target") is ALARM
    assert other.verdict.startswith("read the warnings first")
    # What owners see, and what is charged, is the same.
    assert other.privacy.charges == again.privacy.charges == first.privacy.charges
    with dpsumm.Ledger(tmp_path / "books") as book:
        assert len(book.charges()) == len(first.privacy.charges)


def test_the_noise_explains_the_same_target_and_no_other(rng):
    """A release is within the bound but for 1e-9; a bound of half the noise refuses all."""
    features = dpsumm.kernels.RandomFeatures(2, 256, gamma=1.0, seed=1)
    points, mechanism = rng.uniform(0, 1, (500, 2)), dpsumm.Gaussian(5.0)
    draw = Draw(features, points, TARGET, 500)
    half = dpsumm.Gaussian(2.5)
    for _ in range(20):
        made = mechanism.draw(draw)
        assert mechanism.fits(draw, made)
        assert not half.fits(draw, made)
    assert not mechanism.fits(replace(draw, points=points + 9), made)
    assert dpsumm.Mwem.published(0.1, 3).fits(draw, made) is None


# --- budgets that promise little -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "delta", "said"),
    [
        (4.0, 1e-5, ()),
        (4.1, 1e-5, ("epsilon 4.1 promises little: .* 60 times .* 98.37% sure",)),
        (10.0, 1e-5, (" 22,026 times .* 99.99% sure",)),
        (10.1, 1e-5, ()),  # refused
        (1.0, 1e-3, ()),
        (1.0, 5e-3, (r"delta 0.005 is 0.5 / 100, .* 0.5 records on average",)),
        (1.0, 1e-2, ()),  # refused
    ],
)
def test_a_budget_that_promises_little_says_its_odds(epsilon, delta, said):
    thin = thin_budget(epsilon, delta, 100)
    assert len(thin) == len(said)
    assert all(re.search(a, b) for a, b in zip(said, thin, strict=True))


def test_such_a_budget_is_a_warning_and_no_refusal(rng):
    given = {"epsilon": 8.0, "delta": 0.5 / 60, "protocol": None, "accept": False}
    summary = run([frame(rng), frame(rng)], frame(rng), **given)
    assert found(summary, "Epsilon 8 promises little") is WARNING
    assert found(summary, "Delta 0.00833333 is 0.5 / 60") is WARNING
    auction = dpsumm.Auction(epsilon_owners=6.0, n_features=8)
    summary = run([frame(rng), frame(rng)], frame(rng), protocol=auction, delta=1e-5)
    assert found(summary, "between owners promises little") is WARNING
