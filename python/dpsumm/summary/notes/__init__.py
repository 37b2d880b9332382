"""Notes to read before relying on a summary, the worst first.

For curator and consumer alone, since most of it depends on private data. No value of a record is
in it. Notes are made after the last message, so they do not reach an owner.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpsumm.data.schema import Schema
from dpsumm.privacy.guarantees import PrivacyReport
from dpsumm.report.notes import Note, sorted_notes
from dpsumm.summary.notes.copies import copy_notes
from dpsumm.summary.notes.data import data_notes
from dpsumm.summary.notes.labels import label_notes
from dpsumm.summary.notes.mistakes import mistake_notes
from dpsumm.summary.notes.narrow import narrow_notes
from dpsumm.summary.notes.run import (
    budget_notes,
    ledger_notes,
    quality_notes,
    resumed_notes,
    run_notes,
)
from dpsumm.summary.protocols import Curator, Protocol, Selection

__all__ = ["data_notes", "notes_of"]


def notes_of(
    selection: Selection,
    curator: Curator,
    protocol: Protocol,
    privacy: PrivacyReport,
    schema: Schema,
    notes: Sequence[str] = (),
) -> tuple[Note, ...]:
    """Return all notes on a finished run.

    Parameters
    ----------
    privacy
        What the run spent.
    schema
        Of the summary's columns; `Setting.schema` is that of the kernel's, if there is one.
    notes
        Earlier notes on the data. See `data_notes`.
    """
    setting, book = curator.setting, curator.setting.ledger
    read = np.bincount(selection.pool.owner, minlength=len(setting.names)).tolist()
    owners = [
        (n, setting.n_records.get(name, 0)) for n, name in zip(read, setting.names, strict=True)
    ]
    reads_per_record = getattr(protocol, "reads_per_record", None)
    return sorted_notes(
        (
            *budget_notes(privacy, len(setting.target)),
            *ledger_notes(book, privacy),
            *resumed_notes(book, curator.of_this_target),
            *run_notes(len(selection.records), setting.size, owners, reads_per_record),
            *notes,
            *quality_notes(selection, len(setting.target), privacy),
            *mistake_notes(selection, setting),
            *narrow_notes(selection, setting, curator.kernel),
            *copy_notes(selection, setting),
            *label_notes(selection, setting.names, schema, setting.schema and setting.schema.label),
        )
    )
