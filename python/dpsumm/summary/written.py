"""A summary as a data frame, as what its file says of it, and as a notebook shows it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpsumm.basics.checks import counted
from dpsumm.data.frame import Backend, backend_of, framed
from dpsumm.privacy.facts import facts
from dpsumm.privacy.record import Books, RunRecord
from dpsumm.report.notes import notebook_notes
from dpsumm.report.numbers import round_up
from dpsumm.summary.frame import WEIGHT, check_weight_is_free, columns_of

if TYPE_CHECKING:
    from dpsumm.summary.result import Summary


def frame_of(summary: Summary, backend: Backend | None, *, weights: bool) -> Any:
    """Return the points with label, owner and index. See `Summary.to_frame`."""
    backend = backend_of(backend, summary.backend)
    schema = summary.schema
    if weights:
        check_weight_is_free(schema)
    own = {"owner": np.array(summary.names)[summary.owner], "index": summary.index}
    data = columns_of(schema, summary.points, summary.labels, summary.carried, backend, own)
    if weights:
        data[WEIGHT] = summary.weights * len(summary)
    return framed(data, backend)


def about(summary: Summary) -> dict[str, Any]:
    """Return the run, its result and its cost, as a file of rows has them.

    Verdict and warnings are functions of the target without noise, in two digits or so: a statement
    says that they are not protected. Its exact distance is in no file. By all digits of one, who
    knows all target records but one reads the last.
    """
    finished, record = summary.finished, summary.record
    return {
        "run": summary.run,
        "finished": None if finished is None else finished.isoformat(),
        "protocol": summary.protocol,
        "verdict": summary.verdict.text,
        "privacy": summary.privacy.statements(),
        "notes": list(summary.notes),
        "record": None if record is None else _charged_since(summary, record).to_json(),
    }


def _charged_since(summary: Summary, record: RunRecord) -> RunRecord:
    """Return the record with what was charged after the run, such as a model."""
    file = None if summary.ledger is None else summary.ledger.name
    # How much was read may depend on bids.
    said = replace(summary.privacy, accesses_everything=False).statements()
    return replace(record, books={"": Books(file, summary.privacy.charges)}, statements=tuple(said))


def notebook_html(summary: Summary) -> str:
    """Return verdict, figures and coloured notes for a notebook. Escaped."""
    scale, privacy = summary.scale, summary.privacy
    used = counted(len(np.unique(summary.owner)), "owner", "owners")
    random = "" if scale.random is None else f"; as many random points read: {scale.random:.3g}"
    rows = [
        ("verdict", summary.verdict.text),
        (
            "MMD² to the target",
            f"{summary.mmd2:.3g}, {scale.to_distribution(summary.mmd2):.3g} with the target's "
            f"sampling error; as many fresh target records: {scale.fresh:.3g}{random}",
        ),
        ("points read", f"{summary.accesses:,}, {summary.reads_per_record:.3g} per point kept"),
        ("epsilon of the target", f"{round_up(privacy.epsilon())} at delta {privacy.delta:g}"),
        (f"epsilon {privacy.owners_towards}", round_up(privacy.epsilon(protected="owners"))),
        ("protocol", summary.protocol),
    ]
    title = f"Summary of {counted(len(summary), 'point', 'points')} of {used}"
    return f"<div>{facts(title, rows)}{notebook_notes(summary.notes)}</div>"
