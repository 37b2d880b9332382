"""Shares and counts that several notes judge by."""

from dpsumm.report.outside import MOST_NAMED, MUCH, RUINED

__all__ = ["FEWEST", "MOST_CLASSES", "MOST_NAMED", "MUCH", "RUINED"]

# Points read of an owner, below which nothing is said of its columns.
FEWEST = 5
# Labels are compared as classes if there are so many at most.
MOST_CLASSES = 50
