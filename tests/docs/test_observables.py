"""Every refusal that a record might decide is in the register, and has been looked at."""

import tomllib

import observables
import pytest

REFUSALS = observables.register()["refusal"]
OTHERS = observables.register()["other"]


@pytest.mark.parametrize("file", observables.found())
def test_a_refusal_belongs_to_one_entry(file):
    entries = observables.entries_of(file, REFUSALS)
    assert len(entries) == 1, (
        f"{file} has raises that a record might decide: {observables.found()[file]}; say in "
        "docs/privacy/observables.toml who sees them"
    )


def test_all_refusals_were_looked_at():
    seen = tomllib.loads(observables.SEEN.read_text("utf-8"))
    now = {
        file: {name: raises.count(name) for name in raises}
        for file, raises in observables.found().items()
    }
    new = {
        (file, name): count
        for file, counts in now.items()
        for name, count in counts.items()
        if count > seen.get(file, {}).get(name, 0)
    }
    assert not new, f"look at these raises: who sees them, what decides them? {new}"
    gone = {
        (file, name)
        for file, counts in seen.items()
        for name, count in counts.items()
        if now.get(file, {}).get(name, 0) < count
    }
    assert not gone, f"fewer raises than observables_seen.toml says; `make messages`: {gone}"


def test_entries_are_whole():
    kinds = {one["kind"] for one in OTHERS}
    asked = {"note", "resumption", "size", "nonce", "exit code", "log", "file", "time"}
    assert asked | {"count towards a policy", "who took part"} <= kinds
    for one in (*REFUSALS, *OTHERS):
        assert all(one[part] for part in ("what", "seen_by", "depends", "claim"))
        assert not one["test"] or (observables.ROOT / one["test"]).is_file(), one["test"]
        # What nobody tests must say that it is no promise.
        assert one["test"] or one["claim"] == "not covered"


def test_the_page_is_the_register_s():
    assert observables.PAGE.read_text("utf-8") == observables.page()


PLANTED = {
    "a condition": "def f(table):\n    if table.values[0] > 3: raise E('x')",
    "computed from it": "def f(x):\n    a = x.records.sum()\n    if a: raise E('x')",
    "in a loop": "def f(rows):\n    for r in rows:\n        if g(r): raise E('x')",
    "another's error": "def f(data):\n    try: read(data)\n    except V: raise E('x') from None",
    "for whoever calls": "def f(labels): raise E('x')",
}


@pytest.mark.parametrize("how", PLANTED)
def test_a_planted_refusal_is_found(how):
    assert list(observables.decidable(PLANTED[how])) == ["f"]


def test_a_refusal_of_public_facts_is_not():
    assert not list(observables.decidable("def f(size):\n    if size < 1: raise E('x')"))
