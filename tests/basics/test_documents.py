"""TOML and JSON of another party: refused in words, in little time, whatever they hold."""

import ast
import contextlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpsumm
from dpsumm.basics import documents
from dpsumm.cli.products import read_run
from dpsumm.data.column import Column
from dpsumm.data.schema import Schema
from dpsumm.data.schema_toml import from_toml, to_toml
from dpsumm.data.written import read_about
from dpsumm.errors import DpsummError, InvalidDataError, InvalidParameterError, ProtocolError
from dpsumm.exchange.statements import Statement
from dpsumm.privacy.policy import Policy
from dpsumm.privacy.receipt import Receipt
from dpsumm.report.audits import AuditResults

HEAD = "version = 1\n[columns.a]\n"
TOML = {
    "arrays in arrays": (HEAD + "bounds = " + "[" * 3000, "deep"),
    "arrays in arrays, closed": (HEAD + "bounds = " + "[" * 70 + "]" * 70, "deep"),
    "tables in tables": ("".join(f"[{'a.' * i}a]\n" for i in range(9)), "8 parts"),
    "a long dotted key": ("version = 1\na" + ".a" * 30_000 + " = 1\n", "8 parts"),
    "a long quoted key": ("a" + " . ''" * 30_000 + " = 1\n", "8 parts"),
    "a key that is hidden by strings": ('a = "#"\nb."#\\"".' + "'x'." * 9000 + "c=1", "8 parts"),
    "a long name of a table": ("[a" + '."a"' * 30_000 + "]\n", "8 parts"),
    "an integer of 5000 digits": (HEAD + "bounds = [0, " + "9" * 5000 + "]\n", "digits"),
    "an integer in hexadecimal": (HEAD + "bounds = [0, 0x" + "f" * 50_000 + "]\n", "too large"),
    "an integer that no float holds": (HEAD + "bounds = [0, 1" + "0" * 400 + "]\n", "too large"),
    "a mark that no float holds": (
        HEAD + "bounds = [0, 1]\nmissing = [1" + "0" * 400 + "]\n",
        "too large",
    ),
    "tables in braces": (HEAD + "bounds = " + "{a=" * 3000, "deep"),
    "a long key in braces": (HEAD + "bounds = {a" + ".a" * 30_000 + " = 1}\n", "8 parts"),
    "a long key of quotes": ("a" + '."\\"a"' * 30_000 + " = 1\n", "8 parts"),
    "many keys of some parts": (
        "".join(f"k{i}{'.a' * 62} = 1\n" for i in range(20_000)),
        "8 parts",
    ),
    "a text without end": (HEAD + 'bounds = "' + "a" * 100_000, "TOML"),
    "too long": ("#" * (documents.MOST_TOML + 1), "16 MiB"),
    "open strings": ('a = """' + '\\"""' * 30_000, "string"),
}
JSON = {
    "arrays in arrays": "[" * 100_000,
    "arrays in arrays, closed": "[" * 70 + "]" * 70,
    "objects in objects": '{"a":' * 70 + "1" + "}" * 70,
    "an integer of 5000 digits": "[" + "9" * 5000 + "]",
    "an integer that no float holds": '{"format": 1' + "0" * 400 + "}",
    "half a text": '{"format": "',
}


@pytest.mark.parametrize("what", TOML)
def test_hostile_toml_is_refused_in_words_and_soon(what: str, tmp_path: Path) -> None:
    text, said = TOML[what]
    path = tmp_path / "a.toml"
    path.write_text(text)
    readers: list[Callable[[], Any]] = [
        lambda: Schema.from_toml(text, "schema.toml"),
        lambda: Schema.read(path),
        lambda: Policy.read(path, ["summarize/offers"]),
        lambda: read_run(path),
        lambda: dpsumm.run(path),
    ]
    for read in readers:
        started = time.process_time()
        with pytest.raises(InvalidParameterError, match=said) as told:
            read()
        assert time.process_time() - started < 2
        assert len(str(told.value)) < 400


def test_bytes_that_are_no_text_are_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(b"version = 1\n\xff")
    for read in (Schema.read, read_run, lambda p: Policy.read(p, ["a"])):
        with pytest.raises(InvalidParameterError, match="not UTF-8"):
            read(path)


@pytest.mark.parametrize("what", JSON)
def test_hostile_json_is_refused_in_words(what: str, tmp_path: Path) -> None:
    text = JSON[what]
    path = tmp_path / "a.json"
    path.write_text(text)
    (tmp_path / "a.csv").write_text("x\n")
    (tmp_path / "a.csv.json").write_text(text)
    with pytest.raises(InvalidDataError):
        AuditResults.read(path)
    with pytest.raises(InvalidDataError):
        read_about(tmp_path / "a.csv")
    with pytest.raises(ProtocolError):
        Statement.parse(text.encode())
    with pytest.raises(InvalidDataError):
        Receipt.parse(text)


