"""Shares and counts that several notes judge by."""

from dpsumm.report.outside import MOST_NAMED, MUCH, RUINED

__all__ = ["MOST_CLASSES", "MOST_NAMED", "MUCH", "RUINED"]

# Labels are compared as classes if there are so many at most.
MOST_CLASSES = 50
