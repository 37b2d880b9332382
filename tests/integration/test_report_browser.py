"""The report in a real browser: nothing is cut off on a phone or a desktop, and it prints."""

import html
import re
import shutil
import subprocess

import pytest

import dpsumm

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
# Runs in a copy of the report: what sticks out, and what lies where.
PROBE = """<script>
const page = document.documentElement;
const out = [...document.querySelectorAll("main *")].filter(
  e => e.getBoundingClientRect().right > page.clientWidth + 1).map(e => e.tagName);
const tops = [...document.querySelectorAll("h1, .tiles, h2, img, footer")].map(
  e => Math.round(e.getBoundingClientRect().top));
const blank = [...document.images].filter(i => !i.complete || i.naturalWidth === 0).length;
document.body.dataset.found = JSON.stringify(
  {wide: page.scrollWidth > page.clientWidth, out, tops, blank,
   requests: performance.getEntriesByType("resource").filter(
     r => !r.name.startsWith("data:")).length});
</script>"""


def chromium(*arguments):
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    import numpy as np

    rng = np.random.default_rng(0)
    owners = {
        "a-hospital-with-a-long-name-that-goes-on-and-on" if i == 0 else f"h{i}": rng.normal(
            shift, 1, (300, 5)
        )
        for i, shift in enumerate((1, 0, -1))
    }
    summary = dpsumm.summarize(
        owners, rng.normal(0.8, 1, (200, 5)), size=40, kernel=dpsumm.RBF(0.1)
    )
    path = tmp_path_factory.mktemp("report") / "report.html"
    summary.report(path)
    return path


@pytest.mark.parametrize("width", [500, 1280])  # 500 is the least that a headless window has
def test_nothing_sticks_out_and_sections_follow_each_other(report, width):
    import json

    copy = report.with_name(f"probe-{width}.html")
    copy.write_text(report.read_text().replace("</main>", "</main>" + PROBE))
    dom = chromium(f"--window-size={width},900", "--dump-dom", copy.as_uri())
    found = json.loads(html.unescape(re.search(r'data-found="([^"]*)"', dom)[1]))
    assert not found["wide"]
    assert found["out"] == []
    assert found["blank"] == 0
    assert found["requests"] == 0
    assert found["tops"] == sorted(found["tops"])
    assert len(set(found["tops"])) > 8


def test_a_page_that_is_too_wide_is_noticed(report):
    copy = report.with_name("wide.html")
    wide = '<div style="width: 3000px">x</div></main>' + PROBE
    copy.write_text(report.read_text().replace("</main>", wide))
    dom = chromium("--window-size=500,900", "--dump-dom", copy.as_uri())
    assert "&quot;wide&quot;:true" in dom


def test_it_prints_to_a_few_pages(report, tmp_path):
    printed = tmp_path / "report.pdf"
    chromium(f"--print-to-pdf={printed}", report.as_uri())
    pages = len(re.findall(rb"/Type\s*/Page[^s]", printed.read_bytes()))
    assert 1 <= pages <= 6