def test_a_json_file_without_end_is_not_read_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "MOST_JSON", 100)
    (tmp_path / "a.json").write_text('{"format": "' + "a" * 100 + '"}')
    with pytest.raises(InvalidDataError):
        AuditResults.read(tmp_path / "a.json")


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "bounds = [0, inf]\n",
        HEAD + "bounds = [0, 1e999]\n",
        HEAD + "bounds = [-1e308, 1e308]\n",
        HEAD + "bounds = [{}, []]\n",
        HEAD + "bounds = [[0], 1]\n",
        HEAD + "bounds = [0, 1]\nmissing = [[1]]\n",
        HEAD + "bounds = [0, 1]\nmissing = [nan, inf, {}]\n",
        HEAD + "bounds = [0, 1]\nweight = 1e999\n",
        HEAD + "bounds = [0, 1]\nwhen_missing = []\n",
        HEAD + "kind = {}\n",
        HEAD + "kind = [1]\n",
        HEAD + "categories = [[1], {a = 1}]\n",
        HEAD + "categories = [18446744073709551615, -18446744073709551615]\n",
        HEAD + "categories = [1, true, 1.0]\n",
        HEAD + "categories = [1979-05-27T07:32:00Z, 07:32:00]\n",
        HEAD + "bounds = [1979-05-27, 07:32:00]\n",
        HEAD + "bounds = [1979-05-27T07:32:00Z, 1980-05-27]\n",
        HEAD + "bounds = [1979-05-27, 1980-05-27]\ndate_format = '%'\n",
        HEAD + "bounds = [0, 18446744073709551615]\nwhole = true\n",
        HEAD + "bounds = [-18446744073709551615, 18446744073709551615]\nweight = 5e-324\n",
        'version = 1\n[columns."\\u0000"]\nbounds = [0, 1]\n',
        'version = 1\n[columns.""]\nbounds = [0, 1]\n',
        "version = true\n[columns.a]\nbounds = [0, 1]\n",
        "version = 1\ncolumns = [1]\n",
    ],
)
def test_a_strange_schema_is_refused_in_words_or_taken(text: str) -> None:
    try:
        schema = Schema.from_toml(text, "schema.toml")
    except DpsummError:
        return
    assert from_toml(to_toml(schema.columns), "again") == list(schema.columns)


@pytest.mark.parametrize("given", [{"bounds": (0, 10**400)}, {"missing": (10**400,)}])
def test_a_column_with_a_number_that_no_float_holds_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError, match="numbers"):
        Column("a", **{"bounds": (0, 1), **given})


def test_long_schemas_and_dots_in_values_are_taken() -> None:
    lines = [f"[columns.c{i}]\nbounds = [-0.5, {i}.5]\n" for i in range(5000)]
    dots = 'missing = ["a.b.c.d.e.f.g.h.i.j.k", "' + "." * 100 + '"]  # 1.2.3.4.5.6.7.8.9.0.1\n'
    text = "version = 1\n" + "".join(lines) + dots
    assert len(Schema.from_toml(text, "schema.toml").names) == 5000


@given(st.text(alphabet="a.\"=[]{}\n 1,'", max_size=60))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    with contextlib.suppress(InvalidParameterError):
        documents.parse_toml(text, "a.toml")
    with contextlib.suppress(InvalidDataError):
        documents.parse_json(text)


def test_large_schemas_and_decimals_are_no_attack() -> None:
    categories = [f"www.{i}.example.com" for i in range(20_000)]
    weights = [i / 7 for i in range(20_000)]
    text = f"a = {json.dumps(categories)}\nb = {json.dumps(weights)}\n"
    assert documents.parse_toml(text, "a.toml") == {"a": categories, "b": weights}


def test_only_one_place_calls_the_parsers() -> None:
    """What another party wrote reaches none of them past the limits."""
    root = Path(dpsumm.__file__).parent
    found = set()
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = (
                [f"{node.value.id}.{node.attr}"]
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
                else [f"{node.module}.{one.name}" for one in node.names]
                if isinstance(node, ast.ImportFrom)
                else []
            )
            for name in names:
                if name in ("json.loads", "json.load", "tomllib.loads", "tomllib.load"):
                    found.add(path.relative_to(root).as_posix())
    assert found == {"basics/documents.py"}
