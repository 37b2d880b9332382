#!/usr/bin/env bash
# Build the sdist, a wheel from the sdist alone, install it into an empty environment and use it.
# Minutes, not seconds: the core is compiled from nothing. Usage: package_check.sh [PYTHON]
set -euo pipefail
python=${1:-python3}
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$python" -m venv "$work/build"
"$work/build/bin/pip" install --quiet "maturin>=1.9.4,<2"
(cd "$root" && "$work/build/bin/maturin" sdist --out "$work/dist" >"$work/sdist.log" 2>&1) || { cat "$work/sdist.log"; exit 1; }
tar -xzf "$work"/dist/dpsumm-*.tar.gz -C "$work"
cd "$work"/dpsumm-*/
for file in LICENSE README.md Cargo.lock python/dpsumm/py.typed python/dpsumm/report_template.html; do
    test -f "$file" || { echo "the sdist lacks $file" >&2; exit 1; }
done
"$work/build/bin/maturin" build --release --quiet --interpreter "$python" --out "$work/dist"

"$python" -m venv "$work/use"
"$work/use/bin/pip" install --quiet "$(echo "$work"/dist/dpsumm-*.whl)[cli]"
cd "$work"
"$work/use/bin/python" - <<'PYTHON'
from importlib.metadata import version
from pathlib import Path

import dpsumm
import numpy as np

package = Path(dpsumm.__file__).parent
assert "site-packages" in str(package), package
assert dpsumm.__version__ == version("dpsumm")
for name in ("py.typed", "_core.pyi", "report_template.html"):
    assert (package / name).is_file(), name
rng = np.random.default_rng()
owners = [rng.normal(shift, 1, (100, 2)) for shift in (0, 3)]
summary = dpsumm.summarize(owners, rng.normal(3, 1, (200, 2)), size=9, kernel=dpsumm.RBF(0.3))
assert len(summary) == 9 and summary.privacy.epsilon() <= 1
summary.report("report.html")
summary.save("summary.parquet")
PYTHON
"$work/use/bin/dpsumm" --version
echo "sdist and wheel are sound"
