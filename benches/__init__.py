"""Benches: speed beside peers (`python -m benches`)."""
