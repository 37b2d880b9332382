"""Schemas on real tables, Heart and Adult, through files and the command line."""

import gzip
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from test_real_data import DATA, HOSPITALS, NAMES, hospital, needs_data

import dpsumm
from dpsumm import Column, Schema
from dpsumm.data import File, FileFormat
from dpsumm.data.inputs import read_table
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy import Observer
from helpers.command_line import dpsumm as command
from reference import dense

# From medicine and the codebook, not from the files. Zero cholesterol means that it was not taken.
HEART = Schema(
    [
        Column("age", bounds=(20, 90), whole=True),
        Column("sex", categories=(0, 1)),
        Column("cp", categories=(1, 2, 3, 4)),
        Column("trestbps", bounds=(80, 220), missing=("?", 0), when_missing="encode"),
        Column("chol", bounds=(100, 600), missing=("?", 0), when_missing="encode", weight=0.5),
        Column("restecg", categories=(0, 1, 2), when_missing="encode", weight=0.5),
        Column("thalach", bounds=(60, 220), when_missing="encode"),
        Column("exang", categories=(0, 1), when_missing="encode"),
        Column("oldpeak", bounds=(-3, 7), when_missing="encode"),
        Column("ca", "ignore"),
        Column("num", "label"),
    ]
)
NUMBERS = ("age", "trestbps", "chol", "thalach", "oldpeak")


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")


def points(table):
    """A hospital in the kernel's space, from the raw file and the documentation alone."""
    parts = []
    for column in HEART.kernel:
        x = table[:, NAMES.index(column.name)].copy()
        if column.name in ("trestbps", "chol"):
            x[x == 0] = np.nan
        gone = np.isnan(x)
        if column.name in NUMBERS:
            low, high = column.bounds
            mine = [np.where(gone, 0.5, (x.clip(low, high) - low) / (high - low))]
            height = np.sqrt(1 / 12)
        else:
            mine = [np.where(x == value, np.sqrt(0.5), 0) for value in column.categories]
            height = np.sqrt(0.5)
        if column.when_missing == "encode":
            mine.append(gone * height)
        parts += [column.weight * part for part in mine]
    return np.stack(parts, axis=1)


