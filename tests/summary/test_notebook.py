"""What a notebook shows: tables that escape what they are given, the report in a frame."""

import html
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import dpsumm
from dpsumm.privacy.facts import facts


class Shown(HTMLParser):
    """Text and elements of what is shown; every element must be closed."""

    def __init__(self, source):
        super().__init__()
        self.text, self.elements, self._open = "", [], []
        self.feed(source)
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.text += f"{data} "


@pytest.fixture(scope="module")
def summary():
    rng = np.random.default_rng(0)
    owners = {"&amp;north": rng.normal(0, 1, (60, 3)), "south": rng.normal(1, 1, (60, 3))}
    return dpsumm.summarize(owners, rng.normal(0, 1, (80, 3)), size=10, kernel=dpsumm.RBF(0.3))


def test_summary_privacy_plan_and_ledger_show_what_they_say(summary, tmp_path):
    text = Shown(summary._repr_html_()).text
    assert "Summary of 10 points of" in text
    assert summary.verdict.text in text
    assert "epsilon of the target 1 at delta 1e-05" in " ".join(text.split())
    privacy = Shown(summary.privacy._repr_html_()).text
    assert all(sentence in privacy for sentence in summary.privacy.statements())
    plan = dpsumm.plan(300, 100, epsilon=1.0)
    shown = Shown(plan._repr_html_()).text
    assert all(sentence in shown for sentence in plan.notes)
    assert "points read" in str(plan)
    dpsumm.Ledger.create(tmp_path / "books.db", caps={"target": (3, 1e-3)}).close()
    with dpsumm.Ledger(tmp_path / "books.db") as ledger:
        assert "cap 3 at delta 0.001" in Shown(ledger._repr_html_()).text


def test_what_is_shown_is_escaped():
    evil = '<script>x</script>&"'
    shown = Shown(facts(evil, [(evil, evil)], [evil]))
    assert shown.text.count(evil) == 4
    assert "script" not in {tag for tag, _ in shown.elements}


def test_a_report_shows_itself_in_a_frame_that_runs_nothing(summary, tmp_path):
    page = summary.report(tmp_path / "report.html")
    assert page.html == (tmp_path / "report.html").read_text("utf-8")
    ((tag, given),) = Shown(page._repr_html_()).elements
    assert tag == "iframe"
    assert given["srcdoc"] == page.html
    assert given["sandbox"] == ""
    assert html.escape("&amp;north") in page.html
    assert "&" not in repr(page)


def test_plot_draws_on_the_axes_given(summary):
    axes = Figure().subplots()
    assert summary.plot(axes) is axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "points read", "target", "summary",
    ]  # fmt: skip


def test_plot_makes_axes_of_its_own_where_none_are_given(summary):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    before = pyplot.get_fignums()
    axes = [summary.plot() for _ in range(2)]
    try:
        assert len(pyplot.get_fignums()) == len(before) + 2  # each on a figure of its own
        assert axes[0].figure is not axes[1].figure
        assert axes[0].get_xlabel() == "first direction"
    finally:
        for one in axes:
            pyplot.close(one.figure)


def test_dir_shows_public_names_only():
    shown = dir(dpsumm)
    assert set(dpsumm.__all__) <= set(shown)
    assert not {"Any", "TYPE_CHECKING", "importlib", "logging"} & set(shown)


def test_points_are_rows_of_a_pandas_frame_by_position(rng):
    """Its own index, of whatever kind, is not kept."""
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    frame.index = pd.Index([f"p{i}" for i in range(60)])[::-1]
    summary = dpsumm.summarize([frame], rng.normal(size=(40, 2)), size=9, kernel=dpsumm.RBF(0.5))
    np.testing.assert_array_equal(frame.iloc[summary.index].to_numpy(), summary.points)
