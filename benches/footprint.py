"""What installing dpsumm takes: ``python -m benches.footprint WHEEL``.

Installs the wheel into an empty environment, step by step, and prints sizes on disk and CPU times
of imports, each the least of several runs, in turns, so that a busy machine counts for little.
"""

import argparse
import math
import os
import resource
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

TURNS = 15
# NumPy is the floor, which every user pays; the accountant is loaded by the first run.
IMPORTS = {
    "nothing": "pass",
    "numpy": "import numpy",
    "dpsumm": "import dpsumm",
    "dpsumm and the accountant": "import dpsumm, dp_accounting",
}


def megabytes(folder: Path) -> float:
    """Size of a folder's files."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def cpu_seconds(python: Path, code: str) -> float:
    """CPU time of an interpreter that runs the code, its start included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([python, "-I", "-c", code], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print the two tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("wheel", type=Path)
    wheel = parser.parse_args().wheel.resolve()
    # Compiled modules are part of an installation, whatever this shell says.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / "bin" / "python"
        (packages,) = Path(folder).glob("lib/python3*/site-packages")

        def install(*what: str) -> float:
            before = megabytes(packages)
            subprocess.run([python, "-m", "pip", "install", "--quiet", *what], check=True)
            return megabytes(packages) - before

        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB\n")
        print("| installed | adds, MB |\n|---|---|")
        print(f"| NumPy | {install('numpy'):.0f} |")
        print(f"| dpsumm alone | {install('--no-deps', str(wheel)):.1f} |")
        print(f"| the accountant (with SciPy) and narwhals | {install(str(wheel)):.0f} |")
        times = dict.fromkeys(IMPORTS, math.inf)
        for _ in range(TURNS):
            for name, code in IMPORTS.items():
                times[name] = min(times[name], cpu_seconds(python, code))
        print(f"| extra `cli` | {install(f'{wheel}[cli]'):.0f} |")
    print(f"\n| import, after the start of Python {sys.version.split()[0]} | CPU, ms |\n|---|---|")
    for name, seconds in list(times.items())[1:]:
        print(f"| {name} | {(seconds - times['nothing']) * 1e3:.0f} |")


if __name__ == "__main__":
    main()
