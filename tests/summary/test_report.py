"""The report: complete, self-contained, escaped, and its figures honest."""

from __future__ import annotations

import base64
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpsumm.data.schema import Schema
from dpsumm.errors import InvalidParameterError, MissingExtraError
from dpsumm.privacy.events import Charge, Gaussian, NonPrivate, Protected, Seeded
from dpsumm.privacy.guarantees import PrivacyReport
from dpsumm.report import figures, parts
from dpsumm.report.numbers import round_up
from dpsumm.summary.page import render, write_report
from dpsumm.summary.result import Summary

RELEASE = Charge(Protected.TARGET, "target release", Gaussian(3.8))


def make(
    size: int = 60,
    n_columns: int = 5,
    names: tuple[str, ...] = ("north", "south", "east"),
    charges: tuple[Charge, ...] = (RELEASE,),
    **changes: Any,
) -> Summary:
    rng = np.random.default_rng(1)
    target = rng.normal(size=(200, n_columns)) * np.arange(n_columns, 0, -1)
    pool = rng.normal(size=(3 * size, n_columns)) * 4
    points = target[:size] + 0.1
    summary = Summary(
        points=points,
        labels=None,
        owner=rng.integers(0, len(names), size),
        index=np.arange(size),
        names=names,
        n_records=tuple(1000 * (i + 1) for i in range(len(names))),
        schema=Schema.numbers([f"column {j}" for j in range(n_columns)]),
        accesses=len(pool),
        mmd2=0.002,
        curve=0.5 / np.arange(1, size + 1),
        gamma=0.25,
        privacy=PrivacyReport(charges, 1e-5, "Nothing an owner receives depends on others."),
        protocol="offers",
        scaled=points,
        pool=pool,
        pool_owner=rng.integers(0, len(names), len(pool)),
        target=target,
        target_self=0.5,
        size_requested=size,
        seconds=1.5,
    )
    return replace(summary, **changes)


