"""The products by the words of their calls and commands, and a run that is described by a file."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpsumm.basics.documents import read_toml
from dpsumm.data.words import as_typed, grouped
from dpsumm.errors import InvalidParameterError

if TYPE_CHECKING:
    from dpsumm.ensemble.model import Model
    from dpsumm.exchange.driver import Progress
    from dpsumm.summary.result import Summary
    from dpsumm.vertical.result import Synthetic

# Where the call of each is, in a module of its name; its options are beside it.
ROOMS = {"summarize": "summary", "learn": "ensemble", "synthesize": "vertical"}


def read_run(path: Path) -> tuple[str, dict[str, Any]]:
    """Return a file's product and its options as they would be typed. Paths relative to the file.

    Raises
    ------
    InvalidParameterError
        No such file, no TOML, no product, an option that there is not, or a value of another type.
    """
    said = read_toml(path, "options")
    product = said.pop("product", None)
    if not isinstance(product, str) or product not in ROOMS:
        found = "is missing" if product is None else f"is {product!r}"
        raise InvalidParameterError(
            f'{path}: product {found}. Write product = "summarize", "learn" or "synthesize"'
        )
    return product, as_typed(said, _options(product).GROUPS, path.parent, f"{path}: ")


def _options(product: str) -> Any:
    return import_module(f"dpsumm.{ROOMS[product]}.options")


def run(
    config: str | os.PathLike[str], *, progress: Progress | None = None, **options: Any
) -> Summary | Model | Synthetic:
    """Return the result of a run whose options are in a TOML file.

    The file is that of ``dpsumm run FILE``, and the run is the same: with one seed, the same
    result. What the command would write (`out`, `report` and such) is not written here. The result
    has it: `Summary.save`, `Summary.report`.

    Parameters
    ----------
    config
        The file. Its ``product`` is "summarize", "learn" or "synthesize". Its other keys are the
        options of that command without their dashes, such as ``size = 200``; ``dpsumm summarize
        --help`` says what each means. Paths in it are relative to it.
    progress
        Called with (stage, done, total).
    options
        What the file does not say, or what comes before what it says: any of its keys, as the file
        would have it. Paths are relative to the current folder.

    Returns
    -------
    Summary, Model or Synthetic
        As the product's call does.

    Raises
    ------
    InvalidParameterError
        No such file, no TOML, no product, an option that there is not, or a value of another type.
        All before anything is read.

    As :func:`dpsumm.summarize`. A budget that promises next to nothing is refused as it is on the
    command line, unless the file says ``allow_weak_privacy = true``.

    Privacy
    -------
    As :func:`dpsumm.summarize`: the file is public. A file without `ledger` counts nothing across
    runs.

    See Also
    --------
    dpsumm.summarize : The same call with Python's values: arrays, frames, protocols of your own.

    Examples
    --------
    >>> import tempfile, dpsumm
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name in ("north", "south", "clinic"):
    ...     _ = (folder / f"{name}.csv").write_text("age\\n" + "61\\n58\\n70\\n" * 100)
    >>> _ = (folder / "run.toml").write_text('''
    ... product = "summarize"
    ... target = "clinic.csv"
    ... size = 20
    ... schema = { age = [20, 90] }
    ...
    ... [owner]
    ... north = "north.csv"
    ... south = "south.csv"
    ... ''')
    >>> dpsumm.run(folder / "run.toml").points.shape
    (20, 1)
    >>> len(dpsumm.run(folder / "run.toml", size=10, protocol="pool"))
    10
    """
    product, said = read_run(Path(config))
    module = _options(product)
    said |= as_typed(options, module.GROUPS, Path(), "")
    groups = grouped(said, module.GROUPS, f"{os.fspath(config)}: ")
    call = getattr(import_module(f"dpsumm.{ROOMS[product]}.{product}"), product)
    result: Summary | Model | Synthetic = call(**module.as_arguments(*groups), progress=progress)
    return result
