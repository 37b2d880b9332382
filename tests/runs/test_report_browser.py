"""The report in a browser: nothing is cut off on phone or desk, it prints, and lies as stored.

The stored layout is for one seeded run: where each part begins, and a small grey picture. After a
wanted change, `make report-layout` writes it anew: look at the report, then commit.
"""

import html
import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageStat

import dpsumm
from helpers.command_line import dpsumm as dpsumm_command
from helpers.patience import PATIENCE

BROWSER = next(
    filter(
        None,
        map(
            shutil.which,
            ("chromium", "chromium-browser", "google-chrome", "chromium-headless-shell"),
        ),
    ),
    None,
)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
STORED = Path(__file__).parents[1] / "files"
PHONE, DESK = 390, 1280
# The stored picture has one pixel for so many of the screen, either way: letters are gone.
CELL = 10
SCALE = 0.5  # of the picture that is taken; Chromium has no smaller one
# Limits that other fonts keep and broken pages do not; both were measured. Places across are the
# same with any font, a part may grow or shrink by some lines, and pictures of bars, tiles and
# figures have 1 less their correlation below 0.35 with five other fonts, above 0.65 when broken.
ACROSS, LINES, HIGHER, UNLIKE, DARKER = 2, 60, 0.5, 0.5, 10
DRAWN = ("tiles", "bars", "panels", "IMG")
# Pages side by side in frames, since a window is at least 500 pixels wide and a browser slow to
# start; and what was found in each.
FRAMES = """<!doctype html><meta charset="utf-8"><body style="margin: 0; display: flex">
{frames}
<script>
onload = () => {{
  const found = [];
  for (const frame of document.querySelectorAll("iframe")) {{
    const page = frame.contentDocument, root = page.documentElement;
    const all = query => [...page.querySelectorAll(query)], box = e => e.getBoundingClientRect();
    all("details").forEach(e => e.open = true);
    frame.style.height = root.scrollHeight + "px";
    found.push({{
      wide: root.scrollWidth > root.clientWidth,
      out: all("main *").filter(e => box(e).right > root.clientWidth + 1).map(e => e.tagName),
      blank: [...page.images].filter(i => !i.complete || i.naturalWidth === 0).length,
      outside: all("*").flatMap(e => [e.src, e.href, e.data]).filter(
        url => url && !url.startsWith("data:")),
      tiles: all(".tile").map(e => Math.round(box(e).width)),
      parts: all(
        "h1, .tiles, .screen, .note, h2, .bars, .panels, table, img, figcaption, footer"
      ).filter(e => !e.closest(".card")).map(e => {{
        const {{left, top, width, height}} = box(e);
        const name = e.tagName === "H2" ? e.textContent : e.className || e.tagName;
        return [name, ...[left, top, width, height].map(Math.round)];
      }}),
      height: root.scrollHeight,
    }});
  }}
  document.body.dataset.found = JSON.stringify(found);
}};
</script>"""
FRAME = """<iframe style="border: 0; flex: none; width: {width}px; height: {height}px"
  srcdoc="{page}"></iframe>"""


@dataclass
class Look:
    """A page in a window: what was found there, and its grey picture."""

    found: dict
    picture: Image.Image

    def cut(self, left, top, width, height):
        """Return a part of the page; the picture may be smaller than it was on the screen."""
        scale = self.picture.height / self.found["height"]
        return self.picture.crop(
            tuple(round(scale * x) for x in (left, top, left + width, top + height))
        )


def chromium(*arguments):
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    command += map(str, arguments)
    return subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE, check=True
    ).stdout


def opened(pages, widths, folder, option="--dump-dom", height=900):
    """Open pages, given as text, side by side in windows so wide; return the document."""
    framed = folder / "framed.html"
    frames = (
        FRAME.format(width=width, height=height, page=html.escape(page))
        for page, width in zip(pages, widths, strict=True)
    )
    framed.write_text(FRAMES.format(frames="\n".join(frames)), "utf-8")
    # Higher than the pages: some of a window is not the page's.
    window = f"--window-size={max(sum(widths), 500)},{height + 200}"
    return chromium(window, f"--force-device-scale-factor={SCALE}", option, framed.as_uri())


def found_in(pages, widths, folder):
    """Return what is found in pages, given as text, in windows so wide."""
    dom = opened(pages, widths, folder)
    return json.loads(html.unescape(re.search(r'data-found="([^"]*)"', dom)[1]))


