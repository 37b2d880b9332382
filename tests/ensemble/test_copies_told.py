"""Records in several parties or among the public points: the caller is told, and no result."""

import logging
import warnings

import numpy as np
import pytest

import dpsumm
from dpsumm.ensemble.copies import copies_notes
from dpsumm.errors import InvalidParameterError
from dpsumm.report.notes import Severity


def copies_note(public_points, parties):
    """The only note, None without one."""
    notes = copies_notes(public_points, {f"p{i}": records for i, records in enumerate(parties)})
    assert len(notes) <= 1
    return notes[0] if notes else None


def twin(public_points, parties):
    """How many points equal a record, by comparing each with each."""
    records = np.concatenate(parties)
    return sum(bool((records == point).all(1).any()) for point in public_points)


@pytest.mark.parametrize(("copied", "told"), [(0, False), (30, False), (31, True), (300, True)])
def test_a_tenth_of_copies_is_told(rng, copied, told):
    """Rows of three normal numbers equal each other by copying alone."""
    parties = [rng.normal(size=(100, 3)) for _ in range(20)]
    fresh = rng.normal(size=(300 - copied, 3))
    public_points = np.concatenate([np.concatenate(parties)[:copied], fresh])
    note = copies_note(rng.permutation(public_points), parties)
    assert (note is not None) == told
    if note is not None:
        assert note.severity is Severity.WARNING
        assert note.startswith(f"{100 * twin(public_points, parties) / 300:.0f}% of the public")


@pytest.mark.parametrize("columns", [2, 6, 10, 14])
def test_coincidence_of_coarse_rows_is_not(rng, columns):
    """Of 2**columns rows, parties and points hold what chance gives them."""

    def coarse(n):
        return rng.integers(0, 2, (n, columns)).astype(float)

    parties, public_points = [coarse(100) for _ in range(20)], coarse(300)
    # 2000 records of 16,384 rows are 11 % of them, and 2000 of 4 are all.
    assert twin(public_points, parties) > 5
    assert copies_note(public_points, parties) is None
    # Records of more rows than chance reaches are told, if points are theirs: no two are equal.
    wide = [np.hstack([one, rng.integers(0, 2**50, (100, 1))]) for one in parties]
    assert copies_note(wide[3][:60], wide) is not None


def test_parties_that_give_classifiers_have_no_records_to_compare(rng):
    assert copies_note(rng.normal(size=(50, 2)), []) is None


def test_zero_is_zero_whatever_its_sign():
    points = np.arange(400.0).reshape(200, 2)
    records = [points + 0.0, points + 1000.0]
    records[0][0, 0] = -0.0
    assert copies_note(points, records).startswith("100% ")


def in_several(parties, public_points=None, names=None):
    """The notes on records that several parties hold."""
    public_points = (
        np.random.default_rng(1).normal(size=(200, parties[0].shape[1]))
        if public_points is None
        else public_points
    )
    names = names or [f"p{i}" for i in range(len(parties))]
    notes = copies_notes(public_points, dict(zip(names, parties, strict=True)))
    return [note for note in notes if "in common" in note]


@pytest.mark.parametrize(("common", "told"), [(0, False), (49, False), (50, True), (100, True)])
def test_two_of_many_parties_with_half_of_their_records_in_common_are_told(rng, common, told):
    parties = [rng.normal(size=(100, 3)) for _ in range(60)]
    parties[40][:common] = rng.permutation(parties[7])[:common]
    notes = in_several(parties)
    assert len(notes) == told
    if told:
        assert notes[0].severity is Severity.WARNING
        assert notes[0].startswith("2 of 60 parties hold half")
        assert "such as 'p7', 'p40'" in notes[0]
        assert "that two parties hold it is 2 times as large, or more" in notes[0]


def test_a_file_as_many_parties_and_a_part_of_another_one(rng):
    one = rng.normal(size=(30, 3))
    parties = [
        *(rng.normal(size=(30, 3)) for _ in range(20)),
        *(rng.permutation(one) for _ in range(80)),
    ]
    [note] = in_several(parties)
    assert note.startswith("80 of 100 parties")
    assert "that 80 parties hold it is 80 times" in note
    # Half of the smaller one alone.
    large = [rng.normal(size=(400, 3)) for _ in range(20)]
    [note] = in_several([*large, large[3][:40]])
    assert note.startswith("1 of 21 parties")
    [note] = in_several([one] * 1005)
    assert note.startswith("1,005 of 1,005 parties")


