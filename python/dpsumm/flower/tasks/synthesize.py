"""`dpsumm.synthesize` across silos: owners of columns, a helper without data, a coordinator."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from dpsumm.basics.documents import read_text, read_toml
from dpsumm.data.schema import Schema
from dpsumm.errors import InvalidParameterError
from dpsumm.exchange.across import Channel
from dpsumm.exchange.roles import Party
from dpsumm.flower.settings import CuratorFile, NodeConfig, Public, Reader
from dpsumm.flower.tasks.task import Books, Own, Task, Trial, Value
from dpsumm.vertical.helper import Helper
from dpsumm.vertical.keys import SECRET_BYTES, key_of, read_key
from dpsumm.vertical.layout import HELPER
from dpsumm.vertical.levels import bins_of
from dpsumm.vertical.silos import SiloOwner, synthesize_silos
from dpsumm.vertical.tables import Tables, pairs_of

# What an owner's books of a trial allow in all runs together.
_CAP = (3.0, 1e-4)


@dataclass(frozen=True)
class Synthesize(Task):
    """A run of Tables, with pads that the helper deals."""

    example = 'epsilon=1.0 purpose="trial"'

    protocol: Tables
    schemas: dict[str, Path]
    label: str | None
    ids: str | None
    rows: int | None
    allow_weak_privacy: bool
    out: Path
    report: Path | None

    @classmethod
    def read(cls, public: Public, own: CuratorFile) -> Self:
        """Return the run. Zero, -1 or empty text stand for the default."""
        get, mine = public.more, own.more
        if public.seed is not None:
            raise InvalidParameterError(
                "run configuration: seed: owners elsewhere draw their own noise. Leave it at -1"
            )
        owners = [name for name in own.parties if name != HELPER]
        schemas = {name: mine.input(f"schema-{name}") for name in owners}
        alone = len({Schema.read(path).fingerprint for path in schemas.values()}) == 1
        if own.parties.count(HELPER) != (0 if alone else 1):
            raise InvalidParameterError(
                f"{mine.where}: owners must name the owners and, once, {HELPER!r}. Owners of the "
                f"same columns, whose schemas are equal, need no {HELPER}"
            )
        return cls(
            public,
            own,
            _protocol(get),
            schemas=schemas,
            label=get("label", str, "") or None,
            ids=get("ids", str, "") or None,
            rows=get("rows", int, 0) or None,
            allow_weak_privacy=get("allow-weak-privacy", bool, False),
            out=mine.output("out", (".parquet", ".csv")),
            report=mine.report(),
        )

    def run(self, channel: Channel) -> Sequence[str]:
        """Save the rows and the report."""
        journal = None if self.own.ledger is None else f"{self.own.ledger}.answers"
        synthetic = synthesize_silos(
            channel,
            self.schemas,
            epsilon=self.public.epsilon,
            delta=self.public.delta,
            label=self.label,
            protocol=self.protocol,
            ids=self.ids,
            journal=journal,
            run=self.own.run,
            max_bytes=self.public.max_bytes,
            out=self.out,
            rows=self.rows,
            report=self.report,
            allow_weak_privacy=self.allow_weak_privacy,
        )
        rows = self.rows or synthetic.n_records
        return [*synthetic.notes, f"{rows} rows in {self.out}: {synthetic.verdict}"]

    @classmethod
    def party(cls, node: NodeConfig) -> Party:
        """Return the helper on a node with ``secrets``, else the owner of the node's data file."""
        get = node.more
        if (path := get.optional_path("secrets")) is not None:
            return Helper(_secrets(path))
        return SiloOwner(
            node.name,
            get.file(Path(get("data", str)).expanduser()),
            Schema.read(Path(get("schema", str)).expanduser()),
            ledger=Path(get("ledger", str)).expanduser(),
            secret=_key(get, "secret"),
            alignment=_key(get, "alignment"),
        )

    @classmethod
    def check(cls, node: NodeConfig) -> None:
        """Look at keys, schema and the ledger's cap. No data are read."""
        cls.party(node)

    @classmethod
    def trial(cls, owners: Sequence[str], data: Path, schema: Path) -> Trial:
        """Every owner has ``<name>.csv`` and, in a directory of schemas, ``<name>.toml``.

        A file is the schema of all owners, which then hold the same columns.
        """
        if HELPER in owners:
            raise InvalidParameterError(
                f"owner: the name {HELPER!r} is the helper's, who is added. Rename the owner"
            )
        if not schema.is_dir():
            return cls._trial_of_same_columns(owners, data, schema)
        alignment = Own("alignment.key", secrets.token_hex(SECRET_BYTES) + "\n")
        columns, keys = {}, []
        nodes: dict[str, dict[str, Value]] = {}
        for name in owners:
            path = schema / f"{name}.toml"
            Schema.read(path)
            columns[name] = read_text(path, "schemas")
            key = secrets.token_hex(SECRET_BYTES)
            keys.append(f'{name} = "{key}"\n')
            nodes[name] = {
                "data": data / f"{name}.csv",
                "schema": Own("schema.toml", columns[name]),
                "ledger": Books("books.db", {"records": _CAP}),
                "secret": Own("helper.key", f"{key}\n"),
                "alignment": alignment,
            }
        return Trial(
            {
                **{f"schema-{n}": Own(f"{n}.toml", text) for n, text in columns.items()},
                "out": "synthetic.parquet",
                "report": "report.html",
            },
            {**nodes, HELPER: {"secrets": Own("secrets.toml", "".join(keys))}},
        )

    @classmethod
    def _trial_of_same_columns(cls, owners: Sequence[str], data: Path, schema: Path) -> Trial:
        Schema.read(schema)
        text = read_text(schema, "schema")
        nodes: dict[str, dict[str, Value]] = {
            name: {
                "data": data / f"{name}.csv",
                "schema": Own("schema.toml", text),
                "ledger": Books("books.db", {"records": _CAP}),
            }
            for name in owners
        }
        schemas = {f"schema-{name}": Own(f"{name}.toml", text) for name in owners}
        return Trial({**schemas, "out": "synthetic.parquet", "report": "report.html"}, nodes)


def _key(get: Reader, name: str) -> bytes | None:
    path = get.optional_path(name)
    return None if path is None else read_key(path)


def _protocol(get: Reader) -> Tables:
    bins, pairs = (
        [part.strip() for part in get(key, str, "").split(";") if part.strip()]
        for key in ("bins", "pairs")
    )
    keep = get("keep", float, -1.0)
    given = {
        "bins": bins_of(bins) if bins else None,
        "pairs": pairs_of(pairs),
        "first": get("first", float, 0.0) or None,
        "to_label": get("to-label", float, 0.0) or None,
        "keep": None if keep < 0 else keep,
        "components": get("components", int, 0) or None,
        "rows": get("chunk", int, 0) or None,
    }
    return Tables(**{key: value for key, value in given.items() if value is not None})  # type: ignore[arg-type]


def _secrets(path: Path) -> dict[str, bytes]:
    """Return the helper's keys by owner."""
    found = {}
    for name, text in read_toml(path, "secrets").items():
        try:
            found[name] = key_of(text)
        except (ValueError, AttributeError):
            raise InvalidParameterError(
                f"{path}: {name}: not a key of {2 * SECRET_BYTES} hexadecimal digits"
            ) from None
    return found
