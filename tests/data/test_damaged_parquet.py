"""A damaged Parquet file never takes the machine's memory with it."""

import subprocess
import sys
from pathlib import Path

from helpers.patience import PATIENCE

# 3 rows of 3 columns, whose row group declares 68,987,912,192 rows.
DAMAGED = Path(__file__).parent.parent / "files" / "rows-not-there.parquet"
READ = """
import resource, sys
from dpsumm.errors import DpsummError
from dpsumm.data.inputs import read_table
from dpsumm.data.schema import Schema
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    table = read_table(sys.argv[1], name="a", schema=Schema.numbers("ab", label="y"))
except DpsummError as error:
    print("refused:", error)
else:
    print("rows", len(table))
assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**20, "over 1 GiB"
"""


def test_rows_that_are_declared_and_not_there_cost_no_memory():
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import resource;resource.setrlimit(resource.RLIMIT_AS,(2**34,)*2)\n" + READ,
            str(DAMAGED),
        ],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-500:]
    assert done.stdout.startswith("refused: "), done.stdout
