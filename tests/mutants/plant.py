"""Plants bugs of privacy one by one and tells which test catches each.

    PYTHONPATH=python:. python tests/mutants/plant.py --quick
    PYTHONPATH=python:. python tests/mutants/plant.py --ids P1 S4

Each bug gets a copy of the package and its tests. Those of its room run there, quick ones first,
until one fails. Without --quick the audits run on what these let through.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from bugs import BUGS, GONE

ROOT = Path(__file__).parents[2]
HARNESS = ["tests/release/test_draws.py", "tests/release"]
LEDGER = ["tests/privacy/test_ledger.py", "tests/privacy/test_ledger_file.py"]
# Of each room its tests, those first that see most bugs.
TESTS = {
    "points": [
        "tests/release/test_draws.py",
        "tests/kernels/test_landmarks.py",
        "tests/summary/test_target_release.py",
        "tests/release",
    ],
    "votes": [
        HARNESS[0],
        "tests/ensemble/test_release.py",
        "tests/ensemble/test_ensemble_roles.py",
        "tests/release",
    ],
    "updates": [
        HARNESS[0],
        "tests/release/test_release_noise.py",
        *(f"tests/ensemble/test_update_{x}.py" for x in ("vectors", "roles")),
    ],
    "rows": [
        HARNESS[0],
        *(
            f"tests/vertical/test_{x}.py"
            for x in (
                "vertical_noise",
                "two_rounds",
                "synthesis_plan",
                "label_model",
                "same_columns",
            )
        ),
        "tests/release",
        *(f"tests/vertical/test_{x}.py" for x in ("vertical_roles", "vertical_twins")),
    ],
    "export": ["tests/release/test_draws.py", "tests/ensemble/test_export.py", *HARNESS[1:]],
    "sgd": [HARNESS[0], "tests/summary/test_model_sgd.py", "tests/release"],
    "models": [
        "tests/summary/test_model_parts.py",
        "tests/release",
        "tests/summary/test_private_model.py",
    ],
    "mwem": ["tests/papers/test_mwem_release.py"],
    "reading": [*(f"tests/data/test_{x}.py" for x in ("distinct", "labels")), "tests/data"],
    "training": ["tests/ensemble/test_training.py"],
    "file": ["tests/privacy/test_chain.py"],
    "requests": ["tests/papers/test_requests.py"],
    "silos": ["tests/vertical/test_synthesis_silos.py"],
    "auction": ["tests/release", "tests/papers", "tests/summary"],
    "ledger": LEDGER,
    "accounting": ["tests/privacy/test_accounting.py", *HARNESS],
    "sampler": [
        "tests/release/test_release_noise.py::test_the_sampler_itself",
        "tests/release/test_release_noise.py::test_calls_are_independent",
        "tests/kernels/test_noise_laws.py",
        "tests/kernels/test_noise.py",
    ],
    "kernel": ["tests/privacy/test_kernel.py", *HARNESS, *LEDGER],
}
# Of these rooms what audits look at.
AUDITS = {
    "points": "target release, Gaussian;summary release, two points replaced",
    "votes": "noisy votes, four classes;noisy votes, two classes",
    "rows": "synthesize: a column of the first owner, towards the other;"
    "synthesize: a column of the second owner, towards the other",
    "export": "exported model: sums over the consumer's points",
    "sgd": "models by DP-SGD: all steps' sums",
    "models": "model: its law, two points changed;model: its weights, two points changed",
}
AUDIT = """
import sys
import numpy as np
from dpsumm.audit import measure
from dpsumm.audit.suite import audits
for audit in audits():
    if audit.name in sys.argv[1].split(";"):
        claimed, _ = measure.limits_of(audit, quick=False)
        trials = measure.trials_of(audit, quick=False)
        if measure._find(audit, audit.subject, claimed, trials, np.random.default_rng()).refuted:
            print("REFUTED", audit.name)
"""


def planted(bug, text):
    """Return a file's text with a bug; its old text must occur once."""
    if text.count(bug.old) != 1:
        raise SystemExit(f"{bug.id}: its old text occurs {text.count(bug.old)} times in {bug.file}")
    return text.replace(bug.old, bug.new)


def _run(words, copy):
    one = dict.fromkeys(("POLARS_MAX_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"), "1")
    # DPSUMM_TEST_DRAW would make draws of all bugs the same.
    env = {**os.environ, **one, "PYTHONPATH": f"{copy}/python:{copy}"}
    try:
        found = subprocess.run(
            [sys.executable, *words],
            cwd=copy,
            env=env,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return 1, "FAILED it never ended - "
    return found.returncode, found.stdout + found.stderr


def caught_by(bug, copy, quick):
    """Return by what a bug is caught, first tests, then audits; or "survived"."""
    skipped = ["--ignore=tests/mutants", "-p", "no:cacheprovider", "-m", "not slow"]
    known = [test for test in TESTS[bug.room] if (Path(copy) / test.split("::")[0]).exists()]
    code, said = _run(["-m", "pytest", "-q", "-x", *skipped, *known], copy)
    if code:
        first = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - |$)", said, re.MULTILINE)
        return first.group(1) if first else "tests that cannot run: " + said.strip()[-200:]
    if not quick and bug.room in AUDITS:
        _, said = _run(["-c", AUDIT, AUDITS[bug.room]], copy)
        if found := re.search(r"^REFUTED (.*)$", said, re.MULTILINE):
            return f"audit: {found.group(1)}"
    return "survived"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="no audits")
    parser.add_argument("--ids", nargs="+", help="these bugs alone")
    given = parser.parse_args()
    chosen = [bug for bug in BUGS if given.ids is None or bug.id in given.ids]
    counts, start = Counter(), time.monotonic()
    print("| bug | what it breaks | caught by | s |\n|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as copy:
        skip = shutil.ignore_patterns("__pycache__", ".*_cache")
        for folder in ("python", "tests", "docs", "evidence"):
            shutil.copytree(ROOT / folder, f"{copy}/{folder}", ignore=skip)
        for name in ("pyproject.toml", "README.md", "CHANGELOG.md", "Makefile"):
            shutil.copy(ROOT / name, copy)
        for bug in chosen:
            file, begun = Path(copy, bug.file), time.monotonic()
            right = file.read_text()
            file.write_text(planted(bug, right))
            found = caught_by(bug, copy, given.quick)
            file.write_text(right)
            counts["survived" if found == "survived" else found.split(":")[0] == "audit"] += 1
            took = time.monotonic() - begun
            print(f"| {bug.id} | {bug.breaks} | {found} | {took:.0f} |", flush=True)
    print(
        f"\n{len(chosen)} bugs: {counts[False]} caught by tests, {counts[True]} by audits, "
        f"{counts['survived']} survived; {len(GONE)} cannot be made any more. "
        f"{time.monotonic() - start:.0f} s."
    )
    return 1 if counts["survived"] else 0


if __name__ == "__main__":
    sys.exit(main())
