"""What installing dpsumm takes: ``python -m benches.footprint WHEEL``.

Installs the wheel into an empty environment, step by step, and prints sizes on disk. What imports
take is the subject ``start`` of the benches.
"""

import argparse
import os
import subprocess
import tempfile
import venv
from pathlib import Path


def megabytes(folder: Path) -> float:
    """Size of a folder's files."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def main() -> None:
    """Print the table."""
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
        print(f"| mpmath and narwhals | {install(str(wheel)):.0f} |")
        print(f"| extra `cli` | {install(f'{wheel}[cli]'):.0f} |")


if __name__ == "__main__":
    main()
