"""The command ``dpsumm predict``. Needs the extra ``cli``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpsumm.cli import console
from dpsumm.cli.options import described
from dpsumm.cli.output import check_distinct, check_outputs, rows_in
from dpsumm.data.words import Format
from dpsumm.ensemble.saved import load_model


@described
def predict(
    model: Annotated[Path, typer.Argument()],
    rows: Annotated[Path, typer.Argument()],
    out: Path = Path("predictions.parquet"),
    *,
    form: Format,
) -> None:
    """Predict classes of rows by a model that `dpsumm learn --model` wrote.

    It costs the parties nothing more, and the rows stay here.

    Parameters
    ----------
    model : MODEL
        The model's file. It has plain numbers, so that reading it runs no code.
    rows : ROWS
        CSV, Parquet, Excel or SQL file with the columns of the public points. Other columns are
        ignored. A missing value is refused, unless the model's schema encodes it.
    out : FILE
        File for the class of each row and the probabilities of all classes, as .parquet or .csv.
    """
    written = rows_in(out)
    check_outputs(written)
    check_distinct([model, rows], written.values())
    learnt = load_model(model)
    with console.warnings_told():
        count = learnt.save_predictions(form.of(rows), out)
    console.show_facts(
        [("run", learnt.run), ("student", learnt.student), ("rows", f"{count:,} predicted")]
    )
    console.show_files(written.values())
