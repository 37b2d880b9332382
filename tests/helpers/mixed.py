"""A schema with a column of every kind."""

import datetime as dt

from dpsumm import Column, Schema

SCHEMA = Schema(
    [
        Column("note", "ignore"),
        Column("age", bounds=(20, 90), missing=("?", -9), when_missing="encode"),
        Column("sex", categories=("f", "m"), other="other", when_missing="encode"),
        Column("pain", categories=("no", "some", "bad"), ordered=True, when_missing="encode"),
        Column("visit", bounds=(dt.date(2001, 1, 1), dt.date(2021, 1, 1)), when_missing="encode"),
        Column("grade", categories=(1, 2, 3), other=0),
        Column("smoker", categories=(True, False), when_missing="encode"),
        Column("born", "ignore"),
        Column("beds", "ignore"),
        Column("outcome", "label", when_missing="drop"),
    ]
)
