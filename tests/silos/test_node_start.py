"""What a node looks at before it connects, which app it takes, and `dpsumm node`."""

import io
import random
import sqlite3
import sys
import time
import tomllib
import zipfile
from pathlib import Path

import pytest
from deployment import SCHEMA, make_data
from flwr.cli.build import build_fab_from_disk
from flwr.supercore.fab import Fab
from flwr.supernode import start_client_internal as client

from dpsumm import Column, Schema, __version__
from dpsumm.cli import main
from dpsumm.errors import InvalidDataError, InvalidParameterError
from dpsumm.exchange.signatures import SigningKey
from dpsumm.flower import project, supernode
from dpsumm.flower.gate import open_receipts, read_policy
from dpsumm.flower.policy_file import make_policy
from dpsumm.flower.project import is_own_app, write_project
from dpsumm.flower.supernode import check_node, refuse_other_apps
from dpsumm.flower.tasks import NAMES
from dpsumm.flower.tasks.protocols import PROTOCOLS
from dpsumm.flower.trial import make_trial
from dpsumm.privacy import Ledger
from dpsumm.privacy.receipt import Asked
from dpsumm.privacy.receipts import Receipts

ROOT = Path(__file__).parents[2]


@pytest.fixture
def north(tmp_path):
    make_data(tmp_path / "data", ["north"])
    SCHEMA.save(tmp_path / "schema.toml")
    folder = make_trial(
        tmp_path / "trial", ["north"], data=tmp_path / "data", schema=tmp_path / "schema.toml"
    )
    return folder / "north"


def settings(north):
    return tomllib.loads((north / "node.toml").read_text())


def test_a_node_says_at_its_start_what_holds(north, caplog):
    caplog.set_level("INFO")
    assert check_node(settings(north))
    assert "0 of 100000 records have left; trial may ask, for summarize/offers/2" in caplog.text
    without = {k: v for k, v in settings(north).items() if k != "policy"}
    assert not check_node({**without, "max-points": 3})
    assert "this node has no policy. It runs whatever app" in caplog.text


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("records = 100000", "records = -1", "records must be a whole number"),
        ("records = ", "record = 1\nrecords = ", "record is no key"),
        (f'version = "{__version__}"', 'version = "9"', "version is '9', installed is"),
        ('package = "', 'package = "0', "package must be the 64 digits"),
        ('key = "receipts.key"', 'key = "no.key"', "key: .*no.key is no Ed25519 key"),
        ('receipts = "receipts.db"', 'receipts = "no.db"', "receipts: there is no file .*no.db"),
        ("[consumers", "[[consumers", "is not TOML"),
    ],
)
def test_a_wrong_policy_stops_the_start_and_is_named(north, old, new, named):
    path = north / "policy.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises((InvalidParameterError, InvalidDataError), match=named):
        check_node(settings(north))


def test_a_package_that_was_changed_stops_the_start(north):
    path = north / "policy.toml"
    package = tomllib.loads(path.read_text())["package"]
    path.write_text(path.read_text().replace(package, 64 * "0"))
    with pytest.raises(InvalidParameterError, match=r"package is 000000000000\.\.\., the"):
        check_node(settings(north))


def test_the_command_looks_before_it_starts_flowers(north, monkeypatch):
    started = []
    monkeypatch.setattr(supernode, "flower_supernode", lambda: started.append("node"))
    monkeypatch.setattr(supernode, "refuse_other_apps", lambda: started.append("apps"))
    given = ["supernode", "--insecure", "--node-config", str(north / "node.toml")]
    monkeypatch.setattr(sys, "argv", given)
    supernode.main()
    assert started == ["apps", "node"]
    path = north / "policy.toml"
    path.write_text(path.read_text().replace("records = ", "record = "))
    with pytest.raises(SystemExit, match=r"dpsumm: .*policy\.toml: records is missing"):
        supernode.main()
    text = (north / "node.toml").read_text().splitlines(keepends=True)
    kept = [line for line in text if not line.startswith("policy")]
    (north / "node.toml").write_text("".join([*kept, "max-points = 3\n"]))
    supernode.main()
    assert started == ["apps", "node", "node"]


