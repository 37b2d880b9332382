"""A real deployment on loopback: one SuperLink, SuperNodes with keys, the `flwr` command."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import numpy as np
import polars as pl
import psutil
from ports import Ports

import dpsumm
from dpsumm.basics.atomic import write_text
from dpsumm.flower.tasks.protocols import of_task
from dpsumm.flower.trial import make_trial

NAMES = ("east", "north", "west")
# Seconds in which anything is done by a machine that does three times as much beside it. Nothing
# waits for their end unless it fails.
LONG = 400
BIN = Path(sys.executable).parent
BOUNDS = {f"c{j}": (-6.0, 6.0) for j in range(3)}
SCHEMA = dpsumm.Schema(dpsumm.Column(name, bounds=pair) for name, pair in BOUNDS.items())


def wait_for(condition, seconds=LONG, what="it"):
    """Wait until a condition holds; fail if it never does."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{what} took longer than {seconds} s"
        time.sleep(0.1)


def write_csv(path, rows):
    header = ",".join(BOUNDS)
    np.savetxt(path, rows, delimiter=",", header=header, comments="", fmt="%.17g")


def make_data(folder, names, rows=60, seed=0):
    """Data of some owners and of a target, as files; returns them as arrays too."""
    rng = np.random.default_rng(seed)
    owners = {name: rng.normal(i - 1, 1, (rows, 3)) for i, name in enumerate(names)}
    target = rng.normal(1, 1, (200, 3))
    folder.mkdir(parents=True, exist_ok=True)
    for name, values in {**owners, "target": target}.items():
        write_csv(folder / f"{name}.csv", values)
    return owners, target


def make_columns(folder, schemas, names, n=400):
    """Files and schemas of owners of columns: the same people in as many orders."""
    rng = np.random.default_rng(0)
    people, smokes = np.arange(n), rng.integers(0, 2, n)
    parts = {
        "east": ({"smokes": smokes}, dpsumm.Column("smokes", categories=(0, 1))),
        "north": (
            {"income": 40 * smokes + 60 * rng.random(n)},
            dpsumm.Column("income", bounds=(0, 100)),
        ),
        "west": ({"owns": rng.integers(0, 2, n)}, dpsumm.Column("owns", categories=(0, 1))),
    }
    for path in (folder, schemas):
        path.mkdir()
    for i, name in enumerate(names):
        values, column = parts[name]
        frame = pl.DataFrame({"person": people, **values})
        frame.sample(fraction=1.0, shuffle=True, seed=i).write_csv(folder / f"{name}.csv")
        dpsumm.Schema([dpsumm.Column("person", "ignore"), column]).save(schemas / f"{name}.toml")


def allow_all(folder):
    """Write all protocols of the task into a trial's policies, also those that must be named."""
    for path in folder.glob("*/policy.toml"):
        allowed = json.dumps(
            of_task(tomllib.loads((path.parent / "node.toml").read_text())["task"])
        )
        path.write_text(re.sub("protocols = .*", f"protocols = {allowed}", path.read_text()))


