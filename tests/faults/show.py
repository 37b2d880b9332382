"""Writes the table of docs/faults.md: ``PYTHONPATH=.:tests python tests/faults/show.py``."""

import sys
import tempfile
from pathlib import Path

from worlds import WORLDS

from helpers.crashes import Whole, plans, sampled
from helpers.disk import Disk

PAGE = Path(__file__).parents[2] / "docs" / "faults.md"
BEGIN, END = "<!-- faults -->\n", "<!-- end -->"
# Tried whole in `make test-deep`; of the others a part, and the whole in `make faults`.
WHOLE_RUN = ("Offers",)


def table(wholes: dict[str, Whole]) -> str:
    """Return how many acts each subsystem's run has and how many faults befall it."""
    lines = [
        "| Run | Statements | File operations | Messages | Faults | of these in `make test-deep` |",
        "|---|---|---|---|---|---|",
    ]
    total = [0] * 5
    for name, whole in wholes.items():
        acts = whole.life.acts
        counts = [sum(act.kind in kinds for act in acts) for kinds in KINDS]
        faults = len(list(plans(acts)))
        counts += [faults, faults if name in WHOLE_RUN else len(list(sampled(acts)))]
        total = [one + other for one, other in zip(total, counts, strict=True)]
        lines.append(f"| {name} | {' | '.join(f'{count:,}' for count in counts)} |")
    lines.append(f"| all | {' | '.join(f'{count:,}' for count in total)} |")
    return "\n".join(lines) + "\n"


KINDS = (("sql",), ("file",), ("send", "answer"))


def main() -> None:
    """Put the table into the page, and print it."""
    with Disk() as disk, tempfile.TemporaryDirectory() as folder:
        wholes = {
            name: Whole.of(world(), disk, Path(folder) / name / "whole")
            for name, world in WORLDS.items()
        }
    text = table(wholes)
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(before + BEGIN + text + END + after, encoding="utf-8")
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
