"""``dpsumm learn``: files in, predictions, model and report out; plans, resumption, refusals."""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dpsumm import Column, Schema
from dpsumm.cli import learn as learn_module
from dpsumm.cli import main
from dpsumm.ensemble import load_model
from dpsumm.privacy import Ledger
from helpers.command_line import dpsumm
from helpers.disk import full_for

USUAL = (
    "learn", "--owner", "parties", "--public-points", "public.csv", "--schema", "schema.toml",
    "--classes", "no,yes", "--learner", "bayes", "--epsilon", "4",
)  # fmt: skip


def people(rng, n):
    x = rng.normal(size=(n, 2)).clip(-3, 3)
    return pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "sick": np.where(x[:, 0] > 0, "yes", "no")})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Sixty parties' files in a directory, points, labels and a schema; nothing is written here."""
    rng, made = np.random.default_rng(0), tmp_path_factory.mktemp("learn")
    (made / "parties").mkdir()
    for i in range(60):
        people(rng, 20).write_csv(made / "parties" / f"clinic-{i:02d}.csv")
    people(rng, 1200).drop("sick").write_csv(made / "public.csv")
    people(rng, 300).write_csv(made / "mine.csv")
    bounds = {"bounds": (-3, 3)}
    columns = [Column("a", **bounds), Column("b", **bounds)]
    Schema([*columns, Column("sick", "label")]).save(made / "schema.toml")
    Schema(columns).save(made / "bare.toml")
    listed = Column("sick", "label", categories=("no", "yes"))
    Schema([*columns, listed]).save(made / "listed.toml")
    return made


