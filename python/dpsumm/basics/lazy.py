"""Names that a package has and that are imported when they are first asked for."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def names_of(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return a package's ``__getattr__`` and ``__dir__``.

    Parameters
    ----------
    package
        Its name.
    homes
        Modules, from the package on, to the names in them, with spaces between.

    Examples
    --------
    >>> import dpsumm
    >>> "summarize" in dir(dpsumm)
    True
    """
    home = {name: module for module, names in homes.items() for name in names.split()}
    space = vars(sys.modules[package])

    def get(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        space[name] = getattr(import_module(f"{package}.{home[name]}"), name)
        return space[name]

    def listed() -> list[str]:
        # And the rooms that are loaded; not what the package itself imports.
        rooms = (n for n, v in space.items() if getattr(v, "__name__", "") == f"{package}.{n}")
        return sorted({*home, *rooms})

    return get, listed
