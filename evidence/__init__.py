"""Experiments: protocols compared on real and made-up data. See docs/results.md."""