@pytest.fixture(autouse=True)
def here(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    for file in folder.iterdir():
        (tmp_path / file.name).symlink_to(file)


def run(*arguments):
    """Return the exit code of the command in this process."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    return int(caught.value.code or 0)


@pytest.mark.same_draws
def test_predictions_model_and_report_are_written_and_paid_once(capsys):
    Ledger.create("books", caps={"owners": (4, 1e-4)}).close()
    given = (*USUAL, "--validation", "mine.csv", "--ledger", "books", "--run", "first")
    assert run(*given, "--model", "m", "--report", "r.html", "--out", "p.csv") == 0
    out = capsys.readouterr().out
    frame, points = pl.read_csv("p.csv"), pl.read_csv("public.csv")
    assert frame.columns == ["prediction", "p_no", "p_yes"]
    assert ((frame["prediction"] == "yes") == (points["a"] > 0)).mean() > 0.85
    model = load_model("m")
    assert (model.predict(Path("public.csv")) == frame["prediction"].to_numpy()).mean() > 0.99
    assert re.search(r"run +first *\n", out)
    assert re.search(r"learnt from +noisy votes of 60 parties on 1,200 points", out)
    said = r"verdict +better than one label for all: right for (9\d|100)% of your 300 labelled"
    assert re.search(said, out)
    assert re.search(r"epsilon, parties +(4|3\.\d+) at delta 1e-05, unit: one whole owner", out)
    for name in ("p.csv", "m", "r.html"):
        assert f"wrote {name}" in out
    page = Path("r.html").read_text("utf-8")
    assert "<h1>Better than one label for all</h1>" in page
    assert re.search(r"Right for (9\d|100)% of your 300 labelled points, always saying", page)
    assert "clinic-" not in page
    # Again: the same votes and no charge; another budget is beyond the cap.
    assert run(*given, "--out", "again.csv") == 0
    assert pl.read_csv("again.csv").equals(frame)
    told = capsys.readouterr().err
    assert "was resumed" in told
    assert "No ledger" not in told
    with Ledger("books") as book:
        assert len(book.charges()) == 1
    assert run(*USUAL, "--ledger", "books", "--run", "second") == 2
    assert "above the cap" in capsys.readouterr().err
    assert not Path("predictions.parquet").exists()


@pytest.mark.same_draws
def test_updates_are_the_default_and_write_the_same_files(capsys):
    given = ("--validation", "mine.csv", "--report", "r.html", "--model", "m", "--out", "p.csv")
    most = ("--records-per-owner", "20", "--epsilon", "8")
    assert run(*USUAL[:9], *most, *given) == 0
    out = capsys.readouterr().out
    assert re.search(r"learnt from +noisy updates of 60 parties in 8 rounds", out)
    assert re.search(r"your labels +(8|9)\d% are met", out)
    frame = pl.read_csv("p.csv")
    assert (load_model("m").predict(Path("public.csv")) == frame["prediction"].to_numpy()).all()
    assert "Length over noise alone" in Path("r.html").read_text("utf-8")
    assert run(*USUAL, "--protocol", "updates") == 2
    assert "learner is for votes alone" in " ".join(capsys.readouterr().err.split())


def test_one_file_under_two_names_is_refused_before_anything_is_charged(capsys):
    Ledger.create("books").close()
    Path("link.csv").symlink_to("parties/clinic-00.csv")
    twice = (*USUAL, "--owner", "hx=link.csv", "--ledger", "books")
    assert run(*twice) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "'clinic-00' and 'hx' are the same file; give each party's file once" in told
    assert run(*USUAL, "--public-points", "link.csv", "--ledger", "books") == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "'clinic-00' and 'public points' are the same file; public points are" in told
    assert run(*USUAL, "--validation", "link.csv", "--ledger", "books") == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "'clinic-00' and 'validation' are the same file; it chooses among candidates" in told
    with Ledger("books") as book:
        assert book.charges() == ()


def test_labels_in_no_class_are_told_by_the_schema_alone(capsys):
    """A party's labels may hang on one record: what is told is the same whatever they are."""
    Path("two").mkdir()
    for name in ("one", "two"):
        people(np.random.default_rng(1), 20).write_csv(f"two/{name}.csv")
    told = []
    for schema, spelt in (("schema", "no"), ("schema", "0"), ("listed", "no")):
        odd = pl.read_csv("two/one.csv").with_columns(sick=pl.lit(spelt))
        odd.write_csv("two/one.csv")
        words = [{"parties": "two", "schema.toml": f"{schema}.toml"}.get(w, w) for w in USUAL]
        assert run(*words, "--allow-weak-privacy", "--out", f"{schema}{spelt}.csv") == 0
        told.append("lists no categories" in capsys.readouterr().err)
    assert told == [True, True, False]
    pl.read_csv("two/one.csv").with_columns(sick=pl.lit("0")).write_csv("two/one.csv")
    assert run(*words, "--allow-weak-privacy", "--out", "refused.csv") == 2
    assert re.search("'one'.*none of the schema's categories", capsys.readouterr().err)


def test_a_plan_reads_and_writes_nothing(capsys):
    plan = ("plan", "learn", "--points", "1200", "--parties", "60", "--classes", "a,b")
    assert run(*plan) == 0
    assert "Private updates of 60 parties, 2 classes" in capsys.readouterr().out
    assert run(*plan, "--learner", "tree") == 0
    assert "Noisy votes of 60 parties on 1200 points, 2 classes" in capsys.readouterr().out
    given = ("--parties", "10", "--classes", "0,1,2", "--protocol", "votes")
    assert run("plan", "learn", "--points", "5000", *given) == 0
    out = capsys.readouterr().out
    assert "Verdict: do not use. The noise hides what the votes say." in out
    assert "--unit 'replace one record' with --models-per-owner" in " ".join(out.split())
    single = ("--unit", "replace one record", "--models-per-owner", "100")
    assert run("plan", "learn", "--points", "5000", *given, *single) == 0
    assert "The noise is small compared" in capsys.readouterr().out
    assert not Path("predictions.parquet").exists()


def test_a_run_that_means_nothing_does_not_look_good(capsys):
    few = [f"--owner=c{i}=parties/clinic-{i:02d}.csv" for i in range(3)]
    given = [*few, *USUAL[3:-1], "0.1", "--report", "r.html", "--seed", "7"]
    assert run("learn", *given) == 0
    told = capsys.readouterr()
    # Before anything was spent, once; and after.
    assert told.err.count("above 1. Take") == 1
    assert told.err.index("above 1. Take") < told.err.index("Do not use this model")
    taken_back = "not private .a seed was given.; "
    said = " ".join(told.out.split())
    assert re.search(f"verdict {taken_back}(the noise hides|it says)", said)
    assert "Look at this first." in Path("r.html").read_text("utf-8")


def test_points_that_parties_do_not_see(capsys):
    hidden = (*USUAL, "--points-are", "consumer")
    assert run(*hidden, "--model", "m") == 2
    assert "--model: a model of points that parties must not see" in capsys.readouterr().err
    assert run(*hidden) == 0
    out, told = capsys.readouterr()
    assert "noisy votes" in out
    assert "No ledger: nothing adds this epsilon" in " ".join(told.split())
    assert pl.read_parquet("predictions.parquet").height == 1200


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--owner", "empty"], "empty matches no file"),
        (["--owner", "clinic-00=parties/clinic-01.csv"], "given twice"),
        (["--classes", "no"], "at least two labels"),
        (["--classes", "no,,yes"], "with commas between"),
        (["--classes", "0,1", "listed.toml"], "0 is not among the schema's categories"),
        (["--epsilon", "20"], "promises next to nothing.*--allow-weak-privacy"),
        (["bare.toml"], r"has no labels. .* --schema"),
        (["--public-points", "none.csv"], r"'public_points' \(none.csv\): no such file"),
        (["none.toml"], "there is no file none.toml"),
        (["--validation", "public.csv"], "sick"),
        (["--out", "public.csv"], "would be written over"),
        (["--report", "public.csv"], "would be written over"),
        (["--model", "no/model"], "there is no directory no."),
        (["--learner", "tree", "--models-per-owner", "256"], "--models-per-owner must"),
        (["--seed", "1", "--ledger", "books"], "a seeded run is not private"),
    ],
)
def test_what_is_refused_is_refused_before_anything_is_spent(change, message, capsys):
    Path("empty").mkdir()
    Ledger.create("books").close()
    given = change if "--seed" in change else ["--ledger", "books", *change]
    *given, schema = given if given[-1].endswith(".toml") else [*given, "schema.toml"]
    assert run(*(schema if word == "schema.toml" else word for word in USUAL), *given) == 2
    assert re.search(message, capsys.readouterr().err.replace("\n", " "))
    with Ledger("books") as book:
        assert book.charges() == ()
    assert not Path("predictions.parquet").exists()


