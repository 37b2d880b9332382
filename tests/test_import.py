"""What `import dpsumm` loads: nothing that is slow or may not be installed."""

import subprocess
import sys

LATER = (
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
    assert loaded_by("import dpsumm") == []


def test_what_is_loaded_is_seen():
    found = loaded_by("import dpsumm; dpsumm.plan(40, 60)")
    assert "mpmath" in found
    assert "polars" not in found


def test_the_list_of_commands_needs_no_more_than_the_command_line():
    shown = "from typer.testing import CliRunner; from dpsumm.cli.app import app; "
    shown += "assert 'schema' in CliRunner().invoke(app, ['--help']).output"
    assert loaded_by(shown) == ["typer", "rich"]
