"""The options of a budget, which several commands have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any


@dataclass(frozen=True)
class Spending:
    """The budget, and where it is recorded.

    Parameters
    ----------
    delta
        Probability that the bound of epsilon need not cover, between 0 and 1. Keep it well below
        1 / protected records, or parties.
    run : NAME
        Name of this run in the ledger. The name of a run that was interrupted resumes it. Its
        messages are sent again, unchanged and uncharged.
    seed
        Repeatable run for tests. It is not private, and its epsilon is infinite.
    allow_weak_privacy
        Accept a budget that protects little. This is an epsilon above 10, or a delta of at least
        1 / protected records, or parties.
    """

    epsilon: Annotated[float | None, "1"] = None
    delta: float = 1e-5
    ledger: Any = None
    run: str | None = None
    seed: int | None = None
    allow_weak_privacy: bool = False
