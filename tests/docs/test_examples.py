"""Examples run as they are printed: Markdown blocks marked python or sh, and doctests.

A block marked toml is a schema. Of a block marked sh the lines run that call dpsumm. A block marked
text right after one marked python is what that one prints, but for line breaks.
"""

import contextlib
import doctest
import functools
import importlib
import inspect
import io
import pkgutil
import re
import shlex
from enum import Enum
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import dpsumm
from dpsumm.cli import main
from dpsumm.data.schema import Schema

ROOT = Path(__file__).parents[2]
PAGES = [page for page in (ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))) if page.exists()]
BLOCK = re.compile(
    r"^```(?P<kind>python|sh|toml)\n(?P<code>.*?)^```$(?:\n\n```text\n(?P<printed>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
MODULES = [
    module.name
    for module in pkgutil.walk_packages(dpsumm.__path__, "dpsumm.")
    if not module.name.endswith("__main__")
    # What these stand on has environments of its own, see make silos and make sgd-test.
    and not module.name.startswith(
        (
            "dpsumm.flower",
            "dpsumm.exchange.certificates",
            "dpsumm.exchange.signatures",
            "dpsumm.summary.models.network",
        )
    )
]


def run_commands(code, where):
    """Run the lines of a shell block that call dpsumm; each has to end well."""
    for words in map(comments_left_out, code.replace("\\\n", " ").splitlines()):
        if words[:1] == ["dpsumm"]:
            with (
                contextlib.redirect_stderr(io.StringIO()) as errors,
                pytest.raises(SystemExit) as end,
            ):
                main(words[1:])
            assert not end.value.code, f"{where}: {shlex.join(words)}\n{errors.getvalue()}"


def comments_left_out(line):
    return shlex.split(line, comments=True)


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The files that commands of the pages name, in the current folder."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name, rows in (("north", 300), ("south", 400), ("clinic", 500), ("sample", 100)):
        table = pl.DataFrame(
            {
                "age": rng.normal(60, 8, rows).round().clip(20, 90),
                "pressure": rng.normal(120, 12, rows).round(1),
                "outcome": rng.integers(0, 2, rows),
            }
        )
        table.write_csv(f"{name}.csv")
        table.write_parquet(f"{name}.parquet")
    Path("my-data.csv").write_bytes(Path("north.csv").read_bytes())


def run_blocks(page, namespace):
    """Run a page's blocks in their order; an error names the page's own line."""
    text = page.read_text("utf-8")
    blocks = list(BLOCK.finditer(text))
    for block in blocks:
        line = text.count("\n", 0, block.start("code"))
        with contextlib.redirect_stdout(io.StringIO()) as output:
            if block["kind"] == "python":
                exec(compile("\n" * line + block["code"], str(page), "exec"), namespace)
            elif block["kind"] == "toml":
                Schema.from_toml(block["code"], f"{page}, the block at line {line + 1}")
            else:
                run_commands(block["code"], f"{page}, the block at line {line + 1}")
        if block["printed"] is not None:
            assert output.getvalue().split() == block["printed"].split(), (
                f"{page}: the block at line {line + 1} prints\n{output.getvalue()}"
            )
    claims = len(re.findall("^```text", text, re.MULTILINE))
    assert claims == sum(block["printed"] is not None for block in blocks), (
        f"{page}: a block marked text does not follow the block that prints it"
    )
    return len(blocks)


# What an example shows of noisy results is no law: chance does not decide about a page.
@pytest.mark.same_draws
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_of_a_page_run_in_order(page, files):
    count = run_blocks(page, {"__name__": "__main__"})
    if page.name == "README.md":
        assert count >= 1, "the README shows no example"


def test_a_broken_command_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```sh\nmake demo\ndpsumm --version\ndpsumm summarize --nonsense\n```\n")
    with pytest.raises(AssertionError, match=r"dpsumm summarize --nonsense"):
        run_blocks(page, {})


def test_a_broken_block_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# A\n```python\nx = 1\n```\n```sh\nno python\n```\n```python\nassert x == 2\n```\n"
    )
    with pytest.raises(AssertionError) as caught:
        run_blocks(page, {})
    assert caught.traceback[-1].lineno + 1 == 9


@pytest.mark.parametrize(
    "page",
    [
        "```python\nprint(1)\n```\n\n```text\n2\n```\n",
        "```python\nprint(1)\n```\n\nIt prints:\n\n```text\n1\n```\n",
    ],
    ids=["other output", "output apart from its block"],
)
def test_a_wrong_output_is_noticed(page, tmp_path):
    path = tmp_path / "page.md"
    path.write_text(page)
    with pytest.raises(AssertionError, match=re.escape(str(path))):
        run_blocks(path, {})


