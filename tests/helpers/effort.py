"""How hard property tests search: few examples in `make test`, many with DPSUMM_HYPOTHESIS=long."""

import os
from typing import Any

from hypothesis import settings

MORE = 25 if os.environ.get("DPSUMM_HYPOTHESIS") == "long" else 1


def examples(few: int, **more: Any) -> settings:
    """Settings with so many examples, many times as many in a long search."""
    return settings(max_examples=MORE * few, deadline=None, **more)
