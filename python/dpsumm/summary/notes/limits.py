"""Shares and counts that several notes judge by."""

# Such a share of values outside a column's bounds or in no category, or of records that are there
# twice, may make a run mean nothing.
MUCH = 0.1
# A column tells nothing if so large a share of its values does not.
RUINED = 0.9
# Points read of an owner, below which nothing is said of its columns.
FEWEST = 5
# Columns that a note names.
MOST_NAMED = 12
# Labels are compared as classes if there are so many at most.
MOST_CLASSES = 50
