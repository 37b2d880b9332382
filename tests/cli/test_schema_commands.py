"""Errors of ``--schema`` and of the schema commands: one line, exit code 2, no value shown."""

import re
import shlex
from datetime import date

import pytest

from dpsumm import Column, Schema
from dpsumm.cli import main

DAY = date(2020, 1, 1)
RUN = ("summarize", "--owner", "a=a.csv", "--target", "a.csv", "--size", "1", "--schema")


@pytest.fixture(autouse=True)
def directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "a.csv").write_text("x,c\n1,u\n2,31.4159\n")
    Schema([Column("x", bounds=(0, 9)), Column("c", categories=("u",))]).save(tmp_path / "s.toml")
    marked = Column("x", bounds=(0, 9), missing=("1",))
    Schema([marked]).save(tmp_path / "m.toml")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*RUN, "none.toml"), r"no file none\.toml. Draft one"),
        ((*RUN, "s.toml"), r"column 'c' has values that are in none of the schema's categories"),
        ((*RUN, "m.toml"), r"column 'x' has missing values; .*when_missing in the schema: 'drop'"),
        ((*RUN, "s.toml", "--schema", "x=0:9"), "give one file"),
        ((*RUN, "s.toml", "--report", "s.toml"), "written over"),
        (("schema", "check", "a.csv", "--schema", "a.csv"), r"a\.csv: this is not TOML"),
        (("schema", "check", "none.csv", "--schema", "s.toml"), "no such file"),
        (("schema", "init", "a.csv", "--out", "draft.txt"), r"must end in \.toml"),
        (("schema", "init", "a.csv", "--out", "s.toml"), "not exist yet"),
        (("schema", "init", "a.csv", "--label", "z"), "no column 'z'"),
        (("schema", "init", "a.csv", "--ignore", "z"), "--ignore: the sample has no column 'z'"),
        (("schema", "init", "none.csv"), "no such file"),
    ],
)
def test_error_is_one_line_and_exit_2(directory, words, message, capsys):
    before = {path.name: path.read_bytes() for path in directory.iterdir()}
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    captured = capsys.readouterr()
    assert re.fullmatch(rf"dpsumm: .*{message}.*\n", captured.err)
    assert "31.4159" not in captured.err + captured.out
    assert {path.name: path.read_bytes() for path in directory.iterdir()} == before


@pytest.mark.parametrize(("more", "code"), [((), 1), (("--target",), 1)])
def test_check_counts_and_says_what_a_run_would_do(more, code, capsys):
    with pytest.raises(SystemExit) as caught:
        main(("schema", "check", "a.csv", "--schema", "s.toml", *more))
    assert caught.value.code == code
    shown = capsys.readouterr().out
    assert re.search(r"c +category +1 +refuse: in no category", shown)
    assert re.search(r"x +number +accept", shown)
    assert "31.4159" not in shown


def test_check_says_how_to_mend_what_is_refused(directory, capsys):
    columns = [
        Column("n"),
        Column("d", "date", bounds=(DAY, DAY.replace(2026))),
        Column("y", "label"),
    ]
    Schema([*columns, Column("c", categories=("u",), other="o")]).save(directory / "t.toml")
    (directory / "b.csv").write_text("n,d,c,y\n31.4159 mm,2.1.2020,u,\n1,3.1.2020,31.4159,1\n")
    with pytest.raises(SystemExit) as caught:
        main(("schema", "check", "b.csv", "--schema", "t.toml"))
    assert caught.value.code == 1
    shown = capsys.readouterr().out
    assert re.search(r"no number: correct them \(a decimal point", shown)
    assert re.search(r"no date: .*date_format in the schema, such as '%d\.%m\.%Y'", shown)
    # What the column cannot be is not offered: a label is never encoded.
    assert re.search(r"missing labels: .*when_missing = 'drop' in the schema", shown)
    assert "'encode'" not in shown
    assert "mark of 'no value'" in shown
    assert "31.4159" not in shown
    assert "in no category:" not in shown


def test_a_run_says_of_a_missing_label_what_a_label_allows(directory, capsys):
    Schema([Column("x", bounds=(0, 9)), Column("c", "label")]).save(directory / "l.toml")
    (directory / "a.csv").write_text("x,c\n1,u\n2,\n")
    with pytest.raises(SystemExit):
        main((*RUN, "l.toml"))
    said = capsys.readouterr().err
    assert "some labels are missing; fill them in, or say when_missing = 'drop'" in said
    assert "encode" not in said


