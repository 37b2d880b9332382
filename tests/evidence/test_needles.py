"""The benchmark of rare records: no record is on two sides, rivals get what they are due."""

from dataclasses import asdict

import numpy as np
import polars as pl
import pytest
from evidence.needles import page
from evidence.needles.haystacks import RHYTHMS, Haystack, docstrings, signals
from evidence.needles.rivals import nearest, private_centres
from evidence.needles.runs import CELLS, FRESH, SIZE, Cell, by_centres, methods, search
from evidence.page import ROOT
from evidence.problem import Labelled

from dpsumm import RBF
from dpsumm.privacy import accounting


@pytest.fixture
def haystack():
    """Each record is its own number, so that it can be told where it went."""
    numbers = np.arange(6000, dtype=float)[:, None]
    kinds = np.array(["needle", *"abcde"])[np.arange(6000) % 6]
    return Haystack(Labelled(numbers, kinds), kinds, ("needle",), 4000, RBF(1e-6))


def test_no_record_is_on_two_sides_and_the_share_of_needles_is_as_said(haystack):
    given = search(haystack, Cell(share=0.02, owners=7, m=300), 1)
    held = np.concatenate([owner.points for owner in given.owners])
    everything = np.concatenate([held, given.target.points, given.fresh.points]).ravel()
    assert len(np.unique(everything)) == len(everything) == 4000 + 300 + FRESH
    assert given.needle.sum() == 80
    assert (held.ravel()[given.needle] % 6 == 0).all()
    assert (given.labels == haystack.kinds[held.ravel().astype(int)]).all()
    assert set(given.target.labels) == set(given.fresh.labels) == {"needle"}


def test_a_setting_without_enough_needles_is_left_out(haystack):
    assert search(haystack, Cell(m=1000), 1) is None


def test_the_noise_of_a_private_mean_is_that_of_its_sensitivity():
    # One of 50 records of norm 3 at most, replaced, moves their sum by 6.
    target = np.full((50, 4), 9.0)
    draws = np.array(
        [private_centres(target, 1, 3.0, 20.0, np.random.default_rng(i))[0] for i in range(400)]
    )
    expected = 6 * accounting.gaussian_noise_multiplier(20.0, 1e-5) / 50
    # Clipped to norm 3 all records are the same, and centres are cut at the same norm again.
    across = draws @ np.array([1, -1, 1, -1]) / 2
    assert np.std(across) == pytest.approx(expected, rel=0.25)
    assert np.linalg.norm(draws, axis=1).max() <= 3 + 1e-9


def test_the_nearest_are_read_owner_by_owner(rng):
    owners, centres = [rng.normal(size=(n, 3)) for n in (40, 5, 60)], rng.normal(size=(2, 3))
    places, far = nearest(owners, centres, 30)
    every = np.concatenate(owners)
    plain = np.array([min(((point - c) ** 2).sum() for c in centres) for point in every])
    wanted = [*np.argsort(plain[:40])[:10], *range(40, 45), *(45 + np.argsort(plain[45:])[:10])]
    assert sorted(places) == sorted(wanted)
    assert far == pytest.approx(plain[places])
    assert (np.diff(far) >= 0).all()


def test_with_hardly_any_noise_the_nearest_of_a_far_cluster_are_its_needles(rng):
    kinds = np.array(["hay"] * 3000 + ["needle"] * 600)
    points = rng.normal(size=(3600, 3)) + np.where(kinds == "needle", 3.0, -3.0)[:, None]
    stack = Haystack(Labelled(points, kinds), kinds, ("needle",), 2000, RBF(0.1))
    given = search(stack, Cell(share=0.1, owners=1, epsilon=100.0), 2)
    read, kept = by_centres(1, 1, given)
    assert len(read) == len(kept) == SIZE
    assert given.needle[kept].all()


def test_signals_and_texts_are_what_they_say():
    stack = signals(ROOT)
    assert set(stack.kinds) == set(RHYTHMS)
    assert stack.records.points.min() >= 0
    assert stack.records.points.max() <= 1
    places = {place for _, place in docstrings("json")}
    assert places == {"json.decoder", "json.encoder", "json"}


def test_the_pages_show_what_was_measured(tmp_path):
    rows = [
        {
            **{"scenario": name, "seed": seed, "method": method, "reads": reads, **asdict(cell)},
            **{"recall": 0.2, "needles": 0.41 if method == page.OFFERS else 0.1, "accuracy": 0.7},
        }
        for name in page.TITLES
        for cell in CELLS
        for seed in (0, 1)
        for method, reads in methods(cell)
    ]
    shown = page.write(pl.DataFrame(rows), {"code": "c0de"}, tmp_path)
    assert shown.count("41 ± 0; 70 ± 0") == len(page.TITLES)
    text = (tmp_path / "docs/needles.md").read_text()
    assert shown in text
    assert "needles are 4 to 4 times as common" in text
    first = (tmp_path / "README.md").read_text()
    assert first.count("41 ± 0; 70 ± 0") == len(page.TITLES)
    assert page.MEAN in first
    assert page.CENTRES not in first
    assert f"{len(rows):,} runs, 2 draws of each setting. Made with code c0de." in text
    for name, values in {"share": 4, "owners": 4, "m": 6, "epsilon": 3}.items():
        block = text.split(f"<!-- needles-{name} -->")[1].split("<!-- end -->")[0]
        assert block.count("10 / 10 / 41 / 10") == 4 * values
    assert (tmp_path / "docs/images/needles.svg").stat().st_size > 5000
