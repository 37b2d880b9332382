"""All planted bugs: each file of them adds its own to `BUGS`."""

import planted_branches  # noqa: F401
import planted_others  # noqa: F401
import planted_reading  # noqa: F401
import planted_sums  # noqa: F401
import planted_tables  # noqa: F401
import planted_updates  # noqa: F401
from planted_base import BUGS, GONE, Bug

__all__ = ["BUGS", "GONE", "Bug"]
