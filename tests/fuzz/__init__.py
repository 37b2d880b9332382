"""Fuzz targets: each has SEEDS, TOKENS and check(data, folder)."""
