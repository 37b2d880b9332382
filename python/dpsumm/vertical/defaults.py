"""Defaults of `dpsumm.Tables`, for what must know no more of it."""

KEEP, COMPONENTS = 3.0, 150
