"""The command ``dpsumm summarize``. Needs the extra ``cli``."""

from __future__ import annotations

from functools import partial

from dpsumm.cli import console
from dpsumm.cli.output import check_distinct, check_outputs, rows_in
from dpsumm.cli.spent import Kept
from dpsumm.data.inputs import read_owners
from dpsumm.privacy.events import Protected
from dpsumm.report.notes import Note, Severity
from dpsumm.report.numbers import round_up
from dpsumm.summary.frame import check_weight_is_free
from dpsumm.summary.options import Data, Method, Output, Privacy, as_arguments
from dpsumm.summary.summarize import summarize as make_summary


def run(data: Data, method: Method, privacy: Privacy, output: Output) -> None:
    """Do what the command is asked for."""
    files = rows_in(output.out) | output.files
    check_outputs(files)
    books = [] if privacy.ledger is None else [privacy.ledger]
    kept = Kept(Protected.TARGET, {str(path): path for path in books}, privacy.run)
    check_distinct(data.files, [*books, *files.values()])
    given = as_arguments(data, method, privacy, output) | {"run": kept.run}
    if output.weights:
        # Before the budget is spent. All owners have the same columns.
        name, source = next(iter(given["owners"].items()))
        check_weight_is_free(read_owners({name: source}, schema=given["schema"])[0].schema)
    with kept.told_when_stopped():
        with console.progress() as progress:
            summary = make_summary(**given, progress=progress)
        kept.write_all(
            f"Epsilon {round_up(summary.privacy.epsilon())} of the target is spent",
            (output.out, partial(summary.save, weights=output.weights)),
            (output.report, summary.report),
        )
    console.show_run(summary)
    console.show_files(files.values())
    console.warn(summary.notes, seeded=summary.privacy.seeded)
    if privacy.epsilon is not None and summary.privacy.epsilon() == 0:
        text = (
            f"--epsilon {privacy.epsilon:g} was not needed: {summary.protocol} sends owners "
            "nothing about the target, and nothing was spent."
        )
        console.tell(Note(text, Severity.INFO))
    console.tell_uncounted(kept.uncounted(), summary.privacy.epsilon())
