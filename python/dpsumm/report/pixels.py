"""Grey images as data URIs, with the standard library alone."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from dpsumm.report.parts import Html, safe, tag


def png(pixels: NDArray[np.uint8]) -> str:
    """Return an image (height, width), 0 black to 255 white, as a PNG's data URI."""
    height, width = pixels.shape

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)

    # Each line begins with its filter, 0 for none.
    lines = np.pad(pixels, ((0, 0), (1, 0))).tobytes()
    data = b"\x89PNG\r\n\x1a\n" + b"".join(
        (
            chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)),
            chunk(b"IDAT", zlib.compress(lines, 9)),
            chunk(b"IEND", b""),
        )
    )
    return f"data:image/png;base64,{base64.b64encode(data).decode('ascii')}"


def pairs(images: Iterable[tuple[NDArray[np.uint8], NDArray[np.uint8]]]) -> Html:
    """Return images in pairs, a point of the summary above a record of the target."""
    shown = []
    for point, record in images:
        above, below = (
            Html(f'<img src="{safe(png(image))}" alt="{alt}" class="{kind}">')
            for image, alt, kind in (
                (point, "a point of the summary, as an image", "summary"),
                (record, "the target record most like it", "target"),
            )
        )
        shown.append(tag("div", above, below))
    return tag("div", *shown, class_="pairs")
