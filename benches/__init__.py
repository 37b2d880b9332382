"""Benches: speed beside peers (`python -m benches`) and quality on real data (quality.py)."""
