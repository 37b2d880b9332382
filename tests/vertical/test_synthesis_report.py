"""The report: figures that follow from released tables, a title that does not flatter, the page."""

import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest

from dpsumm import Column, Schema, Tables, synthesize
from dpsumm.vertical.fidelity import drawn_rows, fidelity_of
from dpsumm.vertical.page import render
from dpsumm.vertical.way import Way
from helpers.same_draws import repeat

SCHEMAS = {
    "bank": Schema([Column("<income>", bounds=(0, 1)), Column("owns", categories=(0, 1))]),
    "clinic": Schema([Column("smokes", categories=(0, 1, 2))]),
}


def made(n=4000, epsilon=4.0, *, apart=False, **given):
    rng = np.random.default_rng(0)
    income = rng.random(n)
    owns = (rng.random(n) < income).astype(float)
    smokes = np.digitize(rng.random(n) if apart else income, [0.3, 0.6]).astype(float)
    data = {"bank": np.stack([income, owns], axis=1), "clinic": smokes[:, None]}
    return synthesize(data, schema=SCHEMAS, epsilon=epsilon, protocol=Tables(bins=6), **given)


@pytest.fixture(scope="module")
def synthetic():
    with pytest.MonkeyPatch.context() as patch:
        repeat(patch, 0)
        return made()


def test_distances_are_those_of_the_rows_to_the_tables(synthetic):
    """By a second way: from decoded rows."""
    found = fidelity_of(synthetic.tables, drawn_rows(synthetic.model, None))
    rows = synthetic.model.draw(100_000, seed=5)
    tables, n = synthetic.tables, synthetic.n_records
    assert [one.pair for one in found] == [(0, 1), (0, 2), (1, 2)]
    for one in found:
        i, j = one.pair
        share = np.zeros(tables.pairs[i, j].shape)
        np.add.at(share, (tables.codes[i][rows[:, i]], tables.codes[j][rows[:, j]]), 1e-5)
        assert one.distance == pytest.approx(
            abs(share - tables.pairs[i, j] / n).sum() / 2, abs=0.01
        )
        # Rows that reach the tables have their dependences.
        assert one.seen
        assert one.rows == pytest.approx(one.released, abs=0.02)
        assert one.distance < 2 * one.noise + 0.02


@pytest.mark.same_draws
def test_pairs_with_the_label_are_those_that_its_model_draws():
    result = made(label="owns", seed=3)
    found = fidelity_of(result.tables, drawn_rows(result.model, result.label_model))
    rows = result.model.draw(100_000, seed=5)
    rows[:, 1] = result.label_model.draw(rows, np.random.default_rng(6))
    for one in found:
        i, j = one.pair
        codes = [result.tables.codes[k][rows[:, k]] for k in one.pair]
        share = np.zeros(result.tables.pairs[i, j].shape)
        np.add.at(share, tuple(codes), 1e-5)
        wanted = abs(share - result.tables.pairs[i, j] / result.n_records).sum() / 2
        assert one.distance == pytest.approx(wanted, abs=0.01)


def test_rows_of_independent_columns_are_far_where_columns_depend(synthetic):
    """A model that knows nothing of dependence is noticed."""
    model = synthetic.model.mixture
    mean = (model.pi[:, None] * model.theta).sum(axis=0, keepdims=True)
    alone = replace(model, pi=np.ones(1), theta=mean)
    found = fidelity_of(synthetic.tables, drawn_rows(alone, None))
    for one in found:
        assert one.rows < 0.01 < one.released
        assert one.distance > 3 * one.noise


def test_what_noise_alone_makes_is_what_it_makes(synthetic):
    plan, n = synthetic.tables.plan, synthetic.n_records
    found = fidelity_of(synthetic.tables, drawn_rows(synthetic.model, None))
    rng = np.random.default_rng(2)
    for index, one in enumerate(found):
        noise = rng.normal(
            0, plan.variance(index) ** 0.5, (2000, synthetic.tables.pairs[one.pair].size)
        )
        # 6 standard errors of the mean of so many |noise|, whose deviation is 0.756 of its mean.
        slack = 6 * 0.756 / noise.size**0.5
        assert one.noise == pytest.approx(abs(noise).sum(axis=1).mean() / (2 * n), rel=slack)


@pytest.mark.same_draws
@pytest.mark.parametrize(
    ("changes", "verdict", "alarm"),
    [
        ({}, "2 of 2 pairs of columns across owners stand out of the noise", False),
        (
            {"apart": True, "epsilon": 0.2, "seed": 1},
            "0 of 2 pairs of columns across owners stand out of the noise",
            False,
        ),
        ({"n": 250, "epsilon": 0.05, "seed": 1}, "the rows mean nothing", True),
        ({"protocol": Tables(bins=6, max_steps=1)}, "the model does not fit the tables", False),
    ],
)
def test_the_title_says_what_the_rows_are_worth(changes, verdict, alarm):
    if "protocol" in changes:
        result = synthesize(
            {"bank": np.stack([np.arange(4000) / 4000, np.arange(4000) >= 2000], axis=1) * 1.0,
             "clinic": np.arange(4000)[:, None] // 1334 * 1.0},
            schema=SCHEMAS, epsilon=4.0, **changes,
        )  # fmt: skip
    else:
        result = made(**changes)
    text = render(result)
    (title,) = re.findall("<h1>(.*?)</h1>", text, re.DOTALL)
    assert verdict in result.verdict.text
    head, why = result.verdict.head, result.verdict.why
    assert unescape(title) == f"{head[0].upper()}{head[1:]}"
    assert f"{why[:1].upper()}{why[1:]}" in unescape(text)
    assert ("Look at this first." in text) == alarm


@pytest.mark.parametrize(
    ("way", "sent", "kept"),
    [
        (Way.TOGETHER, "One process to Everybody", "can reach this process"),
        (Way.PADS, "Helper to 2 owners: random masks", "helper keeps the owners' keys to itself"),
        (Way.MPYC, "Helper to 2 owners: secret shares", "helper works with none of the owners"),
    ],
)
def test_the_page_shows_how_tables_of_two_owners_were_made(synthetic, way, sent, kept):
    text = unescape(render(replace(synthetic, privacy=replace(synthetic.privacy, way=way))))
    assert sent in text
    assert kept in text
    assert way.condition in text
    assert "pads" not in text.replace(way.condition, "")


def test_the_page_has_every_guarantee_and_condition_and_escapes_names(synthetic, tmp_path):
    page = synthetic.report(tmp_path / "report.html")
    assert page.html == (tmp_path / "report.html").read_text()
    assert page._repr_html_().startswith("<iframe srcdoc=")
    text = (tmp_path / "report.html").read_text("utf-8")
    for sentence in synthetic.privacy.statements():
        assert sentence.replace("'", "&#x27;") in text
    for part in (
        "one process held the records of all owners",
        "Not protected: which records",
        "No row is a record.",
    ):
        assert part in text
    assert "<income>" not in text
    assert "&lt;income&gt;" in text
    assert "hidden by noise" not in text
    assert not re.search(r'(src|href)="(?!data:)', text)


def test_a_seeded_run_is_called_so():
    seeded = made(500, seed=1)
    page = render(seeded)
    assert "Seeded run: nothing is guaranteed." in page
    assert seeded.verdict.text.startswith("not private (a seed was given); ")
    assert "<h1>Not private (a seed was given); " in page
