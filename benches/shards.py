"""Offers from sharded files: time and memory as rows grow, and what follows for more of them.

``python -m benches.shards`` writes files of random rows, runs with Ray on this machine and prints
the table of docs/large-data.md, and a calculation for more rows. Each size has its own process.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import numpy as np

import dpsumm

COLUMNS, FEATURES, SIZE, FILES = 16, 512, 500, 8
MARK_BYTES = 24


def workers(title: str = "ray::ShardWorker") -> list[int]:
    """Return the processes of this one's Ray workers that hold shards."""
    parents, found = {}, []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int(_status(entry.name)["PPid"])
                if (entry / "cmdline").read_bytes().startswith(title.encode()):
                    found.append(int(entry.name))
            except (OSError, KeyError):
                continue  # it has ended

    def ours(pid: int) -> bool:
        while pid > 1:
            pid = parents.get(pid, 0)
            if pid == os.getpid():
                return True
        return False

    return [pid for pid in found if ours(pid)]


def _status(pid: object) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def peak_bytes(pid: object = "self") -> int:
    """Return the most resident memory a process has had (not ru_maxrss: a child inherits it)."""
    return int(_status(pid)["VmHWM"].split()[0]) * 1024


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def watched() -> Iterator[dict[int, tuple[int, float]]]:
    """Give, as they grow, the peak memory and processor seconds of each worker that shows up."""
    seen: dict[int, tuple[int, float]] = {}
    # Those of an earlier call may still be on their way out.
    earlier = set(workers())
    end = threading.Event()

    def watch() -> None:
        while not end.wait(0.05):
            for pid in set(workers()) - earlier:
                try:
                    seen[pid] = peak_bytes(pid), _cpu_seconds(pid)
                except (OSError, KeyError):
                    continue

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield seen
    finally:
        end.set()
        thread.join()


def write(folder: Path, n_rows: int, n_files: int = FILES) -> list[Path]:
    """Write files of standard normal float32 rows, and return their paths."""
    paths = []
    rng = np.random.default_rng(1)
    for i, start in enumerate(range(0, n_rows, n_rows // n_files)):
        count = min(n_rows // n_files, n_rows - start)
        paths.append(folder / f"{i}.npy")
        header = {"descr": "<f4", "fortran_order": False, "shape": (count, COLUMNS)}
        # Plain writes: pages of a mapped file would count as this process's memory.
        with paths[-1].open("wb") as file:
            np.lib.format.write_array_header_1_0(file, header)
            for first in range(0, count, 2**16):
                rows = min(2**16, count - first)
                rng.standard_normal((rows, COLUMNS), np.float32).tofile(file)
    return paths


def summary(
    shards: dpsumm.data.Shards, size: int = SIZE, features: int = FEATURES
) -> dpsumm.summary.Summary:
    """Return a private summary of one owner's shards."""
    target = np.random.default_rng(2).normal(0.5, 1, (1000, COLUMNS)).astype(np.float32)
    return dpsumm.summarize(
        [shards],
        target,
        size=size,
        kernel=dpsumm.RBF(1 / (2 * COLUMNS)),
        protocol=dpsumm.Offers(reads_per_record=1, n_features=features),
    )


def one(n_rows: int, n_workers: int) -> dict[str, float]:
    """Return what a run over so many rows took."""
    import ray

    ray.init("local", num_cpus=n_workers, include_dashboard=False, log_to_driver=False)
    with tempfile.TemporaryDirectory() as folder, watched() as seen:
        paths = write(Path(folder), n_rows)
        size = sum(path.stat().st_size for path in paths)
        started = time.perf_counter()
        summary(dpsumm.data.Shards(paths, n_workers=n_workers))
        seconds = time.perf_counter() - started
    assert len(seen) == n_workers
    return {
        "rows": n_rows,
        "bytes": size,
        "seconds": seconds,
        "cpu": sum(cpu for _, cpu in seen.values()),
        "worker": max(peak for peak, _ in seen.values()),
        "driver": peak_bytes(),
    }


def main() -> None:
    """Print the table and the calculation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10**6, 10**7])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(one(asked.one, asked.workers)))
        return
    found = []
    for n in asked.rows:
        command = [sys.executable, "-m", "benches.shards", "--one", str(n)]
        command += ["--workers", str(asked.workers)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        found.append(json.loads(done.stdout.splitlines()[-1]))
    print(
        f"{COLUMNS} float32 columns, {FEATURES} features, summary of {SIZE}, {FILES} .npy files, "
        f"{asked.workers} workers of one thread; ray {version('ray')}, numpy {version('numpy')}, "
        f"{os.cpu_count()} processors\n"
    )
    print(
        "| rows | files, MB | wall s | CPU s of workers | peak MB of a worker | "
        "peak MB of the driver |"
    )
    print("|---|---|---|---|---|---|")
    for row in found:
        print(
            f"| {row['rows']:,} | {row['bytes'] / 1e6:,.0f} | {row['seconds']:.1f} "
            f"| {row['cpu']:.1f} | {row['worker'] / 1e6:.0f} | {row['driver'] / 1e6:.0f} |"
        )
    if len(found) > 1:
        _calculate(found[0], found[-1], asked.workers)


def _calculate(small: dict[str, float], large: dict[str, float], n_workers: int) -> None:
    """Print what a billion rows would take, from the growth between two sizes."""
    rows = large["rows"] - small["rows"]
    cpu = (large["cpu"] - small["cpu"]) / rows
    wall = (large["seconds"] - small["seconds"]) / rows * n_workers
    marks = 2 * dpsumm.data.Shards.n_candidates * MARK_BYTES
    print(
        f"\nA million more rows take a worker {cpu * 1e6:.2f} s of its processor and "
        f"{wall * 1e6:.2f} s by the clock.\n"
    )
    print(
        "| rows | workers | pass, s of processor | pass, s by the clock | marks sent, MB in all |"
    )
    print("|---|---|---|---|---|")
    for n_rows in (10**8, 10**9):
        for count in (2, 16, 128):
            share = n_rows / count
            print(
                f"| {n_rows:,} | {count} | {cpu * share:.1f} | {wall * share:.1f} "
                f"| {marks * count / 1e6:.0f} |"
            )


if __name__ == "__main__":
    main()
