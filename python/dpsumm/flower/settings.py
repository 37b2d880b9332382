"""What a run is told: public parameters, the curator's own file, an owner's node configuration.

Flower shows the run configuration to every owner, so it holds public parameters only. What is the
curator's alone (files, ledger, names of owners) is in a file that the environment names; an owner's
data are named by its own node, never by the run.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dpsumm.checks import check_installed
from dpsumm.data.files import FileFormat
from dpsumm.errors import InvalidParameterError
from dpsumm.summary.kernel import RBF
from dpsumm.summary.protocols import Auction, Protocol, Requests
from dpsumm.summary.protocols.choose import Name, choose_protocol

CURATOR_FILE = "DPSUMM_CURATOR"
SIMULATION = "DPSUMM_SIMULATION"


@dataclass(frozen=True)
class Public:
    """The run configuration, the same for all parties."""

    protocol: Protocol
    size: int
    epsilon: float
    delta: float
    kernel: RBF | None
    minimum: int
    timeout: float
    max_bytes: int
    seed: int | None

    @classmethod
    def read(cls, config: Mapping[str, Any]) -> Public:
        """Return the public parameters; zero, -1 or empty text stand for the default.

        Raises
        ------
        InvalidParameterError
            A parameter is missing, unknown, of a wrong type or out of range.
        """
        get = _Reader(config, "run configuration")
        size, requests = get("size", int), get("requests", str)
        spread = get("spread", float)
        try:
            name, rule = Name(get("protocol", str)), Requests(requests) if requests else None
        except ValueError:
            raise InvalidParameterError(
                "run configuration: protocol must be offers or auction, requests all, private or "
                "empty"
            ) from None
        protocol = choose_protocol(
            name,
            size,
            parsimony=get("parsimony", float) or None,
            weight=get("weight", float) or None,
            spread=None if spread == -1 else spread,
            features=get("features", int) or None,
            requests=rule,
            batch=get("batch", int) or None,
            epsilon_owners=get("epsilon-owners", float) or None,
        )
        spare = get("spare-rounds", int)
        if isinstance(protocol, Auction):
            protocol = replace(protocol, spare_rounds=spare)
        elif spare or not protocol.silos:
            raise InvalidParameterError(
                "run configuration: protocol must be offers or auction, and spare-rounds are the "
                "auction's"
            )
        gamma, seed = get("gamma", float), get("seed", int)
        timeout, megabytes = get("timeout", float), get("max-answer-mb", int)
        if not (timeout > 0 and megabytes > 0):
            raise InvalidParameterError(
                "run configuration: timeout (seconds) and max-answer-mb must be above 0"
            )
        public = cls(
            protocol=protocol,
            size=size,
            epsilon=get("epsilon", float),
            delta=get("delta", float),
            kernel=RBF(gamma) if gamma else None,
            minimum=get("min-owners", int),
            timeout=timeout,
            max_bytes=megabytes * 2**20,
            seed=None if seed < 0 else seed,
        )
        get.refuse_others()
        return public


@dataclass(frozen=True)
class CuratorFile:
    """The curator's own settings, from the TOML file that `DPSUMM_CURATOR` names."""

    target: Path
    schema: Path
    owners: tuple[str, ...]
    out: Path
    report: Path | None
    ledger: Path | None
    run: str | None
    claimed_names: bool
    file_format: FileFormat

    @classmethod
    def read(cls) -> CuratorFile:
        """Return the settings; paths are relative to the file.

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
        try:
            config = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError):
            raise InvalidParameterError(f"{path}: not a TOML file") from None
        owners = config.pop("owners", None)
        get = _Reader(config, str(path))
        if not isinstance(owners, list) or not all(isinstance(name, str) for name in owners):
            raise InvalidParameterError(f"{path}: owners must be a list of names")
        ledger, run, report = (get(key, str, "") for key in ("ledger", "run", "report"))
        if bool(ledger) != bool(run):
            raise InvalidParameterError(
                f"{path}: give ledger and run together; a run is resumed by its name"
            )
        settings = cls(
            target=path.parent / get("target", str),
            schema=path.parent / get("schema", str),
            owners=tuple(owners),
            out=path.parent / get("out", str),
            report=path.parent / report if report else None,
            ledger=path.parent / ledger if ledger else None,
            run=run or None,
            claimed_names=get("claimed-names", bool, False),
            file_format=_file_format(get),
        )
        get.refuse_others()
        # Before owners are waited for, and before the budget is spent.
        for name, file in (("target", settings.target), ("schema", settings.schema)):
            if not file.is_file():
                raise InvalidParameterError(f"{path}: {name}: there is no file {file}")
        if settings.out.suffix not in (".parquet", ".csv") or not settings.out.parent.is_dir():
            raise InvalidParameterError(
                f"{path}: out must be a .parquet or .csv file in an existing directory"
            )
        if settings.report is not None:
            if not settings.report.parent.is_dir():
                raise InvalidParameterError(f"{path}: report must be in an existing directory")
            check_installed("matplotlib", "report needs", "report")
        return settings


@dataclass(frozen=True)
class OwnerConfig:
    """An owner's node configuration: what it takes part with, and how much of it it sends."""

    name: str
    data: Path
    schema: Path
    stream: bool
    max_points: int
    max_bytes: int
    file_format: FileFormat

    @classmethod
    def read(cls, node: Mapping[str, Any]) -> OwnerConfig:
        """Return the configuration.

        In a simulation, where nodes have none, node i has the i-th data file of the directory that
        `DPSUMM_SIMULATION` names, and the schema.toml there.

        Raises
        ------
        InvalidParameterError
            A key is missing, unknown, or of a wrong type.
        """
        node = dict(node)
        if SIMULATION in os.environ:
            folder = Path(os.environ[SIMULATION])
            files = sorted(f for f in folder.iterdir() if f.is_file() and f.suffix != ".toml")
            data = files[int(node["partition-id"])]
            node = {
                "name": data.stem,
                "data": str(data),
                "schema": str(folder / "schema.toml"),
                "max-points": 2**31,
            }
        node = {key: value for key, value in node.items() if key not in _FLOWERS_OWN}
        get = _Reader(node, "node configuration")
        config = cls(
            name=get("name", str, "owner"),
            data=Path(get("data", str)).expanduser(),
            schema=Path(get("schema", str)).expanduser(),
            stream=get("stream", bool, False),
            max_points=get("max-points", int),
            max_bytes=get("max-request-mb", int, 64) * 2**20,
            file_format=_file_format(get),
        )
        get.refuse_others()
        return config


_FLOWERS_OWN = ("partition-id", "num-partitions")


def _file_format(get: _Reader) -> FileFormat:
    # What means a missing value is the schema's to say.
    return FileFormat(separator=get("separator", str, ","))


class _Reader:
    """Takes typed values out of a configuration; what is left over is a mistake."""

    def __init__(self, config: Mapping[str, Any], where: str) -> None:
        self._left, self._where = dict(config), where

    def __call__(self, key: str, kind: type, default: Any = None) -> Any:
        value = self._left.pop(key, default)
        if kind is float and type(value) is int:
            value = float(value)
        if type(value) is not kind:
            state = "is missing" if value is None else f"must be of type {kind.__name__}"
            raise InvalidParameterError(f"{self._where}: {key} {state}")
        return value

    def refuse_others(self) -> None:
        others = sorted(self._left)
        if others:
            raise InvalidParameterError(f"{self._where}: unknown key {others[0]!r}")
