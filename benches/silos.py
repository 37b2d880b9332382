"""What an exchange across silos costs: time, bytes, memory. Needs the environment of `make silos`.

python -m benches.silos [--short]: prints a Markdown table. For each number of owners one run of
Offers: real processes on loopback with TLS and keys, or, above 16, Flower's simulation.
"""

import argparse
import os
import platform
import re
import sys
import tempfile
import threading
import time
from importlib.metadata import version
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "silos"))
from deployment import Deployment, make_data
from simulation import Simulation

EXCHANGE = re.compile(
    r"exchange: ([\d.]+) s, (\d+) of (\d+) owners, (\d+) bytes sent, (\d+) received"
)
# Not "superlink" alone: it is an option of the others.
PARTS = ("dpsumm.flower.superlink", "flwr-serverapp", "flower-supernode", "flwr-clientapp")


class Memory(threading.Thread):
    """Largest resident memory seen of each kind of process, MiB."""

    def __init__(self, deployment):
        super().__init__(daemon=True)
        self.peak = dict.fromkeys(PARTS, 0.0)
        self._deployment, self._ended = deployment, threading.Event()

    def run(self):
        while not self._ended.wait(0.5):
            for part in PARTS:
                for process in self._deployment.processes(part):
                    try:
                        used = process.memory_info().rss / 2**20
                    except psutil.NoSuchProcess:
                        continue
                    self.peak[part] = max(self.peak[part], used)

    def stop(self):
        self._ended.set()
        self.join()
        return self.peak


def measure(n_owners, rows):
    """Return a row of the table."""
    simulated = n_owners > 16
    folder = Path(tempfile.mkdtemp(prefix="dpsumm-silos-"))
    names = [f"owner-{i:03d}" for i in range(n_owners)]
    make_data(folder / "data", names, rows=rows)
    kind = Simulation if simulated else Deployment
    with kind(folder, names, size=100, timeout=300.0) as deployment:
        if simulated:
            deployment.submit = ["--federation-config", f"num-supernodes={n_owners}"]
        else:
            # Started nodes; otherwise their start would be part of the first exchange.
            end = time.monotonic() + 300
            while not all("SuperNode ID" in deployment.log(name) for name in names):
                assert time.monotonic() < end
                time.sleep(0.5)
        memory = Memory(deployment)
        memory.start()
        run = deployment.begin()
        status = deployment.finish(run, 500)
        peak = memory.stop()
        text = deployment.logs(run)
    assert status == "finished:completed", text
    first, second = EXCHANGE.findall(text)[-2:]
    return [
        f"{n_owners}{' (simulation)' if simulated else ''}",
        f"{float(first[0]):.1f}",
        f"{float(second[0]):.1f}",
        f"{int(second[3]) / n_owners:,.0f}",
        f"{int(second[4]) / n_owners:,.0f}",
        *(f"{peak[part]:.0f}" if peak[part] else "-" for part in PARTS),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="two owners with little data")
    short = parser.parse_args().short
    header = [
        "Owners",
        "First exchange, s",
        "Second exchange, s",
        "Bytes to an owner",
        "Bytes of an owner",
        *(f"{part}, MiB" for part in PARTS),
    ]
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for n_owners, rows in [(2, 50)] if short else [(4, 10_000), (16, 10_000), (100, 1_000)]:
        print("| " + " | ".join(measure(n_owners, rows)) + " |", flush=True)
    versions = ", ".join(f"{name} {version(name)}" for name in ("flwr", "ray", "numpy", "polars"))
    print(
        f"\nPython {platform.python_version()}, {versions}; {os.cpu_count()} processors. Three "
        "columns, summary of 100 points, 2,048 features; 10,000 rows an owner, 1,000 in the "
        "simulation."
    )


if __name__ == "__main__":
    main()
