"""Seeded runs send the same bytes on every processor: as on the one that wrote the golden file."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from numpy._core._multiarray_umath import __cpu_dispatch__
from tests import golden

from dpsumm.privacy import portable
from helpers.patience import PATIENCE

ROOT = Path(__file__).parents[2]
WIDEST = [name for name in __cpu_dispatch__ if name.startswith(("X86_V4", "AVX512"))]
# What decides which instructions NumPy, OpenBLAS, the C library and the core take.
PROCESSORS = {
    "this one": {},
    "AVX2": {
        "NPY_DISABLE_CPU_FEATURES": " ".join(WIDEST),
        "OPENBLAS_CORETYPE": "Haswell",
        "DPSUMM_SIMD": "avx2",
    },
    "baseline": {
        "NPY_DISABLE_CPU_FEATURES": " ".join(__cpu_dispatch__),
        "OPENBLAS_CORETYPE": "Prescott",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F,-AVX2_Usable,-FMA_Usable",
        "DPSUMM_SIMD": "baseline",
    },
}


@pytest.mark.parametrize("processor", PROCESSORS)
def test_every_message_is_the_golden_one(processor):
    done = subprocess.run(
        # NumPy warns of features that this machine lacks anyway.
        [sys.executable, "-W", "ignore", "-m", "tests.golden", "--print"],
        cwd=ROOT,
        env={
            **os.environ,
            **PROCESSORS[processor],
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        },
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # Wanted? Then `make golden`.
    assert json.loads(done.stdout) == json.loads(golden.FILE.read_text())


@pytest.mark.parametrize("name", ["Offers", "Auction"])
def test_a_multiplier_off_by_a_bit_is_seen(name, monkeypatch):
    known = json.loads(golden.FILE.read_text())[name]
    assert golden.RUNS[name]() == known
    exact = portable.gaussian_multiplier
    # What NumPy's functions made of it between AVX2 and AVX-512.
    monkeypatch.setattr(portable, "gaussian_multiplier", lambda *a: exact(*a) * (1 + 1e-9))
    assert golden.RUNS[name]() != known