def test_a_draft_says_what_a_column_may_say_and_is_a_schema(directory):
    with pytest.raises(SystemExit):
        main(("schema", "init", "a.csv", "--out", "draft.toml"))
    text = (directory / "draft.toml").read_text()
    for key in ("missing", "when_missing", "weight", "ordered", "date_format"):
        assert re.search(rf"^#.*\b{key} = ", text, re.MULTILINE)
    assert Schema.read(directory / "draft.toml").names[0] == "x"


def test_a_target_needs_neither_label_nor_what_is_ignored(directory, capsys):
    schema = Schema([Column("x", bounds=(0, 1.5)), Column("n", "ignore"), Column("y", "label")])
    schema.save(directory / "s.toml")
    words = ("schema", "check", "a.csv", "--schema", "s.toml")
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    assert "no column 'n'" in capsys.readouterr().err
    with pytest.raises(SystemExit) as caught:
        main((*words, "--target"))
    assert caught.value.code == 0
    assert re.search(r"x +number +1 +accept", capsys.readouterr().out)


def checked(capsys, *words):
    """Return the exit code of a check, and what it shows."""
    with pytest.raises(SystemExit) as caught:
        main(("schema", "check", *words))
    return caught.value.code, " ".join("".join(capsys.readouterr()).split())


@pytest.mark.parametrize(
    ("rows", "rule", "why"),
    [
        ("18\n90\n", "refuse", "every value of column 'x' is outside its bounds"),
        ("5\n5\n", "refuse", "all records are the same point"),
        ('""\n""\n', "drop", "no row is complete"),
    ],
)
def test_check_refuses_a_target_that_a_run_refuses(directory, rows, rule, why, capsys):
    bound = Column("x", bounds=(0, 9), when_missing=rule)
    Schema([bound]).save(directory / "b.toml")
    (directory / "t.csv").write_text(f"x\n{rows}")
    (directory / "o.csv").write_text("x\n1\n2\n")
    code, shown = checked(capsys, "t.csv", "--schema", "b.toml", "--target")
    assert code == 1
    assert f"A run would refuse the file: {why}" in re.sub(r"'\w+'( \(t.csv\))?: ", "", shown)
    with pytest.raises(SystemExit) as caught:
        main("summarize --owner a=o.csv --target t.csv --size 1 --schema b.toml".split())
    assert caught.value.code == 2
    assert why in " ".join(capsys.readouterr().err.split())
    # An owner may lie outside: its points are then worth little, and nothing is refused.
    code, shown = checked(capsys, "t.csv", "--schema", "b.toml")
    assert code == (1 if rule == "drop" else 0)
    assert ("clipped: many?" in shown) == ("18" in rows)


def test_check_and_init_read_a_file_as_a_run_does(directory, capsys):
    Schema([Column("x", bounds=(0, 9)), Column("c", categories=("ä",))]).save(directory / "b.toml")
    form = ("kind=csv", "separator=;", "decimal=,", "encoding=cp1252")
    words = ("b.dat", *(word for said in form for word in ("--format", said)))
    (directory / "b.dat").write_bytes("x;c\n1,5;ä\n2,5;ä\n".encode("cp1252"))
    assert checked(capsys, *words, "--schema", "b.toml")[0] == 0
    assert checked(capsys, *words[:-2], "--schema", "b.toml")[0] == 2
    with pytest.raises(SystemExit) as caught:
        main(("schema", "init", *words, "--out", "draft.toml"))
    assert caught.value.code == 0
    drafted = Schema.read(directory / "draft.toml")
    assert drafted.columns[0].bounds is not None
    assert drafted.columns[1].categories == ("ä",)


def test_init_says_which_value_it_takes_for_a_missing_one(directory, capsys):
    rows = "".join(f"{i % 40},{-9999 if i % 5 == 0 else i % 31}\n" for i in range(200))
    (directory / "lab.csv").write_text("age,lab\n" + rows)
    with pytest.raises(SystemExit) as ended:
        main(("schema", "init", "lab.csv", "--out", "lab.toml"))
    assert not ended.value.code
    said = " ".join(capsys.readouterr().out.split())
    assert "lab: -9999 is drafted as a missing value" in said
    assert "age:" not in said
    assert Schema.read(directory / "lab.toml").columns[1].missing[-1] == -9999


