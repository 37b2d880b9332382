"""What `import dpsumm` loads: nothing that is slow or may not be installed."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import dpsumm
from dpsumm.cli.app import COMMANDS

LATER = (
    "numpy",
    "dp_accounting",
    "mpmath",
    "narwhals",
    "polars",
    "pyarrow",
    "pandas",
    "matplotlib",
    "scipy",
)
LATER += ("sklearn", "typer", "rich", "ray", "flwr")


def loaded_by(statement):
    """Which of the packages a fresh interpreter has loaded after a statement."""
    shown = f"import sys; {statement}; print(*(n for n in {LATER!r} if n in sys.modules))"
    done = subprocess.run([sys.executable, "-c", shown], capture_output=True, check=True, text=True)
    return done.stdout.split()


def test_import_loads_neither_the_accountant_nor_extras():
    assert loaded_by("import dpsumm; dir(dpsumm)") == []
    assert loaded_by("import dpsumm; dpsumm.summarize, dpsumm.learn, dpsumm.synthesize") == []


def test_what_is_loaded_is_seen():
    found = loaded_by("import dpsumm; dpsumm.plan(40, 60)")
    assert "mpmath" in found
    assert "polars" not in found


def test_the_list_of_commands_needs_no_more_than_the_command_line():
    shown = "from typer.testing import CliRunner; from dpsumm.cli.app import app; "
    shown += "assert 'schema' in CliRunner().invoke(app, ['--help']).output"
    assert loaded_by(shown) == ["typer"]


@pytest.mark.parametrize("word", ["summarize", "learn", "synthesize"])
def test_the_help_of_a_run_loads_no_arrays(word):
    shown = "from typer.testing import CliRunner; from dpsumm.cli.app import app; "
    shown += f"assert '--epsilon' in CliRunner().invoke(app, [{word!r}, '--help']).output"
    assert loaded_by(shown) == ["typer"]


@pytest.mark.parametrize("room", ["", ".summary", ".ensemble", ".vertical", ".privacy"])
def test_every_name_is_found_where_type_checkers_are_told_it_is(room):
    package = importlib.import_module(f"dpsumm{room}")
    (block,) = (node for node in ast.parse(Path(package.__file__).read_text()).body
                if isinstance(node, ast.If))  # fmt: skip
    told = {
        alias.name: node.module
        for node in ast.walk(block)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert told.keys() == set(package.__all__)
    for name, module in told.items():
        found = importlib.import_module(module)
        # A module of that name would hide what is told.
        assert getattr(package, name) is getattr(found, name)
        assert name in dir(package)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        package.nothing  # noqa: B018


def test_twenty_names_are_listed_and_those_of_0_1_are_found():
    assert len(dpsumm.__all__) == 20
    for room, names in dpsumm._MOVED.items():
        for name in names.split():
            assert getattr(dpsumm, name) is getattr(getattr(dpsumm, room), name)
            assert name in getattr(dpsumm, room).__all__
            assert name not in dir(dpsumm)


def modules_of_ours(statement):
    """Names of this package's modules that a fresh interpreter has loaded after a statement."""
    shown = f"import sys; {statement}; print(*(n for n in sys.modules if n.startswith('dpsumm.')))"
    done = subprocess.run([sys.executable, "-c", shown], capture_output=True, check=True, text=True)
    return set(done.stdout.split())


def test_the_package_alone_loads_none_of_its_modules():
    assert modules_of_ours("import dpsumm") == {"dpsumm.basics", "dpsumm.basics.lazy"}


def test_the_list_of_commands_loads_no_command():
    shown = "from dpsumm.cli.app import app; from typer.testing import CliRunner; "
    shown += "CliRunner().invoke(app, ['--help'])"
    loaded = modules_of_ours(shown)
    assert {name for name in loaded if not name.startswith("dpsumm.cli")} == {
        "dpsumm.basics",
        "dpsumm.errors",
        "dpsumm.basics.lazy",
        "dpsumm.basics.visible",
    }
    assert loaded.isdisjoint(f"dpsumm.cli.{word}" for word in COMMANDS)


def test_a_call_loads_neither_other_rooms_nor_the_pages_of_reports():
    loaded = modules_of_ours("import dpsumm.summary.outcome")
    rooms = {name.split(".")[1] for name in loaded}
    assert rooms.isdisjoint({"audit", "cli", "ensemble", "flower", "vertical"})
    pages = {"page", "pictures", "by_column", "demo", "silos", "estimator"}
    assert loaded.isdisjoint(f"dpsumm.summary.{name}" for name in pages)
    assert loaded.isdisjoint(f"dpsumm.report.{name}" for name in ("figures", "panels"))
    assert "dpsumm.summary.page" in modules_of_ours("import dpsumm.summary.page")


def test_kernels_are_found_when_asked_for():
    loaded = {name.split(".")[1] for name in modules_of_ours("import dpsumm; dpsumm.kernels")}
    assert loaded == {"basics", "errors", "kernels"}
    assert modules_of_ours("import dpsumm; dpsumm.errors.DpsummError")
