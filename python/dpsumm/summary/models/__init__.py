"""Models that may be shown: classifiers trained on a summary with differential privacy."""