@pytest.mark.parametrize("rare", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("columns", [2, 6, 10, 14])
def test_coarse_rows_of_several_parties_are_equal_by_chance(rng, columns, rare):
    def coarse(n):
        return (rng.random((n, columns)) < rare).astype(float)

    parties, public_points = [coarse(100) for _ in range(40)], coarse(300)
    assert in_several(parties, public_points) == []
    # Each party gives each row once.
    once = [np.unique(party, axis=0) for party in parties]
    assert in_several(once, public_points) == []
    # As before with a number beside them, and two parties that are one file.
    wide = [np.hstack([party, rng.integers(0, 2**50, (100, 1))]) for party in parties]
    assert in_several(wide) == []
    assert len(in_several([*wide, wide[5]])) == 1


def test_the_caller_is_told_and_nothing_that_is_kept(tmp_path, rng, caplog):
    def party(n=40):
        points = rng.normal(size=(n, 2))
        return points, (points[:, 0] > 0).astype(int)

    parties = {f"p{i}": party() for i in range(30)}
    given = {"classes": [0, 1], "epsilon": 2.0, "schema": {"x0": (-4, 4), "x1": (-4, 4)}}
    parties["p9"] = parties["p4"]
    public_points = np.concatenate([one[0][:20] for one in parties.values()])
    with caplog.at_level(logging.DEBUG, "dpsumm"), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = dpsumm.learn(parties, public_points, **given)
    said = [str(one.message) for one in told]
    for text in ("100% of the public points equal a record", "2 of 30 parties hold half of"):
        assert sum(text in one for one in said) == 1
    model.save_predictions(tmp_path / "p.csv")
    kept = [
        model.report().html,
        (tmp_path / "p.csv.json").read_text(),
        caplog.text,
        model.verdict.text,
    ]
    for text in ("equal a record", "in common"):
        assert all(text not in one for one in (*kept, *model.notes, *model.foreseen))


def test_a_party_s_file_is_no_validation(tmp_path, rng):
    points = rng.normal(size=(40, 2))
    for name in ("a", "b"):
        rows = "".join(f"{x},{y},{int(x > 0)}\n" for x, y in points)
        (tmp_path / f"{name}.csv").write_text(f"x0,x1,y\n{rows}")
    parties = {name: tmp_path / f"{name}.csv" for name in ("a", "b")}
    names = {"x0": "number", "x1": "number", "y": "label"}
    given = {"classes": [0, 1], "schema": names, "allow_weak_privacy": True}
    for validation in (parties["b"], (parties["b"], np.zeros(40))):
        with pytest.raises(InvalidParameterError, match="'b' and 'validation' are the same file"):
            dpsumm.learn(parties, points, validation=validation, **given)


@pytest.mark.filterwarnings("ignore:learn")
@pytest.mark.parametrize("protocol", ["votes", "updates"])
def test_labels_that_are_no_class_are_told_of(rng, protocol):
    """Nine in ten of a party's, with its name."""
    points = rng.normal(size=(300, 2))

    def parties(*spelled, n=40):
        made = {}
        for i in range(12):
            x = rng.normal(size=(n, 2))
            words = spelled[i % len(spelled)]
            made[f"p{i}"] = x, np.where(x[:, 0] > 0, *words)
        return made

    given = {
        "classes": ["yes", "no"],
        "schema": {"x0": (-4, 4), "x1": (-4, 4)},
        "protocol": protocol,
        "epsilon": 2.0,
        "delta": 1e-5,
        "allow_weak_privacy": True,
    }
    with pytest.warns(UserWarning, match="12 of 12 parties have labels"):
        dpsumm.learn(parties(("y", "n"), ("1", "0")), points, **given)
    some = {**parties(("yes", "no")), **dict(list(parties(("Yes", "No")).items())[:3])}
    with pytest.warns(UserWarning, match="3 of 12 parties have labels .* such as 'p0', 'p1' and"):
        model = dpsumm.learn(some, points, **given)
    assert not any("not among the classes" in note for note in (*model.notes, *model.foreseen))


@pytest.mark.filterwarnings("ignore:learn")
def test_the_caller_is_asked_what_parties_would_be_asked_at_home(rng):
    """In learn and synthesize, before anything is spent, and in no result."""
    said = "^At 'p0', x0: several records have one value far from all others"
    parties = {f"p{i}": (rng.normal(size=(60, 2)), rng.integers(0, 2, 60)) for i in range(12)}
    parties["p0"][0][:12, 0] = -9999
    given = {"classes": [0, 1], "schema": {"x0": (-4, 4), "x1": (-4, 4)}, "seed": 1}
    with pytest.warns(UserWarning, match=said):
        model = dpsumm.learn(parties, rng.normal(size=(300, 2)), **given)
    assert not any("far from all" in note for note in model.notes)
    points = rng.normal(size=(900, 2))
    points[:90, 0] = -9999
    held = {"p0": points[:, :1], "p1": points[:, 1:]}
    schema = {"p0": {"x0": (-4, 4)}, "p1": {"x1": (-4, 4)}}
    with pytest.warns(UserWarning, match=said):
        made = dpsumm.synthesize(held, schema=schema, seed=1)
    assert not any("far from all" in note for note in made.notes)