def test_parties_points_and_classes_are_needed(capsys):
    for option in ("--owner", "--public-points", "--schema"):
        at = USUAL.index(option)
        assert run(*USUAL[:at], *USUAL[at + 2 :]) == 2
        assert option in capsys.readouterr().err
    without = [part for part in USUAL if part not in ("--classes", "no,yes")]
    assert run(*without) == 2
    assert "--classes: list all labels" in capsys.readouterr().err
    plan = ("plan", "learn", "--points", "1200", "--parties", "60")
    assert run(*plan, "--schema", "listed.toml") == 0
    assert "2 classes" in capsys.readouterr().out
    assert run(*plan) == 2
    assert "--classes: list all labels" in capsys.readouterr().err


@pytest.mark.parametrize("after", [False, True])
def test_an_interrupted_run_says_what_was_spent_and_goes_on(monkeypatch, after):
    Ledger.create("books").close()
    usual = [{"schema.toml": "listed.toml"}.get(word, word) for word in USUAL]  # no note of its own
    real = learn_module.make_model

    def stopped(*parties, **given):
        if after:
            real(*parties, **given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(learn_module, "make_model", stopped)
        done = dpsumm(*usual, "--ledger", "books", cwd=Path.cwd())
        unkept = dpsumm(*usual, cwd=Path.cwd())
    assert done.returncode == unkept.returncode == 130
    assert unkept.stderr.endswith("is spent: no --ledger kept it\n")
    with Ledger("books") as book:
        runs = book.runs()
    if not after:
        assert runs == ()
        assert done.stderr == "dpsumm: interrupted; nothing was spent\n"
        return
    told = re.fullmatch(
        r"dpsumm: interrupted; epsilon (4|3\.\d+) of the owners is spent; run again with "
        r"(--ledger books --run (\w+)): nothing is charged twice\n",
        done.stderr,
    )
    assert runs == (told[3],)
    assert dpsumm(*usual, *told[2].split(), cwd=Path.cwd()).returncode == 0
    with Ledger("books") as book:
        assert len(book.charges()) == 1


def test_a_full_disk_says_what_is_spent_and_how_to_resume(capsys, monkeypatch):
    Ledger.create("books").close()
    given = (*USUAL, "--ledger", "books", "--run", "first")
    given = (*given, "--model", "m", "--report", "r.html", "--out", "p.csv")
    charged = None
    for name, written in (("p.csv", "nothing was"), ("r.html", "p.csv, m was"), ("", "")):
        with monkeypatch.context() as patch:
            full_for(patch, name)
            assert run(*given) == (2 if name else 0)
        with Ledger("books") as books:
            charges = books.charges()
        assert charges
        assert charged in (None, charges)
        charged = charges
        if name:
            said = " ".join(capsys.readouterr().err.split())
            assert f"{name} cannot be written (No space left on device); {written} written" in said
            assert re.search(r"Epsilon (4|3\.\d+) of the parties is spent\.", said)
            assert "with --ledger books and --run first: nothing is charged twice" in said
