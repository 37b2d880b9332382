"""The help of a command, as plain text in two columns with one section per group of options."""

from __future__ import annotations

import re
from typing import Any

from typer.core import TyperCommand

# Characters in a line, if the terminal has as many.
WIDTH = {"max_content_width": 100}
_COLUMN = 28
# A default in words stands in parentheses that say nothing.
_WORDED = re.compile(r"default: \((.+?)\)(?=[;\]])")


class Command(TyperCommand):
    """A command with such a help."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the sections, and ``--help`` last."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                group = getattr(parameter, "rich_help_panel", None)
                kind = f"{parameter.param_type_name.capitalize()}s"
                text = _WORDED.sub(r"default: \1", record[1])
                sections.setdefault(group or kind, []).append((record[0], text))
        for name in sorted(sections, key=lambda name: name == "Options"):
            with formatter.section(name):
                formatter.write_dl(sections[name], col_max=_COLUMN)
