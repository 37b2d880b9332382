"""Coverage-guided fuzzing with atheris: ``python tests/fuzz/run.py wire|tables|ledger SECONDS``.

A failing input is written to the current directory as ``fuzz-..``; give its path instead of the
seconds to repeat it. `make fuzz` runs all three.
"""

import importlib
import sys
import tempfile
from pathlib import Path

import atheris

TESTS = Path(__file__).parent.parent


def main() -> None:
    """Fuzz one target."""
    name, what = sys.argv[1:]
    sys.path.insert(0, str(TESTS))
    with atheris.instrument_imports(include=["dpsumm"]):
        target = importlib.import_module(f"fuzz.fuzz_{name}")
    folder = tempfile.mkdtemp()
    corpus = Path(tempfile.mkdtemp())
    for i, seed in enumerate(target.SEEDS):
        (corpus / str(i)).write_bytes(seed)
    words = corpus.with_suffix(".dict")
    words.write_text(
        "".join('"' + "".join(f"\\x{byte:02x}" for byte in t) + '"\n' for t in target.TOKENS)
    )
    limits = [f"-max_total_time={what}", f"-dict={words}", str(corpus)]
    arguments = ["-timeout=20", "-rss_limit_mb=4096", "-max_len=40000", "-artifact_prefix=fuzz-"]
    arguments += limits if what.isdigit() else [what]
    atheris.Setup([sys.argv[0], *arguments], lambda data: target.check(data, folder))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
