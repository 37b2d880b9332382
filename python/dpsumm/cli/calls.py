"""The commands that make runs: their options. What they do is imported when they are called."""

from __future__ import annotations

from dpsumm.cli.options import described
from dpsumm.ensemble import options as votes
from dpsumm.summary import options as points
from dpsumm.vertical import options as rows


@described
def summarize(
    data: points.Data, method: points.Method, privacy: points.Privacy, output: points.Output
) -> None:
    """Select points of owners that match a target."""
    from dpsumm.cli.summarize import run

    run(data, method, privacy, output)


@described
def learn(
    data: votes.Data, method: votes.Method, privacy: votes.Privacy, output: votes.Output
) -> None:
    """Learn a classifier from parties' records or models, and unlabelled public points.

    In one process, which sees all data: for a rehearsal or one trusted machine.
    """
    from dpsumm.cli.learn import run

    run(data, method, privacy, output)


@described
def synthesize(
    data: rows.Data, method: rows.Method, privacy: rows.Privacy, output: rows.Output
) -> None:
    """Make synthetic rows of a table whose columns several owners hold.

    In one process, which sees all data: for a rehearsal or one trusted machine.
    """
    from dpsumm.cli.synthesize import run

    run(data, method, privacy, output)
