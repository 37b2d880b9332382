"""Draw the rooms of the package as the import contracts order them.

python tests/docs/architecture.py     writes docs/images/rooms.svg
"""

import configparser
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "images" / "rooms.svg"
PAGE = ROOT / "docs" / "architecture.md"
WIDTH, HEIGHT, EDGE = 800, 44, 16

SVG = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" \
aria-labelledby="t" font-family="system-ui, -apple-system, 'Segoe UI', Roboto, Arial, sans-serif" \
font-size="15" text-anchor="middle" fill="#1d2733">
<title id="t">Rooms of dpsumm; each imports only rooms below it</title>
<rect x="1" y="1" width="{inner_width}" height="{inner_height}" rx="10" fill="#ffffff" \
stroke="#dfe3e8"/>
{boxes}
</svg>
"""
BOX = (
    '<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="6" fill="#e8f0f6" '
    'stroke="#2a6496"/><text x="{mid:g}" y="{line:g}">{name}</text>'
)


def contracts() -> dict[str, configparser.SectionProxy]:
    """Return the import contracts by name."""
    read = configparser.ConfigParser()
    read.read(ROOT / ".importlinter")
    sections = (read[name] for name in read.sections() if name.count(":") == 2)
    return {section["name"]: section for section in sections}


def floors() -> list[list[str]]:
    """Return the rooms of each floor, the highest first."""
    lines = contracts()["Rooms stand on floors"]["layers"].split("\n")
    return [re.split(r" *\| *", line.strip()) for line in lines if line.strip()]


def picture() -> str:
    """Return the rooms as an SVG image."""
    boxes, rows = [], floors()
    for i, rooms in enumerate(rows):
        w = (WIDTH - EDGE * (len(rooms) + 1)) / len(rooms)
        y = EDGE + i * (HEIGHT + EDGE)
        for j, name in enumerate(rooms):
            x = EDGE + j * (w + EDGE)
            middle, line = x + w / 2, y + HEIGHT / 2 + 5
            boxes.append(BOX.format(x=x, y=y, w=w, h=HEIGHT, mid=middle, line=line, name=name))
    height = EDGE + len(rows) * (HEIGHT + EDGE)
    return SVG.format(
        width=WIDTH,
        height=height,
        inner_width=WIDTH - 2,
        inner_height=height - 2,
        boxes="\n".join(boxes),
    )


if __name__ == "__main__":
    PICTURE.write_text(picture(), "utf-8")
