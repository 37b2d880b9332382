#!/usr/bin/env bash
# Build the sdist, a wheel from the sdist alone, install it into an empty environment and use it.
# The core is compiled from nothing, quickly: what is in the wheel is checked, not how fast it is.
# Usage: package_check.sh [PYTHON]
set -euo pipefail
unset PYTHONPATH # the package that is installed is the one to use
unset CARGO_TARGET_DIR # nothing that was built before is used
export CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
python=${1:-python3}
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$python" -m venv "$work/build"
"$work/build/bin/pip" install --quiet "maturin>=1.9.4,<2"
(cd "$root" && "$work/build/bin/maturin" sdist --out "$work/dist" >"$work/sdist.log" 2>&1) || { cat "$work/sdist.log"; exit 1; }
tar -xzf "$work"/dist/dpsumm-*.tar.gz -C "$work"
cd "$work"/dpsumm-*/
for file in LICENSE README.md Cargo.lock python/dpsumm/py.typed python/dpsumm/report/template.html; do
    test -f "$file" || { echo "the sdist lacks $file" >&2; exit 1; }
done
"$work/build/bin/maturin" build --release --quiet --interpreter "$python" --out "$work/dist"

# The one wheel on this Python, and on the oldest and a new one, where they are: by name, or of pyenv.
find_python() {
    command -v "$HOME"/.pyenv/versions/"${1#python}"*/bin/"$1" "$1" 2>/dev/null | while read -r found; do
        "$found" -c "" 2>/dev/null && echo "$found" && break
    done || true
}
use() {
    rm -rf "$work/use"
    "$1" -m venv "$work/use"
    "$work/use/bin/pip" install --quiet "$(echo "$work"/dist/dpsumm-*-abi3-*.whl)[cli]"
    (cd "$work" && "$work/use/bin/python" "$work/use.py" && "$work/use/bin/dpsumm" --version)
}
cat >"$work/use.py" <<'PYTHON'
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

import dpsumm
import numpy as np

package = Path(dpsumm.__file__).parent
assert "site-packages" in str(package), package
assert dpsumm.__version__ == version("dpsumm")
for name in ("py.typed", "kernels/_core.pyi", "report/template.html"):
    assert (package / name).is_file(), name
rng = np.random.default_rng()
owners = [rng.normal(shift, 1, (100, 2)) for shift in (0, 3)]
target = rng.normal(3, 1, (200, 2))


def summarize(seed):
    return dpsumm.summarize(owners, target, size=9, kernel=dpsumm.RBF(0.3), seed=seed)


summary = dpsumm.summarize(owners, target, size=9, kernel=dpsumm.RBF(0.3))
assert len(summary) == 9 and summary.privacy.epsilon() <= 1
summary.report("report.html")
summary.save("summary.parquet")
with ThreadPoolExecutor(8) as threads:
    made = list(threads.map(summarize, [1] * 8))
assert all((one.points == made[0].points).all() for one in made)
print("used on Python", sys.version.split()[0])
PYTHON
use "$python"

# README's examples in the environment of a stranger: the wheel, no repository, no Rust on the path.
cat >"$work/readme.py" <<'PYTHON'
import re
import shutil
import sys
import time
from pathlib import Path

assert not shutil.which("cargo") and not shutil.which("rustc")
blocks = re.findall(r"^```python\n(.*?)^```$", Path(sys.argv[1]).read_text("utf-8"), re.M | re.S)
start, namespace = time.monotonic(), {}
for block in blocks:
    exec(block, namespace)
assert len(blocks) == 3 and "site-packages" in namespace["dpsumm"].__file__
print(f"README's {len(blocks)} examples ran in {time.monotonic() - start:.0f} s")
PYTHON
"$work/use/bin/pip" install --quiet "$(echo "$work"/dist/dpsumm-*-abi3-*.whl)[cli,learn]"
(cd "$work" && env -i PATH="$work/use/bin" HOME="$work" python readme.py "$root/README.md")

used=$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
for name in python3.11 python3.13; do
    if [ "$name" = "$used" ]; then continue; fi
    found=$(find_python "$name")
    if [ -n "$found" ]; then use "$found"; else echo "$name is not installed: not tested"; fi
done
# Without the global lock there is no stable ABI: a build of its own.
for name in python3.13t python3.14t; do
    found=$(find_python "$name")
    if [ -z "$found" ]; then echo "$name is not installed: not tested"; continue; fi
    "$found" -m venv "$work/free"
    "$work/build/bin/maturin" build --release --quiet --interpreter "$found" --out "$work/dist-free"
    "$work/free/bin/pip" install --quiet "$work"/dist-free/dpsumm-*"${name#python3.}"-*.whl
    "$work/free/bin/python" -c "import sys, dpsumm; assert not sys._is_gil_enabled(); print(sys.version)"
    rm -rf "$work/free"
done
echo "sdist and wheel are sound"
