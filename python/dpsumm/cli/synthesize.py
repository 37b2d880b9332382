"""The command ``dpsumm synthesize``. Needs the extra ``cli``."""

from __future__ import annotations

from functools import partial

from dpsumm.cli import console
from dpsumm.cli.output import check_distinct, check_outputs, rows_in
from dpsumm.cli.spent import Kept
from dpsumm.cli.typed import typed
from dpsumm.privacy.events import Protected
from dpsumm.report.numbers import round_up
from dpsumm.vertical.options import Data, Method, Output, Privacy, as_arguments
from dpsumm.vertical.result import Synthetic
from dpsumm.vertical.synthesize import synthesize as make_synthetic


def run(data: Data, method: Method, privacy: Privacy, output: Output) -> None:
    """Do what the command is asked for."""
    owners, schemas, books = data.owners, data.schemas, privacy.books
    files = rows_in(output.out) | output.files
    check_outputs(files)
    check_distinct([*owners.values(), *schemas.values()], [*books.values(), *files.values()])
    arguments = as_arguments(data, method, privacy, output)
    given = {f"{name}={path}": path for name, path in books.items()}
    without = [name for name in owners if name not in books]
    kept = Kept(Protected.RECORDS, given, privacy.run, without)
    with kept.told_when_stopped():
        with console.progress() as progress:
            synthetic = make_synthetic(**arguments | {"run": kept.run}, progress=progress)
        kept.write_all(
            f"Epsilon {round_up(synthetic.privacy.epsilon())} of the records is spent",
            (output.out, partial(synthetic.save, n=output.rows)),
            (output.report, synthetic.report),
        )
    _show(synthetic, output)
    console.show_files(files.values())
    console.warn(synthetic.notes, seeded=synthetic.privacy.seeded)
    console.tell_uncounted(kept.uncounted("--ledger NAME=FILE"), synthetic.privacy.epsilon())


def _show(synthetic: Synthetic, output: Output) -> None:
    privacy = synthetic.privacy
    console.show_facts(
        [
            ("run", f"{synthetic.run}, {synthetic.finished:%Y-%m-%d %H:%M} UTC"),
            ("rows", f"{output.rows or synthetic.n_records:,}, drawn; no row is a record"),
            (
                "columns",
                f"{len(synthetic.columns)} of {len(privacy.owners)} owners, "
                f"{synthetic.n_records:,} records",
            ),
            ("verdict", typed(synthetic.verdict.text)),
            ("epsilon", f"{round_up(privacy.epsilon())} at delta {privacy.delta:g}"),
            ("condition", privacy.condition.removeprefix("Condition: ")),
        ]
    )
