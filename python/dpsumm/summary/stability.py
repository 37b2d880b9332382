"""How much of a summary one record can change, on which a model that is shown depends."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Stability:
    """By how many points of the summary one replaced record of an owner changes it.

    Attributes
    ----------
    points
        At most so many points of the summary, each with its label, are replaced by others, given
        all releases to the owners and the coins of sampling. None if no such number is known, so
        that one record may change every point.
    """

    points: int | None
    argument: str


# One record of the target decides whether its copies at the owners are in the summary, all of them.
COPIES_DROPPED = Stability(
    None, "drop_target_copies lets one record of the target decide about many points"
)

UNSTABLE = (
    "Ways out: Auction(reselect=False), where one record changes at most two points, or Uniform() "
    "or Pool(reads_per_record=1), where it changes one; or dpsumm.learn, whose votes protect whole "
    "owners"
)