class Page(HTMLParser):
    """Collects what a browser would: visible text, references, open elements."""

    VOID = frozenset({"meta", "img", "br", "link"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.references: list[str] = []
        self.alts: list[str] = []
        self.open: list[str] = []
        self.elements: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.references += [value or "" for name, value in attrs if name in ("src", "href")]
        self.alts += [value or "" for name, value in attrs if name == "alt"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def test_page_is_whole_well_formed_and_needs_no_network(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    assert write_report(make(), path) == path
    source = path.read_text("utf-8")
    page = Page(source)
    assert page.open == []
    assert len(page.references) == 3
    assert all(reference.startswith("data:image/") for reference in page.references)
    assert all(len(alt) > 20 for alt in page.alts)
    assert len(page.alts) == 3
    assert "script" not in page.elements
    assert "link" not in page.elements
    assert not re.search(r"url\(|@import|https?://", source)
    assert 'name="viewport"' in source
    assert "@media print" in source
    assert "$" not in page.text  # a placeholder left


def test_page_says_what_was_asked_what_came_out_and_what_it_cost() -> None:
    summary = make(size_requested=100, warnings=("The pool was small.",))
    text = Page(render(summary)).text
    assert "100 points were asked for; 60 came out" in text
    assert "out of 6,000 records of 3 owners, to match 200 target records" in text
    assert f"ε = {round_up(summary.privacy.epsilon())}" in text
    assert "0 epsilon between owners" in text
    assert "target release" in text
    assert "Gaussian noise, 3.8 times the sensitivity" in text
    assert "The pool was small." in text
    for statement in summary.privacy.statements():
        assert statement in text
    for name, count in zip(summary.names, np.bincount(summary.owner), strict=True):
        assert re.search(rf"{name} {count} \({count / 60:.0%}\)", text)


def test_names_cannot_inject_markup() -> None:
    evil = '<script>alert("1")</script>&<img src=x onerror=y>$title${tiles}'
    names = (evil, "south", "east")
    summary = make(names=names, n_columns=2, schema=Schema.numbers([evil, "b"]), warnings=(evil,))
    page = Page(render(summary))
    assert "script" not in page.elements
    assert page.open == []
    # owner, warning, two captions, details: as text, unexpanded
    assert page.text.count(evil) == 5
    assert len(page.references) == 3


def test_every_part_escapes_what_it_is_given() -> None:
    evil = "<b onclick='x'>\"&$title"
    made = parts.page(
        evil,
        parts.opening(evil, evil, parts.safe(evil)),
        parts.tiles([(evil, evil)]),
        parts.note(evil),
        parts.alarm(evil, evil),
        parts.section(evil, parts.intro(evil), parts.listed([evil])),
        parts.figure(evil, evil, evil),
        parts.table([evil], [[evil]]),
        parts.facts([(evil, evil)]),
        parts.bars([parts.Bar(evil, 1.0, evil, evil)], 1.0),
    )
    assert evil not in made
    page = Page(made)
    assert page.open == []
    # title, opening 3, tile 2, note 1, alarm 2, section 3, caption, table 2, facts 2, bar 3
    assert page.text.count(evil) == 20
    assert (page.references, page.alts) == ([evil], [evil])


def test_bars_are_in_proportion_and_endless_ones_are_full() -> None:
    def widths(values: list[float], largest: float) -> list[str]:
        made = parts.bars([parts.Bar("who", value, "said") for value in values], largest)
        return re.findall(r"width:([\d.]+)%", made)

    assert widths([0.0, 1.0, 4.0, 5.0, math.inf], 4.0) == ["0.00", "25.00", *["100.00"] * 3]
    assert widths([0.0, math.inf], 0.0) == ["0.00", "100.00"]


def test_infinite_epsilon_and_seed_are_shown_as_such() -> None:
    charges = (
        replace(RELEASE, event=Seeded()),
        Charge(Protected.OWNERS, "requests", NonPrivate("the winner is told")),
    )
    page = Page(render(make(charges=charges)))
    assert "nothing is guaranteed" in page.text
    assert "Seeded run" in page.text
    assert page.text.count("ε = ∞") == 4
    assert "none: the winner is told" in page.text
    assert "Seeded run" not in Page(render(make())).text


def test_page_says_when_fewer_points_are_closer() -> None:
    rising = np.r_[0.5 / np.arange(1, 31), np.full(30, 0.05)]
    assert "The first 30 points are closer (0.0167) than all 60" in render(make(curve=rising))
    assert "are closer" not in render(make())


def test_nothing_released_means_nothing_spent() -> None:
    text = Page(render(make(charges=()))).text
    assert "No message to an owner depended on private data" in text
    assert "ε = ∞" not in text


def test_many_owners_and_columns_are_cut_and_still_add_up() -> None:
    names = tuple(f"clinic {i:03}" for i in range(200))
    summary = make(size=500, names=names, n_columns=80)
    text = Page(render(summary)).text
    assert "170 other owners" in text
    assert "and 64 more" in text
    shown = [int(n) for n in re.findall(r"clinic \d{3} (\d+) \(", text)]
    rest = re.search(r"170 other owners (\d+) \(", text)
    assert rest is not None
    assert sum(shown) + int(rest[1]) == 500


def test_owners_without_a_point_are_told_in_one_line() -> None:
    names = tuple(f"clinic {i:03}" for i in range(40))
    text = Page(render(make(names=names, owner=np.repeat(np.arange(10), 6)))).text
    assert len(re.findall(r"clinic \d{3} \d+ \(", text)) == 10
    assert "30 other owners 0 (0%)" in text
    text = Page(render(make(names=names[:5], owner=np.zeros(60, np.int64)))).text
    assert "clinic 004 0 (0%)" in text
    assert re.search(r"\d other owner", text) is None


@pytest.mark.parametrize("n_columns", [1, 2, 3])
@pytest.mark.parametrize("size", [1, 30])
def test_small_and_flat_cases_are_drawn(n_columns: int, size: int) -> None:
    summary = make(size=size, n_columns=n_columns)
    flat = replace(summary, target=np.ones((2, n_columns)), curve=np.zeros(size), labels=None)
    for each in (summary, flat):
        assert Page(render(each)).open == []


@pytest.mark.parametrize(
    ("epsilon", "shown"),
    [(0.0, "0"), (math.inf, "∞"), (1.0, "1"), (1.0 + 1e-9, "1"), (0.99991, "1"),
     (1.00001, "1.001"), (12.34001, "12.35"), (0.00123449, "0.001235"), (9999.5, "10,000")],
)  # fmt: skip
def test_epsilon_is_never_rounded_down(epsilon: float, shown: str) -> None:
    assert round_up(epsilon) == shown


def test_directions_are_those_of_the_targets_spread() -> None:
    rng = np.random.default_rng(0)
    target = rng.normal(size=(5000, 4)) * [1, 9, 3, 0] + 100
    centre, axes, share = figures.directions(target)
    np.testing.assert_allclose(centre, target.mean(axis=0))
    np.testing.assert_allclose(np.abs(axes), [[0, 1, 0, 0], [0, 0, 1, 0]], atol=0.05)
    np.testing.assert_allclose(axes @ axes.T, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(share, [81 / 91, 9 / 91], atol=0.01)


def test_figures_are_pictures_and_large_pools_are_thinned() -> None:
    points = np.random.default_rng(0).normal(size=(20000, 3))
    kind, data = figures.overlay(points, points[:50], points).split(",")
    assert kind == "data:image/png;base64"
    assert base64.b64decode(data).startswith(b"\x89PNG")
    kept = figures.thinned(points)
    assert len(kept) == figures.MOST_SHOWN
    np.testing.assert_array_equal(kept[[0, -1]], points[[0, -1]])
    kind, data = figures.growth(np.array([0.1, 0.01, -1e-17])).split(",")
    assert kind == "data:image/svg+xml;base64"
    assert b"<svg" in base64.b64decode(data)


def test_report_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidParameterError, match="does not exist"):
        write_report(make(), tmp_path / "none" / "report.html")
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"dpsumm\[report\]"):
        write_report(make(), tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_the_panels_are_of_the_values_that_differ_most():
    rng = np.random.default_rng(0)
    pool = np.zeros((300, 15))
    target = np.zeros((200, 15))
    # Nearly constant: a difference in units of its spread would be huge.
    pool[:2, :13] = rng.uniform(0, 1, (2, 13))
    pool[:, 14], target[:, 14] = rng.normal(0, 1, 300), rng.normal(1, 1, 200)
    pool[:, 13], target[:, 13] = rng.normal(0, 1, 300), rng.normal(0.5, 1, 200)
    shown = figures.columns(target, target[:20], pool)[1]
    assert shown[:2] == [14, 13]
    assert len(shown) == figures.MOST_PANELS
