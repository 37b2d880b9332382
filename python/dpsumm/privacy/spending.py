"""What several calls that take words have as options: what may be spent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any


@dataclass(frozen=True)
class Spending:
    """What may be spent, and where that is written down.

    Parameters
    ----------
    delta
        Probability of failure of the guarantee, between 0 and 1; usual: well below 1 / protected
        records, or parties.
    run : NAME
        Name of this run in the ledger. The name of a run that died resumes it: what it released is
        sent again, unchanged and uncharged, to the same owners or parties alone.
    seed
        Repeatable run for tests: [bold]not private[/], epsilon is then infinite.
    allow_weak_privacy
        Go on with a budget that promises next to nothing: an epsilon above 10, the owners' too, or
        a delta that is not below 1 / protected records, or parties.
    """

    epsilon: Annotated[float | None, "1"] = None
    delta: float = 1e-5
    ledger: Any = None
    run: str | None = None
    seed: int | None = None
    allow_weak_privacy: bool = False