def look(pages, width, folder):
    """Return how pages, given as text, look in windows `width` pixels wide."""
    widths, shot = [width] * len(pages), folder / f"shot-{width}.png"
    every = found_in(pages, widths, folder)
    height = max(found["height"] for found in every)
    opened(pages, widths, folder, f"--screenshot={shot}", height)
    with Image.open(shot) as image:
        grey = image.convert("L")
    return [
        Look(
            found, grey.crop(tuple(round(SCALE * x) for x in (i * width, 0, end, found["height"])))
        )
        for i, found in enumerate(every)
        for end in [(i + 1) * width]
    ]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A report of a seeded run with what could break a narrow page."""
    rng = np.random.default_rng(0)
    owners = {
        "a-hospital-with-a-long-name-that-goes-on-and-on" if i == 0 else f"h{i}": rng.normal(
            shift, 1, (300, 5)
        )
        for i, shift in enumerate((1, 0, -1))
    }
    summary = dpsumm.summarize(
        owners, rng.normal(0.8, 1, (200, 5)), size=40, kernel=dpsumm.RBF(0.1), seed=1
    )
    path = tmp_path_factory.mktemp("report") / "report.html"
    summary.report(path)
    return path


def in_another_font(page):
    rule = "* { font-family: 'Liberation Serif', 'DejaVu Sans Mono', monospace !important }"
    return page.replace("</style>", f"{rule}</style>")


def without_a_section(page):
    start = page.index("<h2>Where the points")
    return page[:start] + page[page.index('<details class="appendix">') :]


def two_sections_swapped(page):
    cuts = [
        page.rindex("<details", 0, page.index(f"<h2>{words}"))
        for words in ("How the", "Distance to", "The run")
    ]
    first, second = page[cuts[0] : cuts[1]], page[cuts[1] : cuts[2]]
    return page[: cuts[0]] + second + first + page[cuts[2] :]


def with_figures_hidden(page):
    return page.replace("figure img {", "figure img { visibility: hidden;")


def with_bars_collapsed(page):
    return page.replace(".bars {", ".none {")


def with_cards_collapsed(page):
    return page.replace(".screen {", ".none {")


def at_the_left(page):
    return page.replace("margin: 0 auto", "margin: 0")


def in_the_dark(page):
    return page.replace("--paper: #ffffff", "--paper: #222222")


BROKEN = {
    without_a_section: "parts",
    two_sections_swapped: "parts",
    with_figures_hidden: "IMG: looks otherwise",
    with_bars_collapsed: "bars: looks otherwise",
    with_cards_collapsed: "screen: ",
    at_the_left: "H1: ",
    in_the_dark: "darker",
}


@pytest.fixture(scope="module")
def looks(report):
    """The report and changed ones, by width and what was done to them (None: nothing)."""
    page = report.read_text("utf-8")
    seen = {}
    for width, changes in ((PHONE, [in_another_font]), (DESK, [in_another_font, *BROKEN])):
        changed = [change(page) for change in changes]
        assert page not in changed
        every = look([page, *changed], width, report.parent)
        seen |= {
            (width, change): each for change, each in zip([None, *changes], every, strict=True)
        }
    return seen


@pytest.fixture(scope="module")
def stored(looks):
    """The stored layouts, written first if that is asked for."""
    layout = STORED / "report-layout.json"
    if os.environ.get("DPSUMM_RENEW_LAYOUT"):
        kept = {}
        for width in (PHONE, DESK):
            here = looks[width, None]
            kept[str(width)] = {key: here.found[key] for key in ("parts", "height")}
            small = (round(width / CELL), round(here.found["height"] / CELL))
            here.picture.resize(small, Image.Resampling.BOX).save(STORED / f"report-{width}.png")
        layout.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
    found = json.loads(layout.read_text("utf-8"))
    return {
        width: Look(found[str(width)], Image.open(STORED / f"report-{width}.png").copy())
        for width in (PHONE, DESK)
    }


def differences(now, then):
    """Return in words what of a page lies or looks otherwise than stored."""
    names, names_then = ([part[0] for part in each.found["parts"]] for each in (now, then))
    if names != names_then:
        return [f"parts {names} instead of {names_then}"]
    pairs = [(*a, *b[1:]) for a, b in zip(now.found["parts"], then.found["parts"], strict=True)]
    words = [
        f"{name}: {w} by {h} from {x} on, was {w0} by {h0} from {x0} on"
        for name, x, _, w, h, x0, _, w0, h0 in pairs
        if max(abs(x - x0), abs(w - w0)) > ACROSS or abs(h - h0) > max(LINES, HIGHER * h0)
    ]
    if words:
        return words
    darker = ImageStat.Stat(then.picture).mean[0] - ImageStat.Stat(now.picture).mean[0]
    if abs(darker) > DARKER:
        return [f"the page is darker by {darker:.0f} of 255"]
    for name, *box in pairs:
        if name in DRAWN:
            apart = unlikeness(now.cut(*box[:4]), then.cut(*box[4:]))
            if not apart < UNLIKE:
                words.append(f"{name}: looks otherwise ({apart:.2f})")
    return words


def unlikeness(now, then):
    """Return 1 less the correlation of two pictures drawn to one small size: 0 to 2, or NaN."""
    size = (max(2, then.width // 2), max(1, then.height // 2))
    a, b = (np.asarray(each.resize(size, Image.Resampling.BOX), float) for each in (now, then))
    a, b = a - a.mean(), b - b.mean()
    with np.errstate(invalid="ignore"):
        return 1 - (a * b).sum() / np.sqrt(np.square(a).sum() * np.square(b).sum())


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_nothing_sticks_out_and_nothing_is_asked_for(looks, width):
    found = looks[width, None].found
    assert not found["wide"]
    assert found["out"] == []
    assert found["blank"] == 0
    assert found["outside"] == []
    tops = [top for _, _, top, _, _ in found["parts"]]
    assert tops == sorted(tops)
    assert len(set(tops)) > 8


def test_no_tile_stands_alone_in_a_row_but_the_first(dossier, tmp_path):
    wide = re.sub("<b>[^<]*</b>", "<b>0.000123</b>", dossier.read_text("utf-8"))
    wide = re.sub('(<div class="tiles">)(.*?</div>)(?=</div>)', r"\1\2\2\2", wide, flags=re.DOTALL)
    for found in found_in([wide] * 3, (400, 700, DESK), tmp_path):
        (row,) = [width for name, _, _, width, _ in found["parts"] if name == "tiles"]
        assert len(found["tiles"]) == 3
        assert max(found["tiles"][1:]) < 0.7 * row


def test_a_page_that_is_too_wide_and_asks_for_more_is_noticed(tmp_path):
    page = '<main><div style="width: 3000px">x</div><img src="none.png"></main>'
    (found,) = found_in([page], [PHONE], tmp_path)
    assert found["wide"]
    assert found["out"] == ["DIV"]
    assert found["blank"] == 1
    assert [url.rpartition("/")[2] for url in found["outside"]] == ["none.png"]


@pytest.mark.parametrize("change", [None, in_another_font])
@pytest.mark.parametrize("width", [PHONE, DESK])
def test_layout_is_the_stored_one_with_any_font(looks, stored, width, change):
    assert differences(looks[width, change], stored[width]) == []


@pytest.mark.parametrize("change", BROKEN)
def test_a_broken_layout_is_noticed(looks, stored, change):
    found = differences(looks[DESK, change], stored[DESK])
    assert any(BROKEN[change] in words for words in found), found


def test_it_prints_to_a_few_pages(report, tmp_path):
    assert 1 <= printed_pages(report, tmp_path) <= 6


def printed_pages(page, folder):
    printed = folder / "page.pdf"
    chromium("--no-pdf-header-footer", f"--print-to-pdf={printed}", page.as_uri())
    return len(re.findall(rb"/Type\s*/Page[^s]", printed.read_bytes()))


@pytest.fixture(scope="module")
def dossier(tmp_path_factory):
    """The dossier of a run with the longest list of messages, and with words in red."""
    folder = tmp_path_factory.mktemp("dossier")
    rng = np.random.default_rng(0)
    dpsumm.synthesize(
        {name: rng.integers(0, 3, (900, 1)) for name in ("registry-of-a-long-name" * 3, "bank")},
        schema={
            name: dpsumm.Schema([dpsumm.Column(f"{name[:8]}", categories=(0, 1, 2))])
            for name in ("registry-of-a-long-name" * 3, "bank")
        },
        seed=1,
    ).save(folder / "rows.parquet")
    done = dpsumm_command("dossier", "rows.parquet", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "dossier.html"


def test_a_dossier_fits_every_window_and_a_few_pages(dossier, tmp_path):
    page = dossier.read_text("utf-8")
    for found in found_in([page] * 5, (320, PHONE, 400, 700, DESK), tmp_path):
        assert not found["wide"]
        assert found["out"] == []
        assert found["outside"] == []
    assert 1 <= printed_pages(dossier, tmp_path) <= 8
