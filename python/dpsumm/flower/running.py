"""A trial on this machine, up and down: its processes, their logs, and which of them are its own.

``running.json`` in the trial's folder lists the started processes. A process is the trial's if that
file has its number and the time when it began, if it descends from such a one, or if its
environment has the mark that the file has. So no other process is ever ended, anyone who got a
number anew.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from dpsumm.basics.atomic import write_new, write_text
from dpsumm.basics.documents import read_json, read_toml
from dpsumm.errors import DpsummError, InvalidParameterError

STATE = "running.json"
LOGS = "logs"
MARK = "DPSUMM_TRIAL"
# What Flower's node says once it is known to the SuperLink.
_CONNECTED = b"SuperNode ID"
# Seconds until a process has done what it was started for, and until one that was asked to has
# ended. A busy machine loads Flower slowly.
_READY, _ENDED = 120.0, 15.0
# The time of birth as the system tells it moves with its clock, by less than this.
_SAME_BIRTH = 2.0


class TrialError(DpsummError):
    """A trial could not be started or ended. The message names the log to look at."""


def start_trial(folder: str | os.PathLike[str], told: Callable[[str], object]) -> Path:
    """Start the SuperLink and all SuperNodes of a trial, and return when all are connected.

    They go on after this process has ended, until `end_trial`. After a failure, or an interruption,
    no started process is left.

    Returns
    -------
    The directory of the logs.
    """
    folder = Path(folder).resolve()
    names, port = _trial(folder)
    mark = secrets.token_hex(16)
    try:
        write_new(folder / STATE, json.dumps({"mark": mark, "processes": {}}))
    except FileExistsError:
        raise InvalidParameterError(
            f"{folder} is up already, or was not ended. End it with: dpsumm deploy down {folder}"
        ) from None
    try:
        starting = _Starting(folder, mark)
        for i in range(len(names) + 1):
            if _listens(port + i):
                raise InvalidParameterError(
                    f"port {port + i} of 127.0.0.1 is taken by another program. End that one, or "
                    "make the trial in another folder with another port"
                )
        link = starting.begin("superlink", folder / "curator" / "superlink.sh")
        starting.wait("superlink", link, lambda: _listens(port))
        told(f"SuperLink on 127.0.0.1:{port}")
        register = starting.begin("register", folder / "curator" / "register.sh")
        starting.wait("register", register, lambda: register.poll() == 0)
        nodes = {
            name: (starting.size(name), starting.begin(name, folder / name / "supernode.sh"))
            for name in names
        }
        for name, (seen, node) in nodes.items():
            starting.wait(name, node, partial(starting.connected, name, seen))
            told(f"{name} is connected")
    except BaseException:
        _end(folder)
        raise
    return folder / LOGS


def end_trial(folder: str | os.PathLike[str]) -> int:
    """End what `start_trial` started in a folder, and nothing else. Return how many processes.

    A run that is going on is cut short and can be resumed under its name.
    """
    folder = Path(folder).resolve()
    if not (folder / STATE).is_file():
        raise InvalidParameterError(
            f"{folder} is not up: it has no {STATE}, which dpsumm deploy up writes"
        )
    return _end(folder)


class _Starting:
    """Processes of a trial as they start."""

    def __init__(self, folder: Path, mark: str) -> None:
        self._folder, self._mark = folder, mark
        self._begun: dict[str, tuple[int, float]] = {}
        (folder / LOGS).mkdir(mode=0o700, exist_ok=True)

    def begin(self, name: str, script: Path) -> subprocess.Popen[bytes]:
        """Start a script in a session of its own, which no Ctrl-C at this terminal reaches."""
        tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
        with self.log(name).open("ab") as log:
            process = subprocess.Popen(
                ["sh", str(script)],
                env={**os.environ, "PATH": tools, MARK: self._mark},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        with suppress(psutil.NoSuchProcess):
            self._begun[name] = process.pid, psutil.Process(process.pid).create_time()
        state = {"mark": self._mark, "processes": self._begun}
        write_text(self._folder / STATE, json.dumps(state, indent=1))
        return process

    def wait(self, name: str, process: subprocess.Popen[bytes], ready: Callable[[], bool]) -> None:
        """Wait until a process is ready."""
        end = time.monotonic() + _READY
        while not ready():
            # Looked at again: a process that has done all it should may have ended meanwhile.
            if (ended := process.poll() is not None and not ready()) or time.monotonic() > end:
                why = "ended" if ended else f"was not ready in {_READY:.0f} s"
                raise TrialError(f"{name} {why}, and all else was ended. See {self.log(name)}")
            time.sleep(0.1)

    def log(self, name: str) -> Path:
        """Return the log of a process."""
        return self._folder / LOGS / f"{name}.log"

    def size(self, name: str) -> int:
        """Return the bytes of a log that earlier starts wrote."""
        return self.log(name).stat().st_size if self.log(name).exists() else 0

    def connected(self, name: str, seen: int) -> bool:
        """Return whether a node has said so, after what earlier starts wrote."""
        return _CONNECTED in self.log(name).read_bytes()[seen:]


def _trial(folder: Path) -> tuple[tuple[str, ...], int]:
    """Return the nodes of a trial and the SuperLink's port. The nodes' ports follow it."""
    try:
        names = read_toml(folder / "curator" / "curator.toml", "trial")["owners"]
        home = read_toml(folder / "curator" / "flwr" / "config.toml", "trial")
        address = home["superlink"]["trial"]["address"]
        port = int(re.fullmatch(r"127\.0\.0\.1:(\d+)", address)[1])  # type: ignore[index]
    except (OSError, ValueError, LookupError, TypeError, DpsummError):
        raise InvalidParameterError(
            f"{folder} holds no trial. Make one with: dpsumm deploy init {folder}"
        ) from None
    return tuple(names), port


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _end(folder: Path) -> int:
    """End a trial's processes, first by asking. Return how many there were."""
    state = read_json(folder / STATE)
    found: set[psutil.Process] = set()
    for end in (psutil.Process.terminate, psutil.Process.kill):
        asked: set[psutil.Process] = set()
        limit = time.monotonic() + _ENDED
        # Looked for again: one that was asked a moment later may have started another.
        while (running := _own(state)) and time.monotonic() < limit:
            for process in running - asked:
                with suppress(psutil.NoSuchProcess):
                    end(process)
            asked |= running
            time.sleep(0.2)
        found |= asked
    if running:
        pids = ", ".join(str(process.pid) for process in running)
        raise TrialError(
            f"processes {pids} do not end. End them, then: dpsumm deploy down {folder}"
        )
    (folder / STATE).unlink()
    return len(found)


def _own(state: dict[str, Any]) -> set[psutil.Process]:
    """Return the living processes of a trial."""
    found = set()
    for pid, born in state["processes"].values():
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(pid)
            if abs(process.create_time() - born) < _SAME_BIRTH:
                found |= {process, *process.children(recursive=True)}
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.environ().get(MARK) == state["mark"]:
                found.add(process)
    return set(filter(_lives, found))


def _lives(process: psutil.Process) -> bool:
    # Who has ended stays in the list until somebody has asked how.
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
