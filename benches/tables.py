"""Tables in Markdown, printed from the kept results."""

from __future__ import annotations

import re
from typing import Any

from benches.aims import AIMS

GIB = 2**30


def everything(results: dict[str, Any]) -> str:
    """Return the full table of every subject, with hardware and versions."""
    parts = [
        "# Speed beside peers",
        "Printed by `make bench` (benches/): medians of the runs, contenders by turns in one run. "
        "CPU is seconds of all threads, with the range of the runs; the ratio is of CPU-seconds, "
        "to the first contender of the case. "
        "'In the system' is time in the kernel, mostly for fresh memory, where it is over a fifth. "
        "Memory is above that of the process before.",
        "",
    ]
    for name, subject in results.items():
        parts += [f"\n## {name}\n", _machine(subject["machine"]), "", _rows(subject["rows"])]
    return "\n".join(parts) + "\n"


def fill(page: str, results: dict[str, Any]) -> str:
    """Return the page with every ``<!-- name -->`` .. ``<!-- end -->`` filled with its table."""
    made = {
        "aims": _aims(results),
        "kernels": _kernels(results),
        "machine": _machines(results),
        "roofline": _roofline(results),
    }

    def block(match: re.Match[str]) -> str:
        return f"<!-- {match[1]} -->\n{made[match[1]]}\n<!-- end -->"

    names = "|".join(made)
    return re.sub(f"<!-- ({names}) -->.*?<!-- end -->", block, page, flags=re.DOTALL)


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _machine(about: dict[str, Any]) -> str:
    packages = ", ".join(f"{name} {version}" for name, version in about["packages"].items())
    return (
        f"{about['date']}: {about['processor']}, {about['cores']} cores, "
        f"{about['memory'] / GIB:.0f} GiB, {about['system']}, "
        f"Python {about['python']}; {packages}. "
        f"Load of the machine at the start: {about['load']:.1f}."
    )


def _seconds(value: float) -> str:
    return f"{value:.3g}" if value >= 0.001 else f"{value:.2g}"


def _sizes(sizes: dict[str, int]) -> str:
    return ", ".join(f"{name} = {size:,}" for name, size in sizes.items())


def _rows(rows: list[dict[str, Any]]) -> str:
    head = ["sizes", "threads", "contender", "runs", "CPU-s", "wall s", "ratio", "and"]
    lines, before = [], None
    for row in rows:
        new, before = row["case"] != before, row["case"]
        first = [_sizes(row["sizes"]), str(row["threads"])] if new else ["", ""]
        if "missing" in row:
            lines.append([*first, row["contender"], "", "", "", "", row["missing"]])
            continue
        low, high = row["cpu_range"]
        facts = [f"{name} {value}" for name, value in row["facts"].items()]
        if row["cpu"] > 0.1 and row["system"] > 0.2 * row["cpu"]:  # else too coarse a clock
            facts.append(f"{row['system'] / row['cpu']:.0%} of it in the system")
        if "memory" in row:
            facts.append(f"memory {row['memory'] / GIB:.2f} GiB")
        lines.append(
            [
                *first,
                row["contender"],
                str(row["runs"]),
                f"{_seconds(row['cpu'])} ({_seconds(low)} to {_seconds(high)})",
                _seconds(row["wall"]),
                f"{row['ratio']:.3g}",
                "; ".join(facts),
            ]
        )
    return _table(head, lines)


def _aims(results: dict[str, Any]) -> str:
    rows = []
    for aim in AIMS:
        measured, met, obstacle = aim.judge(results)
        bound = f"{'at least' if aim.at_least else 'at most'} {aim.bound:g} {aim.unit}".strip()
        rows.append([aim.text, bound, measured, met, obstacle])
    return _table(["aim", "wanted", "measured", "met", "what bounds it, measured"], rows)


def _roofline(results: dict[str, Any]) -> str:
    """Main cases only; shares of what one thread was measured to do at its best."""
    head = "kernel, sizes, operations, bytes, CPU-s, least f64, least f32, least reading".split(
        ", "
    )
    rows = []
    for name, subject in results.items():
        machine = subject["machine"]
        for row in subject["rows"]:
            if row["grows"] or "operations" not in row or "cpu" not in row:
                continue
            work = [(row["operations"], "flops_f64"), (row["operations"], "flops_f32")]
            work.append((row["moved"], "read_bandwidth"))
            least = [amount / machine[limit] for amount, limit in work]
            rows.append(
                [
                    f"{name}: {row['contender']}",
                    _sizes(row["sizes"]),
                    f"{row['operations']:.2g}",
                    f"{row['moved']:.2g}",
                    _seconds(row["cpu"]),
                    *(f"{_seconds(x)} ({x / row['cpu']:.0%})" for x in least),
                ]
            )
    return _table(head, rows)


# What a row of results is a call of, in dpsumm.kernels.
KERNELS = {
    ("selection", "dpsumm"): "greedy_towards",
    ("features", "dpsumm"): "RandomFeatures.transform",
    ("features", "dpsumm scores"): "RandomFeatures.scores",
    ("bids", "dpsumm"): "Bidder.set_summary, best",
    ("mwem", "dpsumm"): "mwem",
    ("mmd", "dpsumm"): "mmd2",
    ("noise", "dpsumm rounded_normal"): "rounded_normal",
    ("columns", "dpsumm, right owner"): "Pad.mask, Pad.product",
}


def _kernels(results: dict[str, Any]) -> str:
    """Main cases of one kernel beside the NumPy, else scikit-learn, that does its work."""
    head = ["kernel", "sizes", "threads", "CPU-s", "beside", "CPU-s", "ratio", "measured"]
    rows = []
    for (name, ours), kernel in KERNELS.items():
        subject = results.get(name, {"rows": []})
        measured = [row for row in subject["rows"] if not row["grows"] and "cpu" in row]
        for row in measured:
            if row["contender"] != ours:
                continue
            peers = [
                peer
                for peer in measured
                if peer["case"] == row["case"]
                and peer["contender"].startswith(("NumPy", "scikit-learn"))
            ]
            for peer in peers[:1]:
                rows.append(
                    [
                        f"`{kernel}`",
                        _sizes(row["sizes"]),
                        str(row["threads"]),
                        _seconds(row["cpu"]),
                        peer["contender"],
                        _seconds(peer["cpu"]),
                        f"{peer['cpu'] / row['cpu']:.3g}",
                        subject["machine"]["date"],
                    ]
                )
    return _table(head, rows)


def _machines(results: dict[str, Any]) -> str:
    head = ["measured with", "date", "load", "read GB/s", "Gop/s f64", "Gop/s f32"]
    rows = []
    for name, subject in results.items():
        about = subject["machine"]
        limits = [about[key] / 1e9 for key in ("read_bandwidth", "flops_f64", "flops_f32")]
        rows.append([name, about["date"], f"{about['load']:.1f}", *(f"{x:.3g}" for x in limits)])
    return _table(head, rows)
