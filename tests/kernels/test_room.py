"""The room itself: the only door to the compiled core, and every name with an example."""

import ast
import doctest
import inspect
from pathlib import Path

import pytest

import dpsumm
from dpsumm import kernels

PACKAGE = Path(dpsumm.__file__).parent
CALLABLE = [name for name in kernels.__all__ if callable(getattr(kernels, name))]


def imported(path):
    """Names of the package that a file imports, in full."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_no_other_room_imports_the_compiled_core():
    found = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if any(name.startswith("dpsumm.kernels._core") for name in imported(path))
        and path.parent.name != "kernels"
    }
    assert found == {"__init__.py"}  # for the version


def test_it_imports_root_modules_only():
    allowed = ("dpsumm.kernels._core", "dpsumm.kernels", "dpsumm.basics.checks.", "dpsumm.errors.")
    for path in (PACKAGE / "kernels").glob("*.py"):
        for name in imported(path):
            assert not name.startswith("dpsumm") or name.startswith(allowed), (path.name, name)


@pytest.mark.parametrize("name", CALLABLE)
def test_every_name_has_an_example_and_says_what_it_takes(name):
    kernel = getattr(kernels, name)
    text = inspect.getdoc(kernel)
    assert doctest.DocTestParser().get_examples(text), name
    section = "Attributes" if name in ("MixtureFit", "MwemRun", "Picks") else "Parameters"
    assert f"\n{section}\n---" in text, name


def test_all_that_is_public_is_listed():
    public = {
        name
        for name, value in vars(kernels).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }
    assert public == set(kernels.__all__)
