"""Configuration of a trial on one machine: certificates, keys, start scripts, the Flower project.

The files are those that a real deployment has on its machines, one directory for each party. See
``docs/deploy.md``.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from dpsumm.basics.atomic import write_new
from dpsumm.errors import InvalidParameterError
from dpsumm.exchange.signatures import SigningKey
from dpsumm.flower.certificates import make_certificates, make_key_pair
from dpsumm.flower.policy_file import make_policy
from dpsumm.flower.project import write_project
from dpsumm.flower.settings import USUAL_TASK
from dpsumm.flower.tasks import task_of
from dpsumm.flower.tasks.task import Books, Own, Trial, Value
from dpsumm.privacy.ledger import Ledger

# Nothing is sent to Flower's makers.
_QUIET = "export FLWR_TELEMETRY_ENABLED=0 FLWR_DISABLE_UPDATE_CHECK=1"
_TAKEN = ("curator", "target", "app", "helper", "logs")
# What the curator of a trial says that the result is for.
PURPOSE = "trial"


def make_trial(
    folder: str | os.PathLike[str],
    owners: Sequence[str],
    *,
    data: str | os.PathLike[str],
    schema: str | os.PathLike[str],
    task: str = USUAL_TASK,
    port: int = 8000,
    records: int = 100_000,
) -> Path:
    """Write the files of a trial on this machine. Return the folder.

    ``app/`` is the Flower project. ``curator/`` gets a certificate authority, the SuperLink's
    certificate, the curator's settings, ``superlink.sh``, ``register.sh`` and ``run.sh``. Each
    owner's directory its key pair, the authority's certificate, its node configuration, its policy
    with the log that it counts in, and ``supernode.sh``. Private keys are readable by their user
    alone.

    Parameters
    ----------
    data
        Directory with each owner's ``<name>.csv``, and for the curator ``target.csv``
        (``public.csv`` to learn).
    schema
        The public schema, a TOML file. Every party gets a copy. For rows across columns a directory
        with each owner's ``<name>.toml``.
    records
        That may ever leave an owner, to all in all runs (``records`` of its policy).
    """
    folder, data = Path(folder).resolve(), Path(data).resolve()
    for name in owners:
        if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}", name) or name in _TAKEN:
            raise InvalidParameterError(
                f"owner {name!r}: use letters, digits, - and _, and not {', '.join(_TAKEN)}"
            )
    if len(set(owners)) < len(owners) or not owners:
        raise InvalidParameterError("owners must be distinct names, at least one")
    if records < 1:
        raise InvalidParameterError(f"records must be at least 1, got {records}")
    trial = task_of(task).trial(owners, data, Path(schema))
    if not 1 <= port <= 65_535 - len(trial.nodes):
        raise InvalidParameterError(f"port must be between 1 and {65_535 - len(trial.nodes)}")
    for settings in (*trial.nodes.values(), trial.curator):
        for path in settings.values():
            if isinstance(path, Path) and not path.is_file():
                raise InvalidParameterError(f"data: there is no file {path}")
    for name in (*trial.nodes, "curator", "app"):
        if (folder / name).exists():
            raise InvalidParameterError(f"{folder / name} exists already. Give another folder")
    write_project(folder / "app", task)
    consumer = _make_curator(folder / "curator", trial, port)
    authority = (folder / "curator" / "ca.pem").read_text()
    for i, (name, settings) in enumerate(trial.nodes.items(), 1):
        own = folder / name
        own.mkdir()
        make_key_pair(own)
        write_new(own / "ca.pem", authority)
        policy = make_policy(
            own,
            task,
            consumers={"trial": consumer},
            purposes=[PURPOSE],
            records=records,
        )
        write_new(
            own / "node.toml",
            _toml(own, {"name": name, "task": task, "policy": policy, **settings}),
        )
        _script(
            own / "supernode.sh",
            # Again whenever it ends: a killed node is refused until its last sign of life is a
            # minute old, and one whose SuperLink was started again ends as if all were well.
            f"export FLWR_HOME={shlex.quote(str(own / 'flwr'))}",
            "trap exit INT TERM",
            f"while :; do {shlex.quote(sys.executable)} -m dpsumm.flower.supernode "
            f"--superlink 127.0.0.1:{port} --root-certificates ca.pem "
            f"--auth-supernode-private-key key --node-config node.toml "
            f"--host 127.0.0.1 --port {port + i} || true; sleep 5; done",
        )
    return folder


def _make_curator(folder: Path, trial: Trial, port: int) -> str:
    """Write the curator's directory. Return the public key that its requests are signed with."""
    (folder / "flwr").mkdir(parents=True)
    make_certificates(folder)
    write_new(
        folder / "flwr" / "config.toml",
        f'[superlink]\ndefault = "trial"\n\n[superlink.trial]\naddress = "127.0.0.1:{port}"\n'
        f"root-certificates = {json.dumps(str(folder / 'ca.pem'))}\n",
    )
    consumer = SigningKey.make(folder / "consumer.key")
    common: dict[str, Value | list[str]] = {
        "owners": list(trial.nodes),
        "ledger": "books.db",
        "run": "trial-1",
        "key": "consumer.key",
    }
    write_new(folder / "curator.toml", _toml(folder, {**trial.curator, **common}))
    Ledger.create(folder / "books.db").close()
    home = f"export FLWR_HOME={shlex.quote(str(folder / 'flwr'))}"
    _script(
        folder / "superlink.sh",
        home,
        f"export DPSUMM_CURATOR={shlex.quote(str(folder / 'curator.toml'))}",
        f"exec {shlex.quote(sys.executable)} -m dpsumm.flower.superlink --enable-supernode-auth "
        "--disable-runtime-dependency-installation "
        "--ssl-ca-certfile ca.pem --ssl-certfile server.pem --ssl-keyfile server.key "
        f"--host 127.0.0.1 --port {port}",
    )
    register = [
        f"flwr supernode register ../{name}/key.pub trial --name {name}" for name in trial.nodes
    ]
    _script(folder / "register.sh", home, *register)
    _script(folder / "run.sh", home, 'exec flwr run ../app trial --stream "$@"')
    return consumer.public


def _toml(folder: Path, settings: Mapping[str, Value | list[str]]) -> str:
    """Return settings as TOML. Files of the party's own are written first."""
    lines = []
    for key, given in settings.items():
        value = given
        if isinstance(given, Own):
            write_new(folder / given.name, given.text)
            value = folder / given.name
        elif isinstance(given, Books):
            Ledger.create(folder / given.name, caps=given.caps).close()
            value = folder / given.name
        # JSON's texts, numbers and lists of them are TOML's.
        lines.append(f"{key} = {json.dumps(str(value) if isinstance(value, Path) else value)}\n")
    return "".join(lines)


def _script(path: Path, *lines: str) -> None:
    # The SuperLink's database holds owners' records for the time of a run.
    text = ["#!/bin/sh", "set -eu", "umask 077", 'cd "$(dirname "$0")"', _QUIET, *lines, ""]
    write_new(path, "\n".join(text))