@pytest.mark.same_draws
@needs_data
def test_four_hospitals_with_all_their_missing_values(tmp_path):
    HEART.save(tmp_path / "heart.toml")
    names = ",".join(NAMES)
    words = ["summarize", "--schema", "heart.toml", "--format", f"names={names}", "--size", "60"]
    for name in HOSPITALS:
        words += ["--owner", f"{name}={DATA / 'heart' / f'processed.{name}.data'}"]
    words += ["--target", str(DATA / "heart" / "processed.va.data"), "--out", "summary.csv"]
    done = command(*words, "--report", "report.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stderr.split())
    assert "at 2 of 3 owners: 1 to 2 of trestbps, 23 to 123 of chol, 1 of restecg" in said
    assert re.search("target: 57 values of trestbps, 56 of chol, .* 56 of oldpeak were miss", said)

    frame = pl.read_csv(tmp_path / "summary.csv")
    assert frame.columns == [*(column.name for column in HEART.columns), "owner", "index"]
    chosen = []
    for row in frame.iter_rows(named=True):
        table = hospital(row["owner"])
        raw = dict(zip(NAMES, table[row["index"]], strict=True))
        for column in HEART.columns:
            wanted = raw[column.name]
            if np.isnan(wanted) or (column.name in ("trestbps", "chol") and wanted == 0):
                wanted = None
            assert row[column.name] == wanted, column.name
        chosen.append(points(table)[row["index"]])
    gamma = 1 / sum(
        column.weight**2 * (1 / 6 if column.bounds else 1 - 1 / len(column.categories))
        for column in HEART.kernel
    )
    target = points(hospital("va"))
    mmd2 = dense.mmd2(np.array(chosen), target, gamma)
    printed = re.search(r"MMD² to the target +(\S+)", done.stdout)
    assert float(printed[1]) == pytest.approx(mmd2, rel=1e-3)
    pooled = np.concatenate([points(hospital(name)) for name in HOSPITALS])
    assert mmd2 < 0.6 * dense.mmd2(pooled, target, gamma)


@needs_data
def test_a_hospital_checks_itself_before_a_run(tmp_path):
    HEART.save(tmp_path / "schema.toml")
    names = ("--format", f"names={','.join(NAMES)}")
    file = str(DATA / "heart" / "processed.switzerland.data")
    done = command("schema", "check", file, *names, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "123 rows. These counts are private" in done.stdout
    assert re.search(r"chol +number +123 +encode missing", done.stdout)
    assert re.search(r"age +number +accept", done.stdout)
    assert re.search(r"ca +ignore +118 +accept", done.stdout)
    strict = Schema([Column("age", bounds=(40, 60)), Column("slope", categories=(1, 2))])
    strict.save(tmp_path / "strict.toml")
    done = command("schema", "check", file, *names, "--schema", "strict.toml", cwd=tmp_path)
    assert done.returncode == 1
    assert re.search(r"slope +category +17 +[0-9]+ +refuse: in no category, missing", done.stdout)
    table = hospital("switzerland")
    outside = np.sum((table[:, 0] < 40) | (table[:, 0] > 60))
    assert re.search(rf"age +number +{outside} +accept", done.stdout)


@needs_data
def test_a_draft_from_one_hospital_s_public_file(tmp_path):
    file = str(DATA / "heart" / "processed.cleveland.data")
    words = ("schema", "init", file, "--format", f"names={','.join(NAMES)}", "--label", "num")
    done = command(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "must be PUBLIC" in done.stderr
    assert "would leak records" in " ".join(done.stderr.replace("│", " ").split())
    text = (tmp_path / "schema.toml").read_text()
    assert "# The sample must be PUBLIC." in text
    schema = Schema.read(tmp_path / "schema.toml")
    assert [column.name for column in schema.columns] == list(NAMES)
    assert schema.label.name == "num"
    ca = schema.kernel[schema.names.index("ca")]
    assert (ca.categories, ca.when_missing) == ((0, 1, 2, 3), "encode")
    table = read_table(File(file, FileFormat(names=NAMES)), name="c", schema=schema)
    assert sum(table.n_clipped) == sum(table.n_unknown) == 0
    again = command(*words, cwd=tmp_path)
    assert again.returncode == 2
    assert "not exist yet" in again.stderr
    assert command(*words[:-1], "none", "--out", "b.toml", cwd=tmp_path).returncode == 2


# --- adult: text categories, ' ?' ---------------------------------------------------------------

ADULT_NAMES = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation"),
    *("relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week"),
    *("native-country", "income"),
)
# The codebook's lists, adult.names.
WORKCLASS = "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay"
EDUCATION = (
    "Preschool 1st-4th 5th-6th 7th-8th 9th 10th 11th 12th HS-grad Some-college Assoc-voc "
    "Assoc-acdm Bachelors Masters Prof-school Doctorate"
)
MARITAL = (
    "Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent "
    "Married-AF-spouse"
)
ADULT = Schema(
    [
        Column("age", bounds=(17, 90)),
        # Never-worked is left out, to be met as a value that nobody listed.
        Column(
            "workclass",
            categories=tuple(WORKCLASS.split()),
            other="other",
            when_missing="encode",
            weight=0.5,
        ),
        Column("education", categories=tuple(EDUCATION.split()), ordered=True),
        Column("marital-status", categories=tuple(MARITAL.split()), weight=0.5),
        Column("occupation", "ignore"),
        Column("sex", categories=("Female", "Male")),
        Column("hours-per-week", bounds=(0, 80)),
        Column("native-country", "ignore"),
        Column("income", "label"),
    ]
)


@pytest.fixture(scope="module")
def adult():
    """The raw table, text as it is, and what it means by pandas."""
    with gzip.open(DATA / "adult" / "adult.data.gz", "rt") as file:
        return pd.read_csv(file, header=None, names=ADULT_NAMES)


@needs_data
def test_adult_is_the_same_from_the_file_and_from_pandas(adult):
    file = File(DATA / "adult" / "adult.data.gz", FileFormat(names=ADULT_NAMES))
    from_file = read_table(file, name="a", schema=ADULT)
    assert adult["workclass"].str.startswith(" ").all()  # the spaces are in the frame
    from_frame = read_table(adult, name="a", schema=ADULT)
    np.testing.assert_array_equal(from_file.values, from_frame.values)
    np.testing.assert_array_equal(from_file.labels, from_frame.labels)
    assert sorted(set(from_file.labels)) == ["<=50K", ">50K"]
    work = adult["workclass"].str.strip()
    position = ADULT.names.index("workclass")
    assert from_file.n_missing[position] == (work == "?").sum() == 1836
    assert from_file.n_unknown[position] == (work == "Never-worked").sum() == 7
    hours = adult["hours-per-week"]
    assert from_file.n_clipped[ADULT.names.index("hours-per-week")] == (hours > 80).sum()
    # By position in the codebook's list, the education is the data's own number for it, in order.
    education = from_file.values[:, ADULT.names.index("education")]
    numbers = adult["education-num"].to_numpy() - 1
    agree = np.mean(education == numbers)
    assert agree == 1


@pytest.mark.same_draws
@needs_data
def test_adult_from_text_to_a_summary_in_its_own_columns(adult, tmp_path):
    part = adult.iloc[:6000]
    groups = part["education-num"].to_numpy() // 4
    owners = {f"office {g}": part[groups == g] for g in np.unique(groups)}
    with gzip.open(DATA / "adult" / "adult.test.gz", "rt") as file:
        fresh = pd.read_csv(file, header=None, names=ADULT_NAMES, skiprows=1)
    target = fresh[fresh["education"] == " Bachelors"].iloc[:1500]
    summary = dpsumm.summarize(owners, target, size=100, schema=ADULT)
    frame = summary.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert summary.privacy.epsilon() <= 1
    for row in frame.to_dict("records"):
        raw = owners[row["owner"]].iloc[row["index"]]
        for column in ADULT.columns:
            ours, theirs = row[column.name], raw[column.name]
            theirs = theirs.strip() if isinstance(theirs, str) else theirs
            if theirs == "?":
                assert pd.isna(ours)
            elif theirs == "Never-worked":
                assert ours == "other"
            else:
                assert (ours.strip() if isinstance(ours, str) else ours) == theirs
    assert (frame["education"] == "Bachelors").mean() > 0.3  # 0.17 of the owners' records
    uniform = dpsumm.summarize(
        owners, target, size=100, schema=ADULT, protocol=dpsumm.summary.Uniform()
    )
    assert summary.mmd2 < uniform.mmd2 / 2
    summary.save(tmp_path / "summary.parquet")
    assert len(read_table(tmp_path / "summary.parquet", name="s", schema=ADULT)) == len(summary)


@pytest.mark.same_draws
@needs_data
def test_adult_a_model_that_may_be_shown_and_a_summary_that_cannot_give_one(adult):
    target = adult[adult["education"] == " Bachelors"].iloc[:1000]
    rest = adult.drop(target.index)
    owners = {f"office {i}": rest.iloc[i::4] for i in range(4)}
    classes = ["<=50K", ">50K"]
    given = {"size": 4000, "schema": ADULT, "delta": 1e-5}
    auction = dpsumm.papers.Auction(reselect=False, batch=4000)
    summary = dpsumm.summarize(owners, target, protocol=auction, **given)
    model = summary.private_model(classes, epsilon=1.0)
    assert summary.privacy.epsilon(1e-5, protected="owners") <= 1
    assert model.privacy.epsilon(1e-5, protected="owners") > 0.999
    text = " ".join(summary.privacy.statements())
    assert "Each owner's records towards everyone: (1, 1e-05)-differential privacy" in text
    assert "May be shown to everyone: weights of a model of 2 classes, 4000 points" in text
    # With little noise the rich get higher scores than the others.
    clear = summary.private_model(classes, epsilon=100.0, key="clear", allow_weak_privacy=True)
    scores = clear.predict_proba(rest.iloc[:3000])[:, 1]
    ranks, rich = scores.argsort().argsort(), rest["income"].iloc[:3000] == " >50K"
    assert ranks[rich].mean() - ranks[~rich].mean() > 0.1 * len(ranks)
    offers = dpsumm.summarize(owners, target, protocol=dpsumm.Offers(), **given | {"size": 100})
    with pytest.raises(InvalidParameterError) as refused:
        offers.private_model(classes)
    assert str(refused.value) == (
        "a model trained on this summary cannot be private: under Offers an owner's points are "
        "chosen together, and the curator chooses among all offers, so one record may change every "
        "point of the summary. Ways out: Auction(reselect=False), where one record changes at most "
        "two points, or Uniform() or Pool(reads_per_record=1), where it changes one; or "
        "dpsumm.learn, whose votes protect whole owners"
    )
    assert not [c for c in offers.privacy.charges if c.observer is Observer.PUBLIC]
