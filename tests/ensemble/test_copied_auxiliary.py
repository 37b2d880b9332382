"""Auxiliary points that are parties' own records: the caller is told, and no result."""

import logging
import warnings

import numpy as np
import pytest

import dpsumm
from dpsumm.ensemble.copies import copies_note
from dpsumm.ensemble.page import render
from dpsumm.errors import InvalidParameterError
from dpsumm.report.notes import Severity


def twin(auxiliary, parties):
    """How many points equal a record, by comparing each with each."""
    records = np.concatenate(parties)
    return sum(bool((records == point).all(1).any()) for point in auxiliary)


@pytest.mark.parametrize(("copied", "told"), [(0, False), (30, False), (31, True), (300, True)])
def test_a_tenth_of_copies_is_told(rng, copied, told):
    """Rows of three normal numbers equal each other by copying alone."""
    parties = [rng.normal(size=(100, 3)) for _ in range(20)]
    fresh = rng.normal(size=(300 - copied, 3))
    auxiliary = np.concatenate([np.concatenate(parties)[:copied], fresh])
    note = copies_note(rng.permutation(auxiliary), parties)
    assert (note is not None) == told
    if note is not None:
        assert note.severity is Severity.WARNING
        assert note.startswith(f"{100 * twin(auxiliary, parties) / 300:.0f}% of the auxiliary")


@pytest.mark.parametrize("columns", [2, 6, 10, 14])
def test_coincidence_of_coarse_rows_is_not(rng, columns):
    """Of 2**columns rows, parties and points hold what chance gives them."""

    def coarse(n):
        return rng.integers(0, 2, (n, columns)).astype(float)

    parties, auxiliary = [coarse(100) for _ in range(20)], coarse(300)
    # 2000 records of 16,384 rows are 11 % of them, and 2000 of 4 are all.
    assert twin(auxiliary, parties) > 5
    assert copies_note(auxiliary, parties) is None
    # Records of more rows than chance reaches are told, if points are theirs: no two are equal.
    wide = [np.hstack([one, rng.integers(0, 2**50, (100, 1))]) for one in parties]
    assert copies_note(wide[3][:60], wide) is not None


def test_zero_is_zero_whatever_its_sign():
    points = np.arange(400.0).reshape(200, 2)
    records = [points + 0.0, points + 1000.0]
    records[0][0, 0] = -0.0
    assert copies_note(points, records).startswith("100% ")


def test_the_caller_is_told_and_nothing_that_is_kept(tmp_path, rng, caplog):
    def party(n=40):
        points = rng.normal(size=(n, 2))
        return points, (points[:, 0] > 0).astype(int)

    parties = {f"p{i}": party() for i in range(30)}
    given = {"classes": [0, 1], "epsilon": 2.0, "bounds": {"x0": (-4, 4), "x1": (-4, 4)}}
    auxiliary = np.concatenate([one[0][:20] for one in parties.values()])
    with caplog.at_level(logging.DEBUG, "dpsumm"), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = dpsumm.learn(parties, auxiliary, **given)
    assert (
        sum("100% of the auxiliary points equal a record" in str(one.message) for one in told) == 1
    )
    model.save_predictions(tmp_path / "p.csv")
    kept = [render(model), (tmp_path / "p.csv.json").read_text(), caplog.text, model.verdict.text]
    assert all("equal a record" not in one for one in (*kept, *model.notes, *model.warnings))


def test_a_party_s_file_is_no_validation(tmp_path, rng):
    points = rng.normal(size=(40, 2))
    for name in ("a", "b"):
        rows = "".join(f"{x},{y},{int(x > 0)}\n" for x, y in points)
        (tmp_path / f"{name}.csv").write_text(f"x0,x1,y\n{rows}")
    parties = {name: tmp_path / f"{name}.csv" for name in ("a", "b")}
    given = {"classes": [0, 1], "label": "y", "accept": True}
    for validation in (parties["b"], (parties["b"], np.zeros(40))):
        with pytest.raises(InvalidParameterError, match="'b' and 'validation' are the same file"):
            dpsumm.learn(parties, points, validation=validation, **given)