def packed(folder):
    return build_fab_from_disk(folder)


@pytest.mark.parametrize("task", NAMES)
def test_the_app_of_a_task_is_known_whatever_its_settings(tmp_path, task):
    write_project(tmp_path / "app", task)
    assert is_own_app(packed(tmp_path / "app"))
    path = tmp_path / "app" / "pyproject.toml"
    path.write_text(path.read_text().replace("epsilon = 1.0", "epsilon = 0.5"))
    assert is_own_app(packed(tmp_path / "app"))


def add(folder, name, text):
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(text)


OTHERS = {
    "owner": lambda app: add(app, "dpsumm_silos/owner.py", "print('other')\n"),
    "package": lambda app: add(app, "dpsumm_silos/__init__.py", "import os\n"),
    "more": lambda app: add(app, "dpsumm_silos/more.py", ""),
    "shadow": lambda app: add(app, "numpy/__init__.py", ""),
    "entry": lambda app: add(
        app,
        "pyproject.toml",
        (app / "pyproject.toml").read_text().replace("dpsumm_silos.owner:app", "os:system"),
    ),
    "dependency": lambda app: add(
        app,
        "pyproject.toml",
        (app / "pyproject.toml").read_text().replace('["dpsumm[flower]"]', '["dpsumm", "other"]'),
    ),
}


@pytest.mark.parametrize("how", OTHERS)
def test_another_app_is_known_as_one(tmp_path, how):
    write_project(tmp_path / "app")
    OTHERS[how](tmp_path / "app")
    assert not is_own_app(packed(tmp_path / "app"))


def test_what_is_no_app_is_refused(tmp_path):
    write_project(tmp_path / "app")
    right = packed(tmp_path / "app")
    twice = io.BytesIO(right)
    with zipfile.ZipFile(twice, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("dpsumm_silos/owner.py", "print('other')\n")
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("pyproject.toml", "x" * 2**24)
    for wrong in (b"", b"x" * 100, right[:-30], twice.getvalue(), bomb.getvalue()):
        assert not is_own_app(wrong)
    assert is_own_app(right)


def zipped(settings=None, method=None):
    files = {**project._files("summarize"), ".info/CONTENT": ""}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, settings if settings and name == "pyproject.toml" else text)
    data = bytearray(out.getvalue())
    if method is not None:
        for mark, at in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
            place = data.index(mark) + at
            data[place : place + 2] = method.to_bytes(2, "little")
    return data


def with_setting(line):
    return project._files("summarize")["pyproject.toml"] + line + "\n"


HOSTILE_SETTINGS = [
    "a = " + "[" * 100_000,
    "a" + ".a" * 60_000 + " = 1",
    "tool = []",
    "a = " + "9" * 5000,
    "a = 2020-02-30",
    with_setting("a = " + "[" * 100_000),
    with_setting("a = 2020-02-30"),
    with_setting("a = " + "9" * 5000),
    with_setting('a = """'),
    with_setting("a.b = 1"),
    with_setting("size = 3"),  # a second one
    with_setting('a = "\\uD800"'),
    with_setting("[project.scripts]"),
    with_setting('a = "' + "\\" * 50_001 + '"'),
]


@pytest.mark.parametrize("number", range(len(HOSTILE_SETTINGS)))
def test_settings_that_no_parser_should_see_are_no_app(number):
    began = time.perf_counter()
    assert not is_own_app(bytes(zipped(HOSTILE_SETTINGS[number])))
    assert time.perf_counter() - began < 5


