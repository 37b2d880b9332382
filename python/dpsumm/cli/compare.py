"""The command ``dpsumm compare``."""

from __future__ import annotations

from pathlib import Path

from dpsumm.basics.checks import counted
from dpsumm.cli import console
from dpsumm.cli.options import described
from dpsumm.cli.typed import typed
from dpsumm.data.short import schema_said
from dpsumm.data.words import Format, formatted, parse_owners
from dpsumm.report.numbers import round_up
from dpsumm.summary.compare import compare as rehearse
from dpsumm.summary.made_up import MadeUpOwners

NUMBERS = ("ε target", "ε owners", "read", "MMD²", "with weights")


@described
def compare(
    size: int,
    target_size: int,
    owners: int = 5,
    records: int = 2000,
    rarity: float = 0.1,
    schema: list[str] | None = None,
    owner: list[str] | None = None,
    target: Path | None = None,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    reads_per_record: float = 4.0,
    runs: int = 5,
    *,
    form: Format,
) -> None:
    """Rehearse pool, offers and uniform, to see the cost and the quality of each.

    Use made-up data like yours, or public data, but never private data.

    Parameters
    ----------
    size
        Points in the summary, at least 1.
    target_size
        Records of the target, at least 2.
    owners
        Number of made-up owners.
    records
        Made-up records of each owner.
    rarity
        Share of the owners' made-up records that are like the target, above 0, up to 1.
    schema : FILE or NAME=WHAT
        The public schema for made-up records. Without one they have eight numbers.
    owner : NAME=FILE
        An owner's public data in place of made-up ones. Repeat it for each owner.
    target : FILE
        Public records like the target's. Each run draws --target-size of them, and the others judge
        the result.
    epsilon
        Budget of the target's records towards an owner, above 0. Smaller is more private.
    delta
        Probability that the bound of epsilon need not cover, between 0 and 1.
    reads_per_record
        Points that pool and offers read for each point of the summary, at least 1.
    runs
        Number of rehearsals, at least 1.
    """
    named = {} if target is None else {"target": target}
    public, goal = formatted(parse_owners(owner or []), named, form.format or [])
    with console.progress() as progress:
        found = rehearse(
            public or MadeUpOwners(owners, records, rarity),
            goal.get("target"),
            size=size,
            target_size=target_size,
            schema=schema_said(schema),
            epsilon=epsilon,
            delta=delta,
            reads_per_record=reads_per_record,
            runs=runs,
            progress=progress,
        )
    console.say(found.title)
    texts = [
        (
            row.protocol,
            round_up(row.epsilon),
            round_up(row.epsilon_owners),
            f"{row.reads:.3g}",
            row.shown(),
            row.shown(weighted=True),
        )
        for row in found.rows
    ]
    console.show_table(("protocol", *NUMBERS), texts, right=NUMBERS)
    console.say(
        "MMD²: to the target's distribution, over that of the greedy that reads everything; lower "
        f"is better; in brackets the range of one standard error, of "
        f"{counted(found.runs, 'run', 'runs')}. ε: privacy "
        f"spent on the target's and on the owners' records towards an owner, at delta {delta:g}. "
        "Read: points for each of the summary.",
        style="dim",
    )
    console.say(typed(found.advice))
