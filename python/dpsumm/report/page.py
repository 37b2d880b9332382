"""A whole report that a notebook shows in a frame."""

from __future__ import annotations

import os
from html import escape

from dpsumm.basics.atomic import write_text


class Page:
    """A self-contained HTML page, which a notebook shows in a frame."""

    def __init__(self, html: str, path: str | os.PathLike[str] | None = None) -> None:
        """Hold a page, and write it to `path` if there is one. A file is whole or not at all."""
        self.html = html
        if path is not None:
            write_text(path, html)

    def __repr__(self) -> str:
        return f"Page({len(self.html):,} characters of HTML)"

    def _repr_html_(self) -> str:
        # Nothing of the page may run or reach the notebook around it.
        return (
            f'<iframe srcdoc="{escape(self.html)}" sandbox="" title="report" '
            'style="width:100%;height:44rem;border:1px solid #dfe3e8"></iframe>'
        )
