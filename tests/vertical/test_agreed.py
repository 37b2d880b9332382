"""What all parties agree on: a label of a schema is a column of the rows."""

import numpy as np
import polars as pl
import pytest

from dpsumm import Column, Schema, plan_synthesis, synthesize
from dpsumm.errors import InvalidParameterError
from dpsumm.vertical.agreed import Agreed

AGE = Schema([Column("age", bounds=(20, 80), whole=True)])
DOSE = Column("dose", bounds=(0, 9))
ILL = Column("ill", "label", categories=("no", "yes"))
COUNTED = Column("ill", categories=("no", "yes"))


def agreed(*columns, label=None, **more):
    return Agreed.of({"a": AGE, "b": Schema([DOSE, *columns]), **more}, None, None, label)


def test_a_label_with_categories_is_counted_and_is_the_label():
    by_kind, by_name = agreed(ILL), agreed(COUNTED, label="ill")
    assert by_kind.layout == by_name.layout
    assert by_kind.schemas["b"] == by_name.schemas["b"] == Schema([DOSE, COUNTED])
    assert by_kind.layout.label == 2


def test_another_label_may_be_named():
    assert agreed(ILL, label="age").layout.label == 0
    assert agreed(COUNTED).layout.label is None


def test_of_two_labels_one_must_be_named():
    other = Schema([Column("year", bounds=(0, 9)), Column("cured", "label", categories=(0, 1))])
    with pytest.raises(
        InvalidParameterError, match=r"label: columns 'cured', 'ill' have.*Name one"
    ):
        agreed(ILL, c=other)
    assert agreed(ILL, c=other, label="cured").layout.label == 4


def test_owners_of_the_same_columns_have_one_label():
    same = Schema([*AGE.columns, ILL])
    layout = Agreed.of({"a": same, "b": same}, None, None, None).layout
    assert (layout.label, layout.same_columns) == (1, True)


def test_a_schema_that_serves_other_calls_makes_rows_too(rng):
    age = rng.integers(20, 80, 3000)
    ill = np.where(rng.random(3000) < (age - 15) / 80, "yes", "no")
    owners = {"a": pl.DataFrame({"age": age}), "b": pl.DataFrame({"ill": ill, "dose": age % 9})}
    clinic = {"dose": (0, 9), "ill": {"kind": "label", "categories": ["no", "yes"]}}
    schema = {"a": {"age": (20, 80)}, "b": clinic}
    made = synthesize(owners, schema=schema)
    assert made.label_model is not None
    assert set(made.to_frame()["ill"].unique()) == {"no", "yes"}
    assert plan_synthesis(schema, 3000).label_auc(0.8)
