"""An owner's rules for messages that leave its machine: receivers, purposes and limits."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpsumm.basics.checks import is_whole
from dpsumm.basics.documents import read_toml
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy.receipts import Sent

# An Ed25519 key in OpenSSH's format: its kind and 32 bytes, always of this length.
_KEY = re.compile(r"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI[A-Za-z0-9+/]{43}(?: .*)?")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_MAX_TEXT = 200


@dataclass(frozen=True)
class Consumer:
    """Who may ask, by the key that signs its requests.

    Attributes
    ----------
    key
        Public key, ``ssh-ed25519 AAAA...``, without a comment.
    records
        That may ever leave to it, in all its runs. None for as many as to all.
    """

    name: str
    key: str
    purposes: frozenset[str]
    records: int | None


@dataclass(frozen=True)
class Policy:
    """The rules of one node.

    Attributes
    ----------
    version, package
        Of dpsumm: its version, here and at who asks, and the digest of the files installed here
        (`dpsumm.privacy.package`).
    records
        That may ever leave, to all consumers in all runs.
    receipts, key
        The log (`dpsumm.privacy.receipts`) and the private key that seals its lines.
    """

    version: str
    package: str
    protocols: frozenset[str]
    records: int
    per_day: int | None
    consumers: tuple[Consumer, ...]
    receipts: Path
    key: Path

    @classmethod
    def read(cls, path: str | os.PathLike[str], known: Collection[str]) -> Policy:
        """Return the rules of a TOML file. Its paths are relative to the file."""
        path = Path(path)
        get = _Keys(read_toml(path, "policy"), str(path))
        protocols = get.texts("protocols")
        for name in protocols:
            if name not in known:
                get.refuse("protocols", f"must be some of {', '.join(sorted(known))}, got {name!r}")
        consumers = get("consumers", dict)
        if not consumers:
            get.refuse("consumers", "must name who may ask, each in a table [consumers.NAME]")
        made = cls(
            version=get.text("version"),
            package=get("package", str),
            protocols=protocols,
            records=get.count("records"),
            per_day=get.optional_count("records-per-day"),
            consumers=tuple(
                _consumer(name, given, f"{path}: consumers.{name}")
                for name, given in consumers.items()
            ),
            receipts=path.parent / get.text("receipts"),
            key=path.parent / get.text("key"),
        )
        if not _DIGEST.fullmatch(made.package):
            get.refuse("package", "must be the 64 digits that `dpsumm node show` prints")
        if len({consumer.key for consumer in made.consumers}) < len(made.consumers):
            get.refuse("consumers", "two have one key; give each its own")
        get.refuse_others()
        return made

    def consumer(self, key: str) -> Consumer | None:
        """Return the consumer of a public key, if it may ask."""
        return next((one for one in self.consumers if one.key == key), None)

    def purposes(self, consumer: str) -> frozenset[str]:
        """Return the purposes that a consumer may name, by its name."""
        return self._named(consumer).purposes

    def too_many(self, consumer: str, sent: Sent, today: int) -> str | None:
        """Return which limit is passed when that many records have left; None if none is.

        No limit goes by a run's name, which the consumer chooses; `today` are those that have left
        to the consumer within 24 hours. For the owner alone, since one consumer need not know the
        total of all.
        """
        own = self._named(consumer).records
        for name, most, count in (
            ("records", self.records, sent.ever),
            (f"consumers.{consumer}.records", own, sent.consumer),
            ("records-per-day", self.per_day, today),
        ):
            if most is not None and count > most:
                return f"{name} would be {count}, at most {most}"
        return None

    def _named(self, consumer: str) -> Consumer:
        return next(one for one in self.consumers if one.name == consumer)


class _Keys:
    """Takes keys out of a table of the file. What is left over is a mistake."""

    def __init__(self, table: Mapping[str, Any], where: str) -> None:
        self._left, self._where = dict(table), where

    def __call__(self, key: str, kind: type) -> Any:
        value = self._left.pop(key, None)
        if type(value) is not kind:
            what = {"str": "a text", "list": "a list of texts", "dict": "a table"}[kind.__name__]
            self.refuse(key, "is missing" if value is None else f"must be {what}")
        return value

    def text(self, key: str) -> str:
        value: str = self(key, str)
        if not 0 < len(value.strip()) <= _MAX_TEXT:
            self.refuse(key, f"must be a text of 1 to {_MAX_TEXT} characters")
        return value

    def texts(self, key: str) -> frozenset[str]:
        values = self(key, list)
        if not values or not all(
            isinstance(value, str) and 0 < len(value.strip()) <= _MAX_TEXT for value in values
        ):
            self.refuse(key, f"must be a list of texts of 1 to {_MAX_TEXT} characters, not empty")
        return frozenset(values)

    def optional_count(self, key: str) -> int | None:
        return self.count(key) if key in self._left else None

    def count(self, key: str) -> int:
        value = self._left.pop(key, None)
        if not is_whole(value) or not 0 <= value < 2**62:
            state = "is missing" if value is None else f"must be a whole number >= 0, got {value!r}"
            self.refuse(key, state)
        return int(value)

    def refuse(self, key: str, why: str) -> None:
        raise InvalidParameterError(f"{self._where}: {key} {why}")

    def refuse_others(self) -> None:
        if self._left:
            self.refuse(min(self._left), "is no key of a policy; correct or remove it")


def _consumer(name: str, given: object, where: str) -> Consumer:
    if not isinstance(given, dict) or len(name) > _MAX_TEXT or not name.strip():
        raise InvalidParameterError(f"{where} must be a table with a name of 1 to {_MAX_TEXT}")
    get = _Keys(given, where)
    key = get.text("key")
    if not _KEY.fullmatch(key):
        get.refuse("key", "must be an Ed25519 public key, ssh-ed25519 AAAA...")
    made = Consumer(
        name=name,
        key=" ".join(key.split()[:2]),
        purposes=get.texts("purposes"),
        records=get.optional_count("records"),
    )
    get.refuse_others()
    return made
