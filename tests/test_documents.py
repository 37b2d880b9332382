"""TOML and JSON of other parties: parsed, or refused by one kind of error and in little time."""

import contextlib
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsumm import Schema
from dpsumm.documents import MOST_TEXT, parse_json, parse_toml
from dpsumm.errors import InvalidDataError, InvalidParameterError
from dpsumm.privacy.policy import Policy
from dpsumm.report.audits import AuditResults

HEAD = "version = 1\n[columns.a]\n"
HOSTILE = {
    "arrays in arrays": HEAD + "bounds = " + "[" * 3000,
    "tables in tables": HEAD + "bounds = " + "{a=" * 3000,
    "a long dotted key": "version = 1\na" + ".a" * 30_000 + " = 1\n",
    "a long quoted key": "version = 1\na" + " . \"a\" . 'b'" * 15_000 + " = 1\n",
    "a long name of a table": "version = 1\n[a" + ".a" * 30_000 + "]\n",
    "a long key in braces": HEAD + "bounds = {a" + ".a" * 30_000 + " = 1}\n",
    "an integer of 5000 digits": HEAD + "bounds = [0, " + "9" * 5000 + "]\n",
    "an integer that no float holds": HEAD + "bounds = [0, 1" + "0" * 400 + "]\n",
    "a mark that no float holds": HEAD + "bounds = [0, 1]\nmissing = [1" + "0" * 400 + "]\n",
    "a text without end": HEAD + 'bounds = "' + "a" * 100_000,
    "too much": HEAD + "#" * MOST_TEXT,
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_toml_file_is_refused_in_words_and_at_once(what, tmp_path):
    began = time.process_time()
    with pytest.raises(InvalidParameterError, match=r"^schema\.toml: "):
        Schema.from_toml(HOSTILE[what], "schema.toml")
    path = tmp_path / "policy.toml"
    path.write_text(HOSTILE[what])
    with pytest.raises(InvalidParameterError, match="is not TOML"):
        Policy.read(path, ())
    assert time.process_time() - began < 10  # it was minutes


@pytest.mark.parametrize("text", ["[" * 10**5, '{"a":' * 10**5, "1" + "0" * 400, "9" * 5000])
def test_a_hostile_json_file_is_refused_in_words(text, tmp_path):
    with pytest.raises(ValueError, match=r"."):
        parse_json(text)
    path = tmp_path / "audits.json"
    path.write_text(text)
    with pytest.raises(InvalidDataError, match="does not hold results"):
        AuditResults.read(path)


@given(st.text(alphabet="a.\"=[]{}\n 1,'", max_size=60))
def test_any_text_is_parsed_or_a_value_error(text):
    for parse in (parse_toml, parse_json):
        with contextlib.suppress(ValueError):
            parse(text)


def test_large_schemas_and_decimals_are_no_attack():
    categories = [f"www.{i}.example.com" for i in range(20_000)]
    weights = [i / 7 for i in range(20_000)]
    text = f"a = {json.dumps(categories)}\nb = {json.dumps(weights)}\n"
    assert parse_toml(text) == {"a": categories, "b": weights}
