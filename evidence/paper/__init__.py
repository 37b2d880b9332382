"""Section 4 of the paper in its own design, on other data, and models that may be shown."""
