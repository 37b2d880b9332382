"""The command ``dpsumm demo``. Needs the extra ``demo``."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dpsumm.basics.checks import check_installed
from dpsumm.cli import console
from dpsumm.cli.options import Seed, described
from dpsumm.errors import InvalidParameterError
from dpsumm.report.numbers import round_up
from dpsumm.summary.demo import IMAGE, N_OWNERS, WANTED, compare, load_digits

NUMBERS = ("MMD²", "SVM", "ε target", "ε owners", "read", "seconds")


@described
def demo(
    out: Path = Path("demo-output"),
    size: int = 60,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    seed: Seed = None,
) -> None:
    """Compare protocols on handwritten digits, in less than a minute.

    The target is mostly the digits 3, 5, 8 and 9, which are rare at the eight owners.

    Parameters
    ----------
    out
        Directory for summary.parquet and report.html. It is created if needed.
    size
        Points in the summary, at least 10.
    epsilon
        Budget of the target's records towards an owner, above 0. Smaller is more private.
    delta
        Probability that the bound of epsilon need not cover, between 0 and 1.
    seed
        Repeatable run for tests. It is not private, and its epsilon is infinite.
    """
    check_installed("matplotlib", "reports need", "report")
    data = load_digits()
    files = [out / "summary.parquet", out / "report.html"]
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidParameterError(
            f"--out: cannot make directory {out}: {error.strerror}"
        ) from None
    with console.progress() as progress:
        summary, rows = compare(
            data, size=size, epsilon=epsilon, delta=delta, seed=seed, progress=progress
        )
    summary.save(files[0])
    summary.report(files[1], image=IMAGE)
    theirs = np.concatenate([labels for _, labels in data.owners.values()])
    console.say(
        f"The target, {len(data.target)} records, is mostly {', '.join(map(str, WANTED))}. These "
        f"are {np.isin(theirs, WANTED).mean():.0%} of the {len(theirs)} digits at {N_OWNERS} "
        f"owners. Summaries of {size} points:"
    )
    texts = [
        (
            row.protocol,
            f"{row.mmd2:.4f}",
            f"{row.accuracy:.1%}",
            round_up(row.epsilon_target),
            round_up(row.epsilon_owners),
            f"{row.accesses:,}",
            f"{row.seconds:.2f}",
        )
        for row in rows
    ]
    console.show_table(("protocol", *NUMBERS), texts, right=NUMBERS, styles={0: "bold"})
    console.say(
        f"MMD² (lower is better) and accuracy of a linear SVM trained on the summary: both on "
        f"target records that nobody was given. ε: privacy spent on the target's and on the "
        f"owners' records towards an owner, at delta {delta:g}. Read: points the curator saw.",
        style="dim",
    )
    console.show_files(files)
    console.warn(summary.notes, seeded=summary.privacy.seeded)
