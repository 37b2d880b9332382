"""Speed of kernels and whole protocols beside their peers: ``python -m benches.speed``."""

import os

# Before NumPy is imported. Idle BLAS threads wait busily, which would count as the peers' work.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
