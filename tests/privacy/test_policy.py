"""An owner's rules: read strictly, and how much they let leave."""

import re

import pytest

from dpsumm.errors import InvalidParameterError
from dpsumm.privacy.package import package_digest
from dpsumm.privacy.policy import Policy
from dpsumm.privacy.receipts import Sent

KNOWN = {"summarize/offers/1", "learn/votes/1"}
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + 42 * "x" + "A"
OTHER = KEY.replace("x", "y")
RULES = {
    "version": '"0.1.0"',
    "package": f'"{64 * "a"}"',
    "protocols": '["summarize/offers/1"]',
    "records": "100",
    "records-per-day": "40",
    "receipts": '"receipts.db"',
    "key": '"receipts.key"',
}
CLINIC = f'[consumers.clinic]\nkey = "{KEY} a comment"\npurposes = ["care"]\nrecords = 60\n'


@pytest.fixture
def read(tmp_path):
    def read(consumers=CLINIC, **changes):
        rules = {**RULES, **{key.replace("_", "-"): value for key, value in changes.items()}}
        lines = [f"{key} = {value}\n" for key, value in rules.items() if value is not None]
        path = tmp_path / "policy.toml"
        path.write_text("".join(lines) + consumers)
        return Policy.read(path, KNOWN)

    return read


def test_the_rules_of_a_file(read, tmp_path):
    policy = read()
    assert (policy.records, policy.per_day) == (100, 40)
    assert policy.receipts == tmp_path / "receipts.db"
    assert policy.consumer(KEY).name == "clinic"
    assert policy.consumer(OTHER) is None
    assert policy.purposes("clinic") == {"care"}
    assert read(records_per_day=None).per_day is None


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        *(({key.replace("-", "_"): None}, f"{key} is missing") for key in RULES
          if key != "records-per-day"),
        ({"records": "-1"}, "records must be a whole number"),
        ({"records": "true"}, "records must be"),
        ({"records": "1.5"}, "records must be"),
        ({"records_per_day": '"9"'}, "records-per-day must be"),
        ({"version": "1"}, "version must be a text"),
        ({"version": '" "'}, "version must be a text"),
        ({"package": '"abc"'}, "package must be the 64 digits"),
        ({"protocols": "[]"}, "protocols must be a list"),
        ({"protocols": '["summarize/offers/2"]'}, "protocols must be some of .*got 'summarize"),
        ({"max_points": "3"}, "max-points is no key"),
        ({"consumers": ""}, "consumers is missing"),
        ({"consumers": "[consumers]\n"}, "consumers must name"),
        ({"consumers": CLINIC.replace(KEY, "ssh-rsa AAAA")}, r"clinic: key must be an Ed25519"),
        ({"consumers": CLINIC.replace('["care"]', "[]")}, "clinic: purposes must be"),
        ({"consumers": CLINIC.replace("60", "-60")}, "clinic: records must be"),
        ({"consumers": CLINIC + "until = 3\n"}, "clinic: until is no key"),
        ({"consumers": CLINIC + CLINIC.replace("clinic", "b")}, "two have one key"),
        ({"consumers": "consumers = 3\n"}, "consumers must be a table"),
        ({"consumers": "[consumers\n"}, "is not TOML"),
    ],
)  # fmt: skip
def test_a_wrong_rule_is_named(read, changes, named):
    with pytest.raises(InvalidParameterError, match=named):
        read(**changes)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InvalidParameterError, match=re.escape(str(tmp_path / "no.toml"))):
        Policy.read(tmp_path / "no.toml", KNOWN)


@pytest.mark.parametrize(
    ("sent", "limit"),
    [
        ((100, 60, 40), None),
        ((101, 60, 40), "records would be 101, at most 100"),
        ((100, 61, 40), "consumers.clinic.records would be 61"),
        ((100, 60, 41), "records-per-day would be 41"),
    ],
)
def test_each_limit_holds_to_the_record(read, sent, limit):
    ever, consumer, today = sent
    found = read().too_many("clinic", Sent(ever, consumer, 10**6), today)
    assert found is None if limit is None else found.startswith(limit)


def test_limits_that_are_left_out_bound_nothing(read):
    policy = read(CLINIC.replace("records = 60\n", ""), records_per_day=None)
    assert policy.too_many("clinic", Sent(100, 100, 100), 100) is None


def test_the_digest_of_a_package_is_of_names_and_contents(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "inner" / "b.py").write_text("")
    first = package_digest(tmp_path)
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "a.pyc").write_text("x")
    assert package_digest(tmp_path) == first
    seen = {first}
    (tmp_path / "a.py").write_text("x = 2\n")
    seen.add(package_digest(tmp_path))
    (tmp_path / "a.py").rename(tmp_path / "c.py")
    seen.add(package_digest(tmp_path))
    (tmp_path / "new.py").touch()
    seen.add(package_digest(tmp_path))
    assert len(seen) == 4
    assert package_digest() == package_digest()