def test_the_reference_has_every_public_name():
    pages = "".join(p.read_text("utf-8") for p in (ROOT / "docs" / "reference").glob("*.md"))
    names = re.findall(r"^::: dpsumm\.((?:\w+\.)*)(\w+)$", pages, re.MULTILINE)
    kernels = [name for room, name in names if room == "kernels."]
    others = [name for room, name in names if room != "kernels."]
    assert sorted(kernels) == sorted(dpsumm.kernels.__all__)
    assert len(names) == len(set(names))
    rooms = (dpsumm, dpsumm.data, dpsumm.ensemble, dpsumm.summary, dpsumm.vertical, dpsumm.audit)
    public = {name for room in rooms for name in room.__all__}
    assert public - {"__version__", "errors", "kernels"} <= set(others)
    books = {name for room, name in names if room == "privacy." or name == "Ledger"}
    assert set(dpsumm.privacy.__all__) == books


SEE_ALSO = "\nSee Also\n--------\n"
# One page has them all, and says when which one is raised.
WITHOUT_NEIGHBOURS = {name for name in vars(dpsumm.errors) if name.endswith("Error")}
WITHOUT_NEIGHBOURS |= {"set_threads"}


def named(path):
    """What a full name in a section of neighbours stands for: in a module, or in a class there."""
    parts = path.split(".")
    for count in range(len(parts) - 1, 0, -1):
        with contextlib.suppress(ModuleNotFoundError):
            module = importlib.import_module(".".join(parts[:count]))
            return functools.reduce(getattr, parts[count:], module)
    raise ModuleNotFoundError(path)


def neighbours(public):
    """The full names in a docstring's section of neighbours, each with a text."""
    section = (inspect.getdoc(public) or "").partition(SEE_ALSO)[2].partition("\n\n")[0]
    lines = [line for line in section.splitlines() if not line.startswith(" ")]
    pairs = [line.partition(" : ") for line in lines]
    assert all(name and text for name, _, text in pairs), lines
    return [name for name, _, _ in pairs]


def has_example(public):
    """Whether its docstring has an example, or names first the call whose example makes one."""
    text = inspect.getdoc(public) or ""
    if "\nExamples\n" in text:
        return ">>> " in text
    beside = neighbours(public)
    return bool(beside) and ">>> " in (inspect.getdoc(named(beside[0])) or "")


def public_names():
    """Full name to class or function, of all in the reference but what needs Flower."""
    found = {}
    for page in (ROOT / "docs" / "reference").glob("*.md"):
        for name in re.findall(r"^::: (dpsumm[\w.]*)$", page.read_text("utf-8"), re.MULTILINE):
            if not name.startswith("dpsumm.flower"):
                found[name] = named(name)
    return {name: one for name, one in found.items() if isinstance(one, type) or callable(one)}


def test_public_classes_and_functions_of_the_reference_have_examples():
    found = {
        name: has_example(one)
        for name, one in public_names().items()
        if not (isinstance(one, type) and issubclass(one, (Enum, Exception)))
    }
    assert len(found) >= 90
    assert [name for name, has in found.items() if not has] == []


def test_public_classes_and_functions_of_the_reference_name_their_neighbours():
    public = public_names()
    found = {name: neighbours(one) for name, one in public.items()}
    assert len(found) >= 100
    alone = {name.rpartition(".")[2] for name, beside in found.items() if not beside}
    assert alone == WITHOUT_NEIGHBOURS
    for name, beside in found.items():
        for other in beside:  # an error names what leads nowhere
            assert named(other) is not public[name], name


@pytest.mark.parametrize(
    "name", ["dpsumm.nothing", "dpsumm.summary.Summary.nothing", "nothing.at_all"]
)
def test_a_neighbour_that_leads_nowhere_is_noticed(name):
    def lost():
        pass

    lost.__doc__ = f"""Nothing.
{SEE_ALSO}{name} : Which is not there.
"""
    assert neighbours(lost) == [name]
    with pytest.raises((AttributeError, ModuleNotFoundError)):
        named(name)


def test_a_class_without_an_example_is_noticed():
    class Bare:
        """Nothing.

        See Also
        --------
        dpsumm.errors.DpsummError : Which has none.
        """

    assert not has_example(Bare)
    Bare.__doc__ = "Nothing."
    assert not has_example(Bare)


def test_pages_are_found():
    assert any(page.parent.name == "privacy" for page in PAGES)


@pytest.mark.same_draws
@pytest.mark.parametrize("name", ["dpsumm", *MODULES])
def test_doctests(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.failed == 0
    if name == "dpsumm.summary.summarize":
        assert result.attempted >= 5
