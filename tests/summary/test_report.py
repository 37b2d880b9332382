"""The report: complete, self-contained, escaped, and its figures honest."""

from __future__ import annotations

import base64
import io
import itertools
import math
import re
from dataclasses import replace
from datetime import UTC, date, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pytest

from dpsumm.data.column import Column
from dpsumm.data.records import Records
from dpsumm.data.schema import Schema
from dpsumm.errors import InvalidParameterError, MissingExtraError
from dpsumm.privacy.events import Charge, Gaussian, NonPrivate, Protected, Seeded
from dpsumm.privacy.guarantees import PrivacyReport, Used
from dpsumm.privacy.ledger import Ledger
from dpsumm.report import figures, panels, parts
from dpsumm.report.notes import Note, Severity
from dpsumm.report.numbers import round_up
from dpsumm.report.screen import Flow, big, first_screen, flow, odds
from dpsumm.report.thinned import MOST_SHOWN, thinned
from dpsumm.summary import pictures
from dpsumm.summary.by_column import marginals
from dpsumm.summary.page import render
from dpsumm.summary.pool import PointsRead
from dpsumm.summary.result import Summary
from dpsumm.summary.written import about

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
    pool = changes.pop("pool", rng.normal(size=(3 * size, n_columns)) * 4)
    read = Records(np.arange(len(pool)), pool, None)
    schema = Schema.numbers([f"column {j}" for j in range(n_columns)])
    whose = rng.integers(0, len(names), len(pool))
    points = np.resize(target, (size, n_columns)) + 0.1
    summary = Summary(
        points=points,
        labels=None,
        owner=rng.integers(0, len(names), size),
        index=np.arange(size),
        names=names,
        n_records=tuple(1000 * (i + 1) for i in range(len(names))),
        schema=schema,
        accesses=len(pool),
        mmd2=0.002,
        curve=0.5 / np.arange(1, size + 1),
        gamma=0.25,
        privacy=PrivacyReport(charges, 1e-5, "Nothing an owner receives depends on others."),
        protocol="offers",
        scaled=points,
        pool=PointsRead(read, whose, pool, np.arange(size), schema, names),
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
    assert make().report(path).html == path.read_text("utf-8")
    source = path.read_text("utf-8")
    page = Page(source)
    assert page.open == []
    assert len(page.references) == 2
    assert all(reference.startswith("data:image/") for reference in page.references)
    assert all(len(alt) > 20 for alt in page.alts)
    assert len(page.alts) == 2
    assert "script" not in page.elements
    assert "link" not in page.elements
    assert not re.search(r"url\(|@import|https?://", source)
    assert 'name="viewport"' in source
    assert "@media print" in source
    assert "$" not in page.text  # a placeholder left


def test_page_says_what_was_asked_what_came_out_and_what_it_cost() -> None:
    ended = datetime(2026, 5, 4, 3, 2, tzinfo=UTC)
    given = {"run": "tuesday", "finished": ended, "size_requested": 100}
    summary = make(notes=("The pool was small.",), **given)
    text = Page(render(summary)).text
    assert "Data summary, 04 May 2026, 03:02 UTC." in text
    assert "Run tuesday Finished 04 May 2026, 03:02 UTC" in text
    told = about(summary)
    assert (told["run"], told["finished"]) == ("tuesday", "2026-05-04T03:02:00+00:00")
    assert "Dashed: what as many fresh target records would be expected to give" in text
    scale = summary.scale
    kinds = "the summary", "with the target's", "as many fresh", "all points", "the target itself"
    values = summary.mmd2, scale.to_distribution(summary.mmd2), scale.fresh, scale.pool
    for kind, value in zip(kinds, (*values, scale.sampling), strict=True):
        assert f"{value:.3g} {kind}" in text, kind
    assert "100 points were asked for; 60 came out" in text
    assert "out of 6,000 records of 3 owners, to match 200 target records" in text
    assert f"noisy message, ε = {round_up(summary.privacy.epsilon())}" in text
    assert "Owners learn nothing about each other." in text
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
    summary = make(names=names, n_columns=2, schema=Schema.numbers([evil, "b"]), notes=(evil,))
    page = Page(render(summary))
    assert "script" not in page.elements
    assert page.open == []
    # owner, warning, panel, caption, details, gap: as text, unexpanded
    assert page.text.count(evil) == 6
    assert len(page.references) == 2


def test_every_part_escapes_what_it_is_given() -> None:
    evil = "<b onclick='x'>\"&$title"
    bins = panels.Bins(np.full((3, 4), 0.25), (evil, evil, evil))
    categories = panels.Categories(np.full((3, 1), 1.0), (evil,))
    made = parts.page(
        *(evil, evil, evil, parts.safe(evil)),
        parts.tiles([(evil, evil)]),
        parts.note(evil),
        parts.alarm(evil, evil),
        parts.warning(evil, evil),
        parts.section(evil, parts.intro(evil), parts.listed([evil])),
        parts.figure(evil, evil, evil),
        parts.table([evil], [[evil]]),
        parts.facts([(evil, evil)]),
        parts.bars([parts.Bar(evil, 1.0, evil, evil)], 1.0),
        panels.panels([panels.Panel(evil, evil, drawn) for drawn in (bins, categories)]),
        parts.appendix(evil),
        flow(Flow(((evil, evil),) * 3, (evil, evil), (evil, evil))),
        *first_screen(evil, [big(evil, evil)], [], [evil], [evil], seeded=False),
        *odds(evil, evil, 1.0, 1e-5),
    )
    assert evil not in made
    page = Page(made)
    assert page.open == []
    # title 2, opening 3, tile 2, note 1, alarm 2, warning 2, section 3, caption,
    # table 2, facts 2, bar 3, panels 8, appendix, flow 4 (names are cut), screen 5, odds 2
    assert page.text.count(evil) == 43
    assert (page.references, page.alts) == ([evil], [evil])


def test_the_page_says_what_is_spent_of_each_cap(tmp_path) -> None:
    caps = {"target": (2.0, 1e-3), "owners": (9.0, 1e-3), "records": (1.0, 1e-3)}
    Ledger.create(tmp_path / "books.db", caps=caps).close()
    for run in ("a", "b"):
        with Ledger(tmp_path / "books.db", run=run, delta=1e-4) as book:
            book.release(run, [RELEASE], lambda: b"")
            used = Used.of(book)
    one = PrivacyReport((RELEASE,), 1e-4, "").epsilon()
    assert used == (Used(Protected.TARGET, pytest.approx(2 * one), 2e-4, (2.0, 1e-3)),)
    assert used[0].share == pytest.approx(one)
    page = Page(render(make(privacy=PrivacyReport((RELEASE,), 1e-4, "", used=used))))
    spent = f"Budget of your records: ε {round_up(2 * one)} of 2 used, delta 0.0002 of 0.001."
    assert spent in page.text
    assert "Budget of" not in Page(render(make())).text
    # The share that is more: here delta, all of which is used.
    assert Used(Protected.OWNERS, 0.1, 1e-3, (9.0, 1e-3)).share == 1


def test_the_flow_is_in_words_too_and_an_epsilon_is_odds() -> None:
    shown = Flow(
        (("You", "9 records"), ("Curator", ""), ("Owners", "")), ("all", "noise"), ("", "x")
    )
    assert shown.said == "You to Curator: all. Curator to Owners: noise. Owners to Curator: x."
    assert f'aria-label="{shown.said}"' in flow(shown)
    assert flow(shown).count("<path") == 3
    # One half and half of the total variation, (e^epsilon - 1 + 2 delta) / (e^epsilon + 1) at most.
    for epsilon, delta, right in ((1.0, 1e-5, 73.2), (0.0, 0.0, 50.0), (0.0, 0.1, 55.0)):
        spread = (math.exp(epsilon) - 1 + 2 * delta) / (math.exp(epsilon) + 1)
        assert -1e-9 <= right - 50 * (1 + spread) < 0.1
        assert f"<strong>{right:g}% of the time</strong>" in odds("A", "b", epsilon, delta)[0]
    assert odds("A", "b", math.inf, 1e-5) == []


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
    assert page.text.count("ε = ∞") == 2  # of all messages; each has one
    assert "none: the winner is told" in page.text
    assert "Seeded run" not in Page(render(make())).text


def test_page_says_when_fewer_points_are_closer() -> None:
    rising = np.r_[0.5 / np.arange(1, 31), np.full(30, 0.05)]
    assert "the first 30 points are closer (0.0167) than all 60" in render(make(curve=rising))
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


@pytest.mark.parametrize(("n_columns", "size"), [(1, 1), (1, 30), (2, 1), (3, 30)])
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
    kept = thinned(points)
    assert len(kept) == MOST_SHOWN
    np.testing.assert_array_equal(kept[[0, -1]], points[[0, -1]])
    kind, data = figures.growth(np.array([0.1, 0.01, -1e-17]), 0.2).split(",")
    assert kind == "data:image/svg+xml;base64"
    assert b"<svg" in base64.b64decode(data)


def test_a_matrix_takes_any_name_of_a_column() -> None:
    names = ["$broken^{", "a name that is longer than an axis has room for"]
    kind, data = figures.matrix(np.ones((2, 2)), names, "share").split(",")
    assert kind == "data:image/svg+xml;base64"
    assert b"<svg" in base64.b64decode(data)


def test_report_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidParameterError, match="does not exist"):
        make().report(tmp_path / "none" / "report.html")
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"dpsumm\[report\]"):
        make().report(tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


# --- column by column ---------------------------------------------------------------------------

MIXED = Schema(
    [
        Column("age", bounds=(20, 90), when_missing="encode"),
        Column("visit", bounds=(date(2020, 1, 1), date(2024, 1, 1))),
        Column("sex", categories=("f", "m"), other="else"),
        Column("pain", categories=("none", "some", "strong"), ordered=True, when_missing="encode"),
        Column("smokes", weight=2.0),
        Column("wide"),
    ]
)


def mixed() -> Summary:
    rng = np.random.default_rng(0)

    def rows(n: int, age: float, f: float) -> Any:
        first = date(2020, 1, 1).toordinal() - date(1970, 1, 1).toordinal()
        ages = rng.uniform(age, age + 10, n)
        ages[: n // 10] = np.nan
        sexes = np.where(rng.random(n) < f, 0, rng.integers(1, 3, n))
        pains = rng.integers(0, 3, n).astype(float)
        pains[: n // 4] = np.nan
        values = [ages, first + rng.integers(0, 1400, n), sexes, pains, rng.integers(0, 2, n)]
        return MIXED.encode(np.column_stack([*values, rng.normal(0, 40, n)]))

    points = rows(50, 60, 0.5)
    return make(
        size=50, schema=MIXED, scaled=points, pool=rows(200, 30, 0.9), target=rows(100, 60, 0.9)
    )


def test_columns_are_in_their_own_units_categories_as_bars_and_worst_first() -> None:
    found = {one.name: one for one in marginals(mixed())}
    assert list(found) == list(MIXED.names)
    age, visit = found["age"], found["visit"]
    assert age.absent == pytest.approx((0.1, 0.1, 0.1))
    assert all(20 <= values.min() <= values.max() <= 90 for values in age.values)
    assert age.values[1].min() == pytest.approx(60, abs=1)
    assert (age.gap(0), age.gap(2)) == (pytest.approx(1, abs=0.1), pytest.approx(0, abs=0.4))
    assert all(re.fullmatch(r"202\d-\d\d-\d\d", tick) for tick in visit.drawn().ticks)
    assert found["sex"].drawn().names == ("f", "m", "else")
    assert found["sex"].gap(2) == pytest.approx(0.4, abs=0.2)
    assert found["pain"].drawn().names == ("none", "some", "strong", "no value")
    assert found["pain"].shares()[:, 3] == pytest.approx([0.25] * 3, abs=0.02)
    assert found["smokes"].drawn().names == ("0", "1")  # a number of two values is no curve
    assert found["wide"].drawn().shares.sum(axis=1) == pytest.approx([1, 1, 1])
    text = Page(render(mixed())).text
    assert "No value: target 10%, summary 10%" in text
    places = [text.index(f"{name} gap") for name in ("sex", "smokes")]
    assert places == sorted(places)


def test_rare_categories_are_together_and_hidden_columns_are_told_of() -> None:
    names = tuple(f"c{i}" for i in range(30))
    schema = Schema([Column("country", categories=names), *(Column(f"x{j}") for j in range(13))])
    rng = np.random.default_rng(1)

    def rows(n: int) -> Any:
        codes = np.minimum(rng.geometric(0.3, n), 29)
        return schema.encode(np.column_stack([codes, rng.normal(size=(n, 13))]))

    summary = make(size=40, schema=schema, scaled=rows(40), pool=rows(90), target=rows(80))
    country = next(marginals(summary)).drawn()
    assert country.names[-1] == "23 others"
    assert country.shares.sum(axis=1) == pytest.approx([1, 1, 1])
    text = Page(render(summary)).text
    assert re.search(r"The 12 of 14 columns .* those of the others are [\d.]+% at most", text)


def test_points_are_shown_as_images_beside_the_nearest_target() -> None:
    page = Page(render(make(n_columns=6), (2, 3)))
    assert len(page.references) == 20 + 2
    assert page.text.count("framed orange") == 1
    assert "Column by column" not in page.text
    with pytest.raises(InvalidParameterError, match="3 x 3 pixels are not the 6 columns"):
        render(make(n_columns=6), (3, 3))
    grey = np.arange(6, dtype=np.uint8).reshape(2, 3) * 50
    data = base64.b64decode(pictures.png(grey).partition(",")[2])
    np.testing.assert_allclose(matplotlib.image.imread(io.BytesIO(data)) * 255, grey, atol=0.01)


def test_what_matters_comes_first_and_what_is_good_to_know_last() -> None:
    notes = (Note("Bad.", Severity.ALARM), Note("Fine.", Severity.INFO))
    text = Page(render(make(notes=notes))).text
    assert text.index("Check: read the warnings first") < text.index("Bad.")
    assert text.index("Bad.") < text.index("A classifier tells") < text.index("Fine.")
    assert text.index("Fine.") < text.index("Column by column") < text.index("The run")
    assert "look much like your data" not in text
    fine = Page(render(make())).text
    assert "These points look much like your data" in fine
    assert "60 records of 3 owners: they close " in fine
    assert "MMD²" not in fine[: fine.index("Column by column")]
    doubted = Page(render(make(notes=(Note("Odd.", Severity.WARNING),)))).text
    assert "look much like your data, with 1 warning to check" in doubted


def test_thousands_of_columns_are_looked_at_in_bounded_parts() -> None:
    rng = np.random.default_rng(2)
    points = rng.normal(size=(900, 5000)).astype(np.float32)
    summary = make(size=60, n_columns=5000, target=points, pool=points, scaled=points[:60])
    assert all(len(v) <= 800 for one in itertools.islice(marginals(summary), 3) for v in one.values)
    assert figures.directions(points)[1].shape == (2, 5000)


def test_a_report_of_thousands_of_columns_does_bounded_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found: list[Any] = []
    svd = np.linalg.svd
    monkeypatch.setattr(np.linalg, "svd", lambda x, **how: found.append(x.size) or svd(x, **how))
    rng = np.random.default_rng(3)
    points = rng.normal(size=(900, 5000)).astype(np.float32)
    summary = make(size=60, n_columns=5000, target=points, pool=points, scaled=points[:60])
    page = render(summary)
    assert page.count('class="panel"') == 12
    assert "The 12 of 5,000 columns with the largest gaps are shown" in page
    assert "and 4,984 more" in page  # of the columns' names
    assert len(found) == 1
    assert found[0] <= figures.MOST_VALUES
    # Each column costs characters where it has a panel alone.
    assert len(page) < 1.5 * len(render(make(n_columns=20)))


def test_the_worth_of_owners_points_is_shown_with_its_error() -> None:
    summary = make(gamma=0.01)
    text = Page(render(summary)).text
    found = dict(
        re.findall(r"(north|south|east) \d+ \(\d+%\) [^;]*; worth\s(-?\d+\s±\s\d+%)", text)
    )
    all_of_it = sum(summary.attribution.values())
    assert found == {
        name: f"{100 * value / all_of_it:.0f} ± {summary.attribution_error[name] / all_of_it:.0%}"
        for name, value in summary.attribution.items()
    }
    assert len(found) == 3


def test_no_two_bars_are_always_equal() -> None:
    """Of reports of different runs, one at least tells any two bars of a section apart."""
    rounds = [Charge(Protected.OWNERS, f"round {i}", Gaussian(9.0 + i)) for i in range(2)]
    made = [
        make(),
        make(mmd2=0.2, charges=(RELEASE, rounds[0])),
        make(charges=(RELEASE, *rounds)),
        make(owner=np.repeat([0, 1, 2], [10, 20, 30])),
        make(scaled=np.random.default_rng(2).normal(size=(60, 5)) * 2.5),
    ]
    told: dict[str, dict[str, list[str]]] = {}
    for summary in made:
        for heading, body in re.findall(
            r"<h2>(.*?)</h2>(.*?)(?=<h2>|<footer>)", render(summary), re.S
        ):
            who = re.findall(r'<div class="who">(.*?)</div>', body, re.S)
            lengths = re.findall(r'class="bar" style="width:([\d.]+)%"', body)
            for name, length in zip(who, lengths, strict=True):
                told.setdefault(heading, {}).setdefault(name, []).append(length)
    sections = {heading: bars for heading, bars in told.items() if len(bars) > 1}
    assert len(sections) >= 2
    for heading, bars in sections.items():
        for one, other in itertools.combinations(sorted(bars), 2):
            assert bars[one] != bars[other], (heading, one, other)
