"""`dpsumm.learn` across silos, with labelled records at parties and public points at a curator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from dpsumm.basics.documents import read_text
from dpsumm.data.file import File
from dpsumm.data.inputs import read_owners
from dpsumm.data.schema import Schema
from dpsumm.ensemble.holder import Holder
from dpsumm.ensemble.once import Once
from dpsumm.ensemble.protocols import Protocol, Voting, protocol_said
from dpsumm.ensemble.silos import learn_silos
from dpsumm.ensemble.terms import Label, classes_of
from dpsumm.ensemble.trainer import LEAST_SHARD
from dpsumm.errors import InvalidParameterError
from dpsumm.exchange.across import Channel
from dpsumm.exchange.roles import Party
from dpsumm.exchange.saving import saving
from dpsumm.flower.settings import CuratorFile, NodeConfig, Public
from dpsumm.flower.tasks.task import Own, Task, Trial


@dataclass(frozen=True)
class Learn(Task):
    """A run of updates or votes. The curator is also the consumer's machine."""

    example = 'classes="no,yes" epsilon=1.0 purpose="trial"'

    classes: tuple[Label, ...]
    unit: str
    protocol: Protocol | None
    allow_weak_privacy: bool
    public_points: File
    validation: File | None
    schema: Path
    out: Path
    model: Path | None
    report: Path | None

    @classmethod
    def read(cls, public: Public, own: CuratorFile) -> Self:
        """Return the run."""
        get, mine = public.more, own.more
        validation = mine.optional_path("validation")
        made = cls(
            public,
            own,
            classes=classes_of(get("classes", str)),
            unit=get("unit", str),
            protocol=protocol_said(
                get("protocol", str) or None,
                records_per_owner=get("records-per-owner", int) or None,
                models_per_owner=get("models-per-owner", int),
                grid=get("grid", int),
                points_are=get("points-are", str),
            ),
            allow_weak_privacy=get("allow-weak-privacy", bool, False),
            public_points=mine.file(mine.input("public-points")),
            validation=None if validation is None else mine.file(validation),
            schema=mine.input("schema"),
            out=mine.output("out", (".parquet", ".csv")),
            model=mine.optional_output("model"),
            report=mine.report(),
        )
        if made.model is not None and isinstance(made.protocol, Voting) and made.protocol.hidden:
            raise InvalidParameterError(
                f"{mine.where}: leave model out: one of points that parties must not see may not "
                "be given away, and so is not written. Predictions are (out), keep them"
            )
        return made

    def run(self, channel: Channel) -> Sequence[str]:
        """Save predictions for the public points, the model and the report."""
        absent: list[str] = []
        model = learn_silos(
            channel,
            self.own.parties,
            self.public_points,
            schema=self.schema,
            classes=self.classes,
            epsilon=self.public.epsilon,
            delta=self.public.delta,
            protocol=self.protocol,
            validation=self.validation,
            unit=self.unit,
            ledger=self.own.ledger,
            run=self.own.run,
            seed=self.public.seed,
            allow_weak_privacy=self.allow_weak_privacy,
            max_bytes=self.public.max_bytes,
            on_absent=lambda name, why: absent.append(f"{name!r} counts as absent: {why}"),
        )
        with saving(self.out, self.own.run):
            model.save_predictions(self.out)
            if self.model is not None:
                model.save(self.model)
            if self.report is not None:
                model.report(self.report)
        return [*absent, *model.notes, f"{model.verdict.text}; predictions in {self.out}"]

    @classmethod
    def party(cls, node: NodeConfig) -> Party:
        """Return the party of the node's data file, which learns when it is asked."""
        get = node.more
        node.check_limited()
        data, schema = Path(get("data", str)).expanduser(), Path(get("schema", str)).expanduser()
        learner = get("learner", str, "logistic")
        least = get("records-per-shard", int, LEAST_SHARD)
        answers = get.optional_path("answers") or Path(f"{data}.answers")
        (table,) = read_owners({node.name: get.file(data)}, schema=Schema.read(schema))
        assert table.in_memory is not None  # a file's
        return Once(Holder(table.in_memory, learner, least=least), node.name, answers)

    @classmethod
    def trial(cls, owners: Sequence[str], data: Path, schema: Path) -> Trial:
        """Every party has ``<name>.csv``, the curator ``public.csv``. All have the schema."""
        if len(owners) < 2:
            raise InvalidParameterError("owners: at least two parties learn (usual: from 50)")
        Schema.read(schema)
        columns = Own("schema.toml", read_text(schema, "schema"))
        return Trial(
            {
                "public-points": data / "public.csv",
                "schema": columns,
                "out": "predictions.parquet",
                "model": "model.dpsumm",
                "report": "report.html",
            },
            {
                name: {
                    "data": data / f"{name}.csv",
                    "schema": columns,
                    "answers": Own("answers.db", ""),
                }
                for name in owners
            },
        )
