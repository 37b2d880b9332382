"""Settings of a run, from public parameters, the curator's own file and a node's own.

Flower shows the run configuration to every party, so it holds public parameters only. The curator's
own settings (files, ledger, names of parties) are in a file that the environment names. A party's
data are named by its own node, never by the run. Here stands what all subsystems read alike. What
is left over (`more`) is for the subsystem (`dpsumm.flower.tasks`).
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpsumm.basics.checks import check_installed
from dpsumm.basics.documents import read_toml
from dpsumm.basics.names import check_name
from dpsumm.data.file import File, FileFormat
from dpsumm.errors import InvalidParameterError

CURATOR_FILE = "DPSUMM_CURATOR"
SIMULATION = "DPSUMM_SIMULATION"
# What a configuration without the key means.
USUAL_TASK = "summarize"
_FLOWERS_OWN = ("partition-id", "num-partitions")


class Reader:
    """Takes typed values out of a configuration. A key that is left over is a mistake.

    Parameters
    ----------
    config
        Keys and values.
    where
        What messages call it.
    folder
        What its paths are relative to.
    """

    def __init__(self, config: Mapping[str, Any], where: str, folder: Path | None = None) -> None:
        self._left, self.where, self._folder = dict(config), where, folder or Path()

    def __call__(self, key: str, kind: type, default: Any = None) -> Any:
        """Return a value of a type. The default, if it is not None, for a missing one."""
        value = self._left.pop(key, default)
        if kind is float and type(value) is int:
            value = float(value)
        if type(value) is not kind:
            state = "is missing" if value is None else f"must be of type {kind.__name__}"
            raise InvalidParameterError(f"{self.where}: {key} {state}")
        return value

    def has(self, key: str) -> bool:
        """Return whether there is a value that was not taken yet."""
        return key in self._left

    def names(self, key: str) -> tuple[str, ...]:
        """Return a list of texts."""
        value = self(key, list)
        if not all(isinstance(name, str) for name in value):
            raise InvalidParameterError(f"{self.where}: {key} must be a list of names")
        return tuple(value)

    def input(self, key: str) -> Path:
        """Return a file that exists."""
        path = self._path(self(key, str))
        if not path.is_file():
            raise InvalidParameterError(f"{self.where}: {key}: there is no file {path}")
        return path

    def output(self, key: str, suffixes: tuple[str, ...]) -> Path:
        """Return a file to be written in a directory that exists."""
        path = self._path(self(key, str))
        if path.suffix not in suffixes or not path.parent.is_dir():
            raise InvalidParameterError(
                f"{self.where}: {key} must be a {' or '.join(suffixes)} file in an existing "
                "directory"
            )
        return path

    def optional_output(self, key: str) -> Path | None:
        """Return a file to be written in a directory that exists, if one is named."""
        path = self.optional_path(key)
        if path is not None and not path.parent.is_dir():
            raise InvalidParameterError(f"{self.where}: {key} must be in an existing directory")
        return path

    def optional_path(self, key: str) -> Path | None:
        """Return a path, None for a missing one or empty text."""
        given = self(key, str, "")
        return self._path(given) if given else None

    def report(self) -> Path | None:
        """Return where the report goes, if there is to be one and it can be made."""
        path = self.optional_output("report")
        if path is not None:
            check_installed("matplotlib", "report needs", "report")
        return path

    def file(self, path: Path) -> File:
        """Return a file and how it is read. The schema has the marks of missing values."""
        try:
            form = FileFormat(
                separator=self("separator", str, ","),
                encoding=self("encoding", str, "utf-8"),
                decimal=self("decimal", str, "."),
                kind=self("kind", str, "") or None,
            )
        except InvalidParameterError as error:
            raise InvalidParameterError(f"{self.where}: {error}") from None
        return File(path, form)

    def refuse_others(self) -> None:
        """Refuse unknown keys."""
        if others := sorted(self._left):
            raise InvalidParameterError(f"{self.where}: unknown key {others[0]!r}")

    def _path(self, text: str) -> Path:
        return self._folder / Path(text).expanduser()


@dataclass(frozen=True)
class Public:
    """The run configuration, the same for all parties.

    Attributes
    ----------
    task
        The subsystem, see `dpsumm.flower.tasks`.
    purpose
        What the result is for, as signed requests claim it. Empty where none are signed.
    epsilon, delta
        Of the run.
    timeout
        Seconds, for each exchange.
    max_bytes
        Of an answer.
    seed
        For tests.
    more
        The subsystem's own parameters.
    """

    task: str
    purpose: str
    epsilon: float
    delta: float
    timeout: float
    max_bytes: int
    seed: int | None
    more: Reader

    @classmethod
    def read(cls, config: Mapping[str, Any]) -> Public:
        """Return the public parameters.

        Raises
        ------
        InvalidParameterError
            A parameter is missing, of a wrong type or out of range.
        """
        get = Reader(config, "run configuration")
        seed, timeout, megabytes = (
            get("seed", int),
            get("timeout", float),
            get("max-answer-mb", int),
        )
        if not (0 < timeout < math.inf and megabytes > 0):
            raise InvalidParameterError(
                "run configuration: timeout (seconds) and max-answer-mb must be above 0, and finite"
            )
        return cls(
            task=get("task", str, USUAL_TASK),
            purpose=get("purpose", str, ""),
            epsilon=get("epsilon", float),
            delta=get("delta", float),
            timeout=timeout,
            max_bytes=megabytes * 2**20,
            seed=None if seed < 0 else seed,
            more=get,
        )


@dataclass(frozen=True)
class CuratorFile:
    """The curator's own settings, from the TOML file that `DPSUMM_CURATOR` names.

    Attributes
    ----------
    parties
        Names of all parties of the run, fixed before it.
    ledger, run
        The curator's books and this run's name in them. Both or none.
    key
        File of the private key that signs requests, for owners whose policies name consumers.
        None for unsigned requests.
    claimed_names
        Whether the names that nodes give themselves are believed: in simulations.
    more
        The subsystem's own settings. Its paths are relative to the file.
    """

    parties: tuple[str, ...]
    ledger: Path | None
    run: str | None
    key: Path | None
    claimed_names: bool
    more: Reader

    @classmethod
    def read(cls) -> CuratorFile:
        """Return the settings.

        Raises
        ------
        InvalidParameterError
            The variable is not set, or the file cannot be used.
        """
        path = Path(os.environ.get(CURATOR_FILE, ""))
        if not path.is_file():
            raise InvalidParameterError(
                f"set {CURATOR_FILE} to the curator's TOML file in the environment of the SuperLink"
            )
        get = Reader(read_toml(path, "settings"), str(path), path.parent)
        ledger, run = get.optional_path("ledger"), get("run", str, "")
        if run:
            check_name(run, f"{path}: run")
        if bool(ledger) != bool(run):
            raise InvalidParameterError(
                f"{path}: give ledger and run together. A run is resumed by its name"
            )
        return cls(
            parties=get.names("owners"),
            ledger=ledger,
            run=run or None,
            key=get.input("key") if get.has("key") else None,
            claimed_names=get("claimed-names", bool, False),
            more=get,
        )


@dataclass(frozen=True)
class NodeConfig:
    """A node's configuration, with its task, its data and its limits.

    Attributes
    ----------
    task
        The subsystem that it takes part in. It answers no run of another one.
    name
        The party's name. Believed in simulations only.
    policy
        File of its owner's rules (`dpsumm.privacy.policy`); None: it has none.
    max_points
        Without a policy, most records that it sends in an exchange, with all before it in the run.
        None without a limit.
    max_bytes
        Of all requests together.
    more
        The subsystem's own settings.
    """

    task: str
    name: str
    policy: Path | None
    max_points: int | None
    max_bytes: int
    more: Reader

    def check_limited(self) -> None:
        """Refuse a node that lets any number of records leave."""
        if self.policy is None and self.max_points is None:
            raise InvalidParameterError(
                f"{self.more.where}: policy is missing: the file of what may leave this machine, "
                "see dpsumm node --help. Without one, max-points bounds what leaves in a run, and "
                "nothing what leaves in all of them"
            )

    @classmethod
    def read(cls, node: Mapping[str, Any], task: str = USUAL_TASK) -> NodeConfig:
        """Return the configuration of a node that is asked in a run of a task.

        In a simulation, where nodes have none, node i has the i-th data file of the directory that
        `DPSUMM_SIMULATION` names, the schema.toml there, and the rest from a node.toml there.

        Raises
        ------
        InvalidParameterError
            A key is missing or of a wrong type, or the node takes part in something else.
        """
        node = {key: value for key, value in settings_of(node).items() if key not in _FLOWERS_OWN}
        get = Reader(node, "node configuration")
        own = get("task", str, USUAL_TASK)
        if own != task:
            raise InvalidParameterError(
                f"node configuration: this node takes part in {own!r}, the run is for {task!r}"
            )
        most, policy = get("max-points", int, -1), get.optional_path("policy")
        if policy is not None and most >= 0:
            raise InvalidParameterError(
                "node configuration: max-points is for nodes without a policy. Remove it, and say "
                "records in the policy"
            )
        return cls(
            task=own,
            name=get("name", str, "owner"),
            policy=policy,
            max_points=None if most < 0 else most,
            max_bytes=get("max-request-mb", int, 64) * 2**20,
            more=get,
        )


def settings_of(node: Mapping[str, Any]) -> dict[str, Any]:
    """Return a node's keys and values. In a simulation those that its number stands for."""
    if SIMULATION not in os.environ:
        return dict(node)
    folder = Path(os.environ[SIMULATION])
    others = (".toml", ".answers", ".lock")
    files = sorted(f for f in folder.iterdir() if f.is_file() and f.suffix not in others)
    data, common = files[int(node["partition-id"])], folder / "node.toml"
    return {
        "name": data.stem,
        "data": str(data),
        "schema": str(folder / "schema.toml"),
        **({"max-points": 2**31} if not common.exists() else read_toml(common, "settings")),
    }