def test_any_damage_gets_an_answer():
    data = zipped()
    assert is_own_app(bytes(data))
    assert is_own_app(bytes(zipped(with_setting('own-key = "a # b"  # why'))))
    assert not any(is_own_app(bytes(zipped(method=number))) for number in (9, 12, 14, 99))
    first = data.index(b"pyproject.toml") + len("pyproject.toml")
    data[first : first + 8] = b"\xff" * 8  # no deflate stream begins so
    assert not is_own_app(bytes(data))
    rng = random.Random(0)
    for _ in range(500):  # any answer, and no exception
        data = zipped()
        for _ in range(rng.randint(1, 8)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        is_own_app(bytes(data))


def test_flowers_node_asks_before_any_code_runs(tmp_path, monkeypatch):
    """What Flower does with an app that is refused is its own: an error to the curator."""
    write_project(tmp_path / "app")
    given = {}
    monkeypatch.setattr(client, "_pull_and_store_message", lambda **what: given.update(what))
    monkeypatch.setattr(client, "_verify_fab", None)
    refuse_other_apps()
    fab = Fab("hash", packed(tmp_path / "app"), {})
    client._pull_and_store_message(get_fab=lambda fab_hash, run: fab, state=1)
    # Flower verifies if somebody is trusted, and only what is marked.
    assert given["trusted_entities"]
    assert given["state"] == 1
    marked = given["get_fab"]("hash", 1)
    assert marked.verifications["valid_license"]
    assert client._verify_fab(marked, {})
    assert not client._verify_fab(Fab("hash", b"other", {}), {})


def command(capsys, *words):
    """Run `dpsumm node`; return exit code, what it printed, and what it said of errors."""
    with pytest.raises(SystemExit) as end:
        main(["node", *map(str, words)])
    out, err = capsys.readouterr()
    return end.value.code, out, err


@pytest.fixture
def owner(tmp_path, capsys):
    """A folder with a policy that the command made."""
    folder = tmp_path / "owner"
    folder.mkdir()
    SigningKey.make(tmp_path / "clinic")
    given = ["--consumer", f"clinic={tmp_path / 'clinic.pub'}", "--purpose", "heart study",
             "--records", "100", "--records-per-day", "40"]  # fmt: skip
    code, out, err = command(capsys, "create", folder, *given)
    assert code == 0, err
    assert f'policy = "{folder / "policy.toml"}"' in out
    code, _, err = command(capsys, "create", folder, *given)
    assert code == 2
    assert "exists already" in err
    return folder


def make(folder):
    return make_policy(
        folder, "summarize", consumers={"clinic": SigningKey.make(folder.parent / "k").public},
        purposes=["heart study"], records=100,
    )  # fmt: skip


@pytest.mark.parametrize("how", ["left of a log", "no log can be made", "policy"])
def test_what_could_not_be_made_leaves_nothing_behind(tmp_path, monkeypatch, how):
    folder = tmp_path / "north"
    folder.mkdir()
    match how:
        case "left of a log":
            (folder / "receipts.db.seen").write_text("0\n")
            words = r"receipts\.db\.seen is left of a log"
        case "no log can be made":
            monkeypatch.setattr(Receipts, "_add", lambda *_, **__: sqlite3.connect(folder))
            words = "receipts.* cannot be used"
        case "policy":
            monkeypatch.setattr("dpsumm.flower.policy_file.of_task", lambda _: [])
            words = "protocols must be"
    with pytest.raises((InvalidParameterError, InvalidDataError), match=words):
        make(folder)
    left = {path.name for path in folder.iterdir()}
    assert left == ({"receipts.db.seen"} if how == "left of a log" else set())
    (folder / "receipts.db.seen").unlink(missing_ok=True)
    monkeypatch.undo()
    (tmp_path / "k").unlink()
    (tmp_path / "k.pub").unlink()
    assert make(folder).exists()


def send(folder, *sizes):
    with open_receipts(read_policy(folder / "policy.toml")) as log:
        for i, size in enumerate(sizes):
            asked = Asked("clinic", f"run-{i}", "heart study")
            log.send(asked, str(i).encode(), size, lambda sent: None)
        log.refused(Asked(), "nobody signed")


def test_what_the_commands_show(owner, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    send(owner, 30, 12)
    code, out, _ = command(capsys, "show", owner / "policy.toml")
    assert code == 0
    for words in (
        "42 of 100",
        "heart study",
        "summarize/offers/2",
        f'version = "{__version__}"\npackage = "',
    ):
        assert words in out
    code, out, _ = command(capsys, "log", owner / "policy.toml", "--out", owner / "log.csv")
    assert code == 0
    for words in ("run-1", "nobody known", "nobody signed", "4 lines, whole and sealed"):
        assert words in out
    head = [line for line in out.split() if len(line) == 64][-1]
    public = owner / "receipts.key.pub"
    code, again, _ = command(capsys, "verify", owner / "log.csv", "--key", public, "--head", head)
    assert code == 0
    assert "4 lines, whole and sealed" in again
    # Without a column of the run's nobody would know; a line less is noticed by who kept the head.
    rows = (owner / "log.csv").read_text().splitlines(keepends=True)
    (owner / "short.csv").write_text("".join(rows[:-1]))
    assert command(capsys, "verify", owner / "short.csv", "--key", public)[0] == 0
    code, _, err = command(capsys, "verify", owner / "short.csv", "--key", public, "--head", head)
    assert code == 2
    assert f"no line has the digest {head}" in err
    (owner / "less.csv").write_text("".join(rows).replace(",30,30,", ",30,3,"))
    code, _, err = command(capsys, "verify", owner / "less.csv", "--key", public)
    assert code == 2
    assert "line 2 was changed" in err


def test_the_commands_say_what_is_wrong(owner, capsys):
    assert command(capsys, "log", owner / "no.toml")[0] == 2
    path = owner / "policy.toml"
    text = path.read_text()
    path.write_text(text.replace(f'version = "{__version__}"', 'version = "9"'))
    code, out, err = command(capsys, "show", path)
    assert code == 2
    assert "version is '9', installed is" in err
    assert "package = " in out
    path.write_text(text)
    (owner / "receipts.db.seen").unlink()
    code, _, err = command(capsys, "log", path)
    assert code == 2
    assert "receipts.db.seen, which stood beside it, is missing" in err
    code, _, err = command(
        capsys, "create", owner, "--consumer", f"a={path}", "--purpose", "x", "--records", 1
    )
    assert code == 2


def test_the_example_of_the_page_is_a_policy():
    file = ROOT / "deploy" / "flower" / "policy.toml"
    policy = read_policy(file)
    assert policy.protocols <= set(PROTOCOLS)
    assert (policy.version, policy.records, policy.per_day) == (__version__, 2000, 200)
    (clinic,) = policy.consumers
    assert (clinic.name, clinic.records) == ("heart-clinic", 500)
    assert file.read_text() in (ROOT / "docs" / "deploy-owner.md").read_text()


def test_a_policy_that_cannot_be_leaves_nothing_behind(tmp_path, capsys):
    (tmp_path / "rsa.pub").write_text("ssh-rsa AAAA\n")
    (tmp_path / "owner").mkdir()
    code, _, err = command(
        capsys, "create", tmp_path / "owner", "--consumer", f"a={tmp_path / 'rsa.pub'}",
        "--purpose", "x", "--records", 1,
    )  # fmt: skip
    assert code == 2
    assert "key must be an Ed25519 public key" in err
    assert list((tmp_path / "owner").iterdir()) == []


def test_a_node_of_rows_does_not_start_without_a_cap(tmp_path):
    """Noisy tables count no records, so nothing else bounds what its owner's records pay."""
    (tmp_path / "data").mkdir()
    (tmp_path / "schemas").mkdir()
    for name in ("bank", "clinic"):
        (tmp_path / "data" / f"{name}.csv").write_text("x\n1\n2\n")
        Schema([Column(f"x_{name}", bounds=(0, 3))]).save(tmp_path / "schemas" / f"{name}.toml")
    folder = make_trial(
        tmp_path / "trial",
        ["bank", "clinic"],
        data=tmp_path / "data",
        schema=tmp_path / "schemas",
        task="synthesize",
    )
    for name in ("bank", "clinic", "helper"):
        node = {**settings(folder / name), "task": "synthesize"}
        assert check_node(node)
    ledger = Path(settings(folder / "bank")["ledger"])
    ledger.unlink()
    Path(f"{ledger}.seen").unlink()
    Ledger.create(ledger).close()
    with pytest.raises(InvalidParameterError, match="ledger: it has no cap on records"):
        check_node({**settings(folder / "bank"), "task": "synthesize"})
