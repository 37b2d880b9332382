"""`dpsumm deploy up` and `down`: one command each, with real processes."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time

import polars as pl
import psutil
import pytest
from deployment import LONG, SCHEMA, listening, make_data, wait_for
from ports import Ports

from dpsumm.errors import InvalidParameterError
from dpsumm.flower.running import LOGS, MARK, STATE, end_trial, start_trial

pytestmark = pytest.mark.timeout(1200)
ENVIRONMENT = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}


def command(*words):
    """Return the exit code of `dpsumm deploy ...` and what it said, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "dpsumm", "deploy", *map(str, words)],
        env=ENVIRONMENT, capture_output=True, text=True, timeout=LONG, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def made(tmp_path):
    """A trial's folder, and what `init` printed."""
    make_data(tmp_path / "data", ["north"])
    SCHEMA.save(tmp_path / "schema.toml")
    folder = tmp_path / "trial"
    given = ("--data", tmp_path / "data", "--schema", tmp_path / "schema.toml")
    ports = Ports()
    code, said = command("init", folder, "--owner", "north", "--port", ports.first, *given)
    assert code == 0, said
    yield folder, said
    if (folder / STATE).exists():
        end_trial(folder)
    ports.close()


@pytest.fixture
def trial(made):
    return made[0]


def state(folder):
    return json.loads((folder / STATE).read_text())


def marked(mark):
    """Living processes that have a trial's mark, found without its list of them."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == mark and process.status() != "zombie":
                found.append(process)
        except psutil.Error:
            continue
    return found


def test_up_a_run_and_down(made):
    """The commands that `init` prints, word for word."""
    trial, printed = made
    lines = map(str.strip, printed.splitlines())
    up, run, down = [line for line in lines if line.startswith(("dpsumm deploy", "sh "))]
    up, down = (shlex.split(line)[2:] for line in (up, down))
    bystander = subprocess.Popen(["sleep", "3000"])
    try:
        code, said = command(*up)
        assert code == 0, said
        assert run in said
        kept = state(trial)
        assert set(kept["processes"]) == {"superlink", "register", "north"}
        # A number that somebody else has by now, and one that nobody has.
        kept["processes"]["other"] = (bystander.pid, time.time() - 1000)
        kept["processes"]["gone"] = (2**22 + 1, time.time())
        (trial / STATE).write_text(json.dumps(kept))
        code, said = command(*up)
        assert (code, "is up already" in said) == (2, True)
        path = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"
        words = [part.replace("size=100", "size=12") for part in shlex.split(run)]
        subprocess.run(words, env={**ENVIRONMENT, "PATH": path}, timeout=LONG, check=True,
                       capture_output=True)  # fmt: skip
        assert len(pl.read_parquet(trial / "curator" / "summary.parquet")) == 12
        assert (trial / "curator" / "report.html").is_file()
        logs = {path.name for path in (trial / LOGS).iterdir()}
        assert logs == {"superlink.log", "register.log", "north.log"}
        assert len(marked(kept["mark"])) >= 2
        code, said = command(*down)
        assert code == 0, said
        assert "processes ended" in said
        assert marked(kept["mark"]) == []
        assert bystander.poll() is None
        assert not (trial / STATE).exists()
    finally:
        bystander.kill()
        bystander.wait()


@pytest.mark.parametrize("until", ["superlink", "north"])
def test_interrupted_on_its_way_up_it_leaves_nothing(trial, until):
    started = subprocess.Popen(
        [sys.executable, "-m", "dpsumm", "deploy", "up", str(trial)],
        env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_for((trial / LOGS / f"{until}.log").exists, what=until)
    mark = state(trial)["mark"]
    started.send_signal(signal.SIGINT)
    _, said = started.communicate(timeout=LONG)
    assert started.returncode == 130
    assert said == "dpsumm: interrupted; what was started has been ended\n"
    assert marked(mark) == []
    assert not (trial / STATE).exists()


def test_what_keeps_it_from_starting_is_told_and_nothing_is_left(trial):
    port = int((trial / "curator" / "superlink.sh").read_text().split("--port ")[1])
    taken = subprocess.Popen([sys.executable, "-m", "http.server", str(port + 1)],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    try:
        wait_for(lambda: listening(port + 1), what="the other program")
        with pytest.raises(InvalidParameterError, match=f"port {port + 1} of 127.0.0.1 is taken"):
            start_trial(trial, print)
    finally:
        taken.kill()
        taken.wait()
    assert not (trial / STATE).exists()
    (trial / "curator" / "register.sh").write_text("exit 1\n")
    code, said = command("up", trial)
    assert code == 2
    assert "register ended, and all else was ended. See" in said
    assert not (trial / STATE).exists()
    assert not listening(port)
    with pytest.raises(InvalidParameterError, match="is not up"):
        end_trial(trial)
    with pytest.raises(InvalidParameterError, match="holds no trial"):
        start_trial(trial / "north", print)
