"""The paper's method in one process, for comparison: DP variational inference of a mixture."""
