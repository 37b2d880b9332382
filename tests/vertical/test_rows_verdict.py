"""What a result says of its rows: its verdict, and its notes."""

import numpy as np
import pytest

from dpsumm import Column, Schema, Tables, synthesize
from dpsumm.cli.typed import typed
from dpsumm.errors import InvalidParameterError
from dpsumm.report.notes import Severity
from helpers.joined import SCHEMAS, frames


def test_what_gives_a_model_more_is_named_as_it_is_typed():
    data = frames(1000)
    given = {"schema": SCHEMAS, "ids": "person", "epsilon": 50.0, "seed": 1}
    synthetic = synthesize(data, **given, protocol=Tables(components=1))
    (note,) = [one for one in synthetic.notes if "did not reach the tables" in one]
    assert "more components with `protocol=Tables(components=...)`, or, in" in note
    assert "more components with --components, or, in Python, more max_steps there." in typed(
        note, {"components", "label"}
    )


@pytest.mark.parametrize("ids", [None, "person"])
def test_equal_order_that_nobody_checked_is_warned_of_once(ids):
    data, schemas = frames(), SCHEMAS
    if ids is None:
        schemas = {
            name: Schema([column for column in schema.columns if column.in_kernel])
            for name, schema in SCHEMAS.items()
        }
    synthetic = synthesize(data, schema=schemas, ids=ids)
    told = [note for note in synthetic.notes if "was not checked" in note]
    # Columns that are seen to depend on each other show that the order is right.
    assert [note.severity for note in told] == ([Severity.INFO] if ids is None else [])
    shuffled = data | {"bank": data["bank"].sample(fraction=1.0, shuffle=True, seed=1)}
    if ids is None:
        notes = synthesize(shuffled, schema=schemas).notes
        assert [n.severity for n in notes if "not checked" in n] == [Severity.WARNING]


@pytest.mark.parametrize(("together", "said"), [(0.0, True), (1.0, False)])
def test_a_pair_is_named_where_noise_hides_whether_it_depends(together, said):
    rng = np.random.default_rng(2)
    a, b = rng.random((2, 3000, 1))
    schemas = {name: Schema([Column(name, bounds=(0, 1))]) for name in "ab"}
    data = {"a": a, "b": together * a + (1 - together) * b}
    # Of columns that do not depend on each other one run in a hundred says nothing.
    warnings = [synthesize(data, schema=schemas).notes for _ in range(10)]
    text = "0 of 1 pairs of two owners' columns stand out of the noise"
    found = [note for notes in warnings for note in notes if note.startswith(text)]
    assert len(found) > 5 if said else not found
    assert all(note.severity is not Severity.INFO for note in found)


@pytest.mark.parametrize("levels", [2, 0])
def test_what_records_differ_by_alone_does_not_stand_out(levels):
    """Where next to no noise is left, columns in another order still depend on each other a bit."""
    rng = np.random.default_rng(0)
    data = {name: rng.random((20_000, 1)) for name in "ab"}
    column = {"bounds": (0, 1)}
    if levels:
        data = {name: np.floor(levels * values) for name, values in data.items()}
        column = {"categories": tuple(range(levels))}
    schemas = {name: Schema([Column(name, **column)]) for name in "ab"}
    linked = {"a": data["a"], "b": np.where(rng.random((20_000, 1)) < 0.1, data["a"], data["b"])}
    for seed in range(5):
        shuffled = {name: rng.permuted(values) for name, values in data.items()}
        apart = synthesize(shuffled, schema=schemas, epsilon=100, seed=seed)
        assert apart.verdict.text.endswith(
            "0 of 1 pairs of columns across owners stand out of the noise"
        )
        seen = synthesize(linked, schema=schemas, epsilon=100, seed=seed)
        assert "1 of 1 pairs of columns" in seen.verdict.text


@pytest.mark.same_draws
@pytest.mark.parametrize("label", [None, "c2"])
def test_one_owner_whose_records_are_in_another_order_is_named(label):
    """The pairs of the other two stand out as ever."""
    rng = np.random.default_rng(1)
    base = rng.random((8000, 1))
    data = {name: np.floor(3 * (base + 0.3 * rng.random((8000, 2))) / 1.3) for name in "abc"}
    levels = {"categories": (0, 1, 2)}
    schemas = {n: Schema([Column(f"{n}1", **levels), Column(f"{n}2", **levels)]) for n in "abc"}
    right = synthesize(data, schema=schemas, label=label, seed=1)
    assert right.verdict.severity is Severity.INFO
    moved = data | {"c": rng.permutation(data["c"])}
    wrong = synthesize(moved, schema=schemas, label=label, seed=1)
    assert wrong.verdict.severity is Severity.WARNING
    assert "hardly anything links one owner's columns to the others'" in wrong.verdict.text
    assert any(
        "out of the noise, hardly any with columns of c. Check that" in n for n in wrong.notes
    )
    apart = data | {"b": rng.permutation(data["b"]), "c": moved["c"]}
    nothing = synthesize(apart, schema=schemas, label=label, seed=1)
    assert "hardly anything links the owners' columns" in nothing.verdict.text


@pytest.mark.same_draws
@pytest.mark.parametrize("bins", [None, 4])
def test_rows_that_mean_nothing_are_an_alarm(bins):
    """All levels share one code at every owner: nothing is left to join."""
    schemas = {name: Schema([Column(name, bounds=(0, 1))]) for name in "ab"}
    data = dict(zip("ab", np.random.default_rng(3).random((2, 300, 1)), strict=True))
    given = Tables(bins=bins)
    synthetic = synthesize(data, schema=schemas, epsilon=0.1, protocol=given)
    assert not synthetic.tables.pairs
    assert synthetic.verdict.severity is Severity.ALARM
    assert "the rows mean nothing" in synthetic.verdict.text


def test_a_budget_that_promises_nothing_is_an_alarm_or_refused():
    given = {"schema": SCHEMAS, "ids": "person", "epsilon": 12.0}
    synthetic = synthesize(frames(300), **given, allow_weak_privacy=True)
    assert any(note.startswith("Epsilon 12 promises next to nothing") for note in synthetic.notes)
    with pytest.raises(InvalidParameterError, match=r"an observer sees .*allow_weak_privacy"):
        synthesize(frames(300), **given)
    with pytest.raises(InvalidParameterError, match="not below 1 / 300"):
        synthesize(frames(300), schema=SCHEMAS, ids="person", delta=0.01)