class Deployment:
    """Processes of one machine; all of them end with the `with` block."""

    def __init__(self, folder, names, task="summarize", schema=None, **run):
        self.folder = folder
        self.ports = Ports()
        self.port = self.ports.first
        usual = {"size": 12} if task == "summarize" else {}
        self.run_config = {**usual, "timeout": 150.0, "purpose": "trial", **run}
        self._processes = []
        self.submit = []
        if schema is None:
            schema = folder / "schema.toml"
            SCHEMA.save(schema)
        make_trial(folder, names, port=self.port, data=folder / "data", schema=schema, task=task)
        allow_all(folder)
        curator = tomllib.loads((folder / "curator" / "curator.toml").read_text())
        self.names = tuple(curator["owners"])
        self.project = folder / "app"
        # The same owner, under watch, see there: an app that a node with a policy would not take.
        watched = Path(__file__).parent / "watched_owner.py"
        shutil.copy(watched, self.project / "dpsumm_silos" / "owner.py")
        for name in self.names:
            script = folder / name / "supernode.sh"
            own = f"{sys.executable} -m dpsumm.flower.supernode"
            assert own in script.read_text()
            script.write_text(script.read_text().replace(own, "flower-supernode"))
        self.environment = {
            **os.environ,
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "DEPLOYMENT": str(folder),
            "FLWR_HOME": str(folder / "flwr-home"),
            "FLWR_TELEMETRY_ENABLED": "0",
            "FLWR_DISABLE_UPDATE_CHECK": "1",
            "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.3",
            "DPSUMM_CURATOR": str(folder / "curator" / "curator.toml"),
            "OPENBLAS_NUM_THREADS": "1",
        }
        self.nodes = {}

    def __enter__(self):
        try:
            self.start_superlink()
            for name in self.names:
                self.register(name)
            for name in self.names:
                self.start_node(name)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in self._processes:
            kill(process)
        # Flower starts some in sessions of their own, which outlive a SuperLink that was killed.
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.environ().get("DEPLOYMENT") == self.environment["DEPLOYMENT"]:
                    process.kill()
        self.ports.close()

    def start(self, name, *command, **environment):
        log = (self.folder / f"{name}.log").open("ab")
        process = subprocess.Popen(
            [str(part) for part in command],
            env={**self.environment, **{k: str(v) for k, v in environment.items()}},
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        log.close()
        self._processes.append(process)
        return process

    def log(self, name):
        path = self.folder / f"{name}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def start_superlink(self):
        self.superlink = self.start("superlink", "bash", self.folder / "curator" / "superlink.sh")
        wait_for(lambda: listening(self.port), what="the SuperLink")

    def start_node(self, name):
        script = self.folder / name / "supernode.sh"
        self.nodes[name] = self.start(
            name, "bash", script, WATCHED=self.folder / f"{name}.received"
        )

    def kill_node(self, name):
        """Kill a node and all that it started, as when its machine dies."""
        family = psutil.Process(self.nodes[name].pid).children(recursive=True)
        kill(self.nodes[name])
        for process in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()

    def restart_node(self, name):
        stop(self.nodes[name])
        self.start_node(name)

    @contextlib.contextmanager
    def misbehaving(self, **faults):
        """Let owners misbehave in every exchange after the description, or hang until the end.

        Within a `with` in which an owner hangs another one may say how it goes on.
        """
        files = {self.folder / f"{name}.fault": fault for name, fault in faults.items()}
        for path, fault in files.items():
            write_text(path, fault)
        try:
            yield
        finally:
            for path in files:
                path.unlink(missing_ok=True)

    def flwr(self, *arguments, check=True):
        done = subprocess.run(
            [str(BIN / "flwr"), *map(str, arguments)],
            env={**self.environment, "FLWR_HOME": str(self.folder / "curator" / "flwr")},
            cwd=self.project,
            capture_output=True,
            text=True,
            timeout=LONG,
            check=False,
        )
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done

    def register(self, name):
        public = self.folder / name / "key.pub"
        self.flwr("supernode", "register", public, "trial", "--name", name)

    def begin(self, **more):
        """Start a run; return its id."""
        config = {**self.run_config, **more}
        text = " ".join(f"{key}={json.dumps(value)}" for key, value in config.items())
        done = self.flwr("run", ".", "trial", "--format", "json", "-c", text, *self.submit)
        return json.loads(done.stdout[done.stdout.index("{") :])["run-id"]

    def logs(self, run):
        """What the curator's process has said."""
        return self.flwr("log", run, "trial", "--show").stdout

    def status(self, run):
        done = self.flwr("list", "trial", "--run-id", run, "--format", "json")
        found = json.loads(done.stdout[done.stdout.index("{") :])["runs"][0]
        return found["status"]

    def finish(self, run, seconds=LONG):
        """Wait for the end of a run; return its status."""

        # The log first: asking takes seconds of a processor.
        wait_for(
            lambda: (
                re.search(rf"Finished task \d+ of run {run}\b", self.log("superlink"))
                or (time.sleep(0.2) or False)
            ),
            seconds,
            f"run {run}",
        )
        return self.status(run)

    def processes(self, word, below=None):
        """Processes of this deployment whose command line has a word."""
        roots = [below] if below else [p for p in self._processes if p.poll() is None]
        found = []
        for root in roots:
            try:
                family = psutil.Process(root.pid)
                found += [
                    p
                    for p in [family, *family.children(recursive=True)]
                    if any(word in part for part in p.cmdline())
                ]
            except psutil.NoSuchProcess:
                continue
        return found


def listening(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def stop(process):
    """Stop a process as an administrator does: it signs off, and may come back at once."""
    root = psutil.Process(process.pid)
    family = [root, *root.children(recursive=True)]
    os.killpg(process.pid, signal.SIGTERM)
    psutil.wait_procs(family, timeout=60)
    kill(process)


def kill(process):
    """Kill a process that a deployment started, and all it started itself."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(10)
