"""Defaults of `dpsumm.Tables`, for what must know no more of it."""

# Bins of a column that is counted by a tree, and in its table with the label.
KEEP, COMPONENTS, BINS, FINE = 3.0, 300, 12, 32
