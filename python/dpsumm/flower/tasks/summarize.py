"""`dpsumm.summarize` across silos: owners of points, a curator with the target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from dpsumm.basics.documents import read_text
from dpsumm.data.file import File
from dpsumm.data.inputs import read_owners
from dpsumm.data.schema import Schema
from dpsumm.data.stream import Stream
from dpsumm.errors import InvalidParameterError
from dpsumm.exchange.across import Channel
from dpsumm.exchange.roles import Party
from dpsumm.flower.settings import CuratorFile, NodeConfig, Public, Reader
from dpsumm.flower.tasks.task import Own, Task, Trial
from dpsumm.summary.kernel import RBF
from dpsumm.summary.protocols import Protocol
from dpsumm.summary.protocols.choose import choose_protocol
from dpsumm.summary.protocols.owner import Owner
from dpsumm.summary.silos import PRECISION, summarize_silos
from dpsumm.summary.words import Name


@dataclass(frozen=True)
class Summarize(Task):
    """A run of Offers or of the Auction."""

    example = 'size=100 epsilon=1.0 purpose="trial"'

    protocol: Protocol
    size: int
    kernel: RBF | None
    drop_target_copies: bool
    allow_weak_privacy: bool
    minimum: int
    target: File
    schema: Path
    out: Path
    report: Path | None

    @classmethod
    def read(cls, public: Public, own: CuratorFile) -> Self:
        """Return the run. Zero, -1 or empty text stand for the default."""
        get, mine = public.more, own.more
        size = get("size", int)
        protocol = _protocol(get, size)
        gamma = get("gamma", float)
        return cls(
            public,
            own,
            protocol,
            size,
            kernel=RBF(gamma) if gamma else None,
            drop_target_copies=get("drop-target-copies", bool, False),
            allow_weak_privacy=get("allow-weak-privacy", bool, False),
            minimum=get("min-owners", int),
            target=mine.file(mine.input("target")),
            schema=mine.input("schema"),
            out=mine.output("out", (".parquet", ".csv")),
            report=mine.report(),
        )

    def run(self, channel: Channel) -> Sequence[str]:
        """Save the summary and the report."""
        summary = summarize_silos(
            channel,
            self.own.parties,
            self.target,
            schema=self.schema,
            size=self.size,
            epsilon=self.public.epsilon,
            delta=self.public.delta,
            protocol=self.protocol,
            kernel=self.kernel,
            ledger=self.own.ledger,
            run=self.own.run,
            seed=self.public.seed,
            allow_weak_privacy=self.allow_weak_privacy,
            drop_target_copies=self.drop_target_copies,
            minimum=self.minimum,
            max_bytes=self.public.max_bytes,
            out=self.out,
            report=self.report,
        )
        return [*summary.notes, f"{len(summary.points)} points in {self.out}"]

    @classmethod
    def party(cls, node: NodeConfig) -> Party:
        """Return the owner of the node's data file."""
        get = node.more
        node.check_limited()
        data = get.file(Path(get("data", str)).expanduser())
        schema = Path(get("schema", str)).expanduser()
        source = Stream(data.path) if get("stream", bool, False) else data
        (table,) = read_owners({node.name: source}, schema=Schema.read(schema))
        return Owner(table.astype(PRECISION))

    @classmethod
    def trial(cls, owners: Sequence[str], data: Path, schema: Path) -> Trial:
        """Every owner has ``<name>.csv``, the curator ``target.csv``. All have the schema."""
        Schema.read(schema)
        columns = Own("schema.toml", read_text(schema, "schema"))
        return Trial(
            {
                "target": data / "target.csv",
                "schema": columns,
                "out": "summary.parquet",
                "report": "report.html",
            },
            {name: {"data": data / f"{name}.csv", "schema": columns} for name in owners},
        )


def _protocol(get: Reader, size: int) -> Protocol:
    spread = get("spread", float)
    try:
        name = Name(get("protocol", str))
    except ValueError:
        raise InvalidParameterError(
            "run configuration: protocol must be offers or auction"
        ) from None
    chosen = choose_protocol(
        name,
        size,
        reads_per_record=get("reads-per-record", float) or None,
        spread=None if spread == -1 else spread,
        features=get("features", str) or None,
        n_features=get("n-features", int) or None,
        requests=get("requests", str) or None,
        batch=get("batch", int) or None,
        epsilon_owners=get("epsilon-owners", float) or None,
        spare_rounds=get("spare-rounds", int) or None,
    )
    if not chosen.silos:
        raise InvalidParameterError("run configuration: protocol must be offers or auction")
    return chosen