def test_init_finds_how_a_sample_is_spelt_and_says_it(directory, capsys):
    rows = [
        (f"{20 + i % 50}", f"{1000 + 37 * i % 991}.5", "Köln" if i % 3 else "Ulm")
        for i in range(90)
    ]
    plain = "age,income,city\n" + "".join(",".join(row) + "\n" for row in rows)
    (directory / "plain.csv").write_text(plain)
    spelt = plain.replace(",", ";").replace(".", ",")
    (directory / "spelt.csv").write_bytes(spelt.encode("cp1252"))
    for name in ("plain", "spelt"):
        with pytest.raises(SystemExit) as ended:
            main(("schema", "init", f"{name}.csv", "--out", f"{name}.toml"))
        assert not ended.value.code
        said = " ".join(capsys.readouterr().out.split())
        options = "--format 'separator=;' --format decimal=, --format encoding=cp1252"
        assert (f"read with {options} (seen in its lines)" in said) == (name == "spelt")
    assert (directory / "spelt.toml").read_text() == (directory / "plain.toml").read_text()
    with pytest.raises(SystemExit) as ended:
        main(("schema", "check", "spelt.csv", "--schema", "spelt.toml", *shlex.split(options)))
    assert not ended.value.code


def test_init_says_what_travels_along_and_leaves_identifiers_out(directory, capsys):
    rows = "".join(f"B-{i};C-{i};text {i};{100 + i},5;{20 + i % 9}\n" for i in range(80))
    (directory / "p.csv").write_text(f"patient_id;case id;note;bp;age\n{rows}")
    words = ("schema", "init", "p.csv", "--format", "separator=;", "--out")
    with pytest.raises(SystemExit):
        main((*words, "one.toml"))
    said = capsys.readouterr().out.splitlines()
    (told,) = (line for line in said if line.startswith("patient_id "))
    assert "no run reads it (--ignore patient_id would have it travel along)" in told
    assert any("(--ignore 'case id' would" in line for line in said)
    (told,) = (line for line in said if line.startswith("note "))
    assert re.search("travels with each point to the curator.*: .*80 different texts", told)
    names = [column.name for column in Schema.read(directory / "one.toml").columns]
    assert names == ["note", "bp", "age"]
    with pytest.raises(SystemExit):
        main((*words, "two.toml", "--ignore", "patient_id", "--format", "decimal=,"))
    said = capsys.readouterr().out
    assert "patient_id" not in said
    assert "read with" not in said
    kept = Schema.read(directory / "two.toml")
    assert [column.name for column in kept.carried] == ["patient_id", "note"]
    assert kept.columns[2].bounds is not None


@pytest.mark.parametrize(
    ("head", "shown"),
    [
        ("x,y,pressure", True),
        ("x,z,pressure", False),  # one of three: the first row may be a record
    ],
)
def test_check_shows_at_home_what_a_renamed_column_is_called(directory, head, shown, capsys):
    columns = [Column("x"), Column("y"), Column("bp")]
    Schema(columns).save(directory / "b.toml")
    (directory / "b.csv").write_text(f"{head}\n1,2,3\n")
    with pytest.raises(SystemExit) as caught:
        main(("schema", "check", "b.csv", "--schema", "b.toml"))
    assert caught.value.code == 2
    said = capsys.readouterr()
    assert ("The file also has 'pressure', which the schema does not name." in said.out) == shown
    assert re.fullmatch(r"dpsumm: .* has no column '\w+', which its schema .*\n", said.err)
    # Nor is it in the message itself, which may travel.
    assert "pressure" not in said.err


@pytest.mark.parametrize(
    ("labels", "code", "said"),
    [
        ("yesno", 0, r"0 of 4 rows have a label in none of the classes\."),
        ("yes01", 0, "3 of 4 rows have a label in none of the classes: learn leaves"),
        ("01", 1, "4 of 4 rows .* counts for nothing in it, .* Spell the labels as the classes"),
    ],
)
def test_check_tells_at_home_of_labels_that_are_no_class(directory, labels, code, said, capsys):
    of = {"yesno": "yes no yes no", "yes01": "yes 0 1 0", "01": "0 1 0 1"}[labels].split()
    (directory / "l.csv").write_text("x,y\n" + "".join(f"{i},{y}\n" for i, y in enumerate(of)))
    Schema([Column("x", bounds=(0, 9)), Column("y", "label")]).save(directory / "l.toml")
    found, shown = checked(capsys, "l.csv", "--schema", "l.toml", "--classes", "yes,no")
    assert found == code
    assert re.search(said, shown)
    found, shown = checked(capsys, "l.csv", "--schema", "l.toml")
    assert found == 0
    assert "none of the classes" not in shown


@pytest.mark.parametrize("more", [("--schema", "s.toml"), ("--schema", "l.toml", "--target")])
def test_check_has_no_classes_without_labels(directory, more, capsys):
    Schema([Column("x", bounds=(0, 9)), Column("y", "label")]).save(directory / "l.toml")
    code, shown = checked(capsys, "a.csv", *more, "--classes", "yes,no")
    assert code == 2
    assert "--classes: there are no labels to compare" in shown
