"""Speed of kernels and whole protocols beside their peers: ``python -m benches.speed``."""
