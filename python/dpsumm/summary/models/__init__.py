"""Classifiers trained on a summary with differential privacy, which may be shown."""
