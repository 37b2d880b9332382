"""One process, in which tables of two owners are counted directly: the same integers as by pads."""

from dataclasses import replace

import numpy as np
import pytest

from dpsumm import Column, Schema, Tables, synthesize
from dpsumm.vertical import together
from dpsumm.vertical.messages import MaskedRows
from dpsumm.vertical.owner import Owner
from dpsumm.vertical.together import NoHelper, OwnerTogether
from dpsumm.vertical.way import Way
from helpers.columns import World


class Together(World):
    """Owners that see each other."""

    owner_kind = OwnerTogether
    helper_kind = staticmethod(lambda _: NoHelper())

    def run(self):
        self.budget = replace(self.budget, way=Way.TOGETHER)
        self.others = {}
        return super().run()

    def owner(self, name):
        made = self.others[name] = super().owner(name)
        made.others = self.others
        return made


@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("label", [None, 0, 5])
@pytest.mark.parametrize("sizes", [[[8, 3, 2], [9, 2, 4]], [[3, 1], [1, 1], [4, 5, 2]]], ids=str)
def test_tables_are_those_by_pads(sizes, label, rounds, monkeypatch):
    monkeypatch.setattr(together, "_BLOCK", 77)
    found = []
    for kind in (World, Together):
        world = kind(np.random.default_rng(0), sizes, 300, seed=5, label=label)
        if rounds == 2:
            world.in_two_rounds(again=1)
        found.append(world.run())
        rows = [raw for *_, raw in world.sent if b"MaskedRows" in raw[:100]]
        assert rows
    one, other = found
    assert one.plan == other.plan
    assert list(one.pairs) == list(other.pairs)
    for pair, table in {**one.pairs, **one.coarse, **one.with_label}.items():
        again = {**other.pairs, **other.coarse, **other.with_label}[pair]
        np.testing.assert_array_equal(table, again)


def test_synthesize_sends_no_rows(monkeypatch):
    answers = []
    answer = Owner.answer

    def listening(self, request):
        answers.append(answer(self, request))
        return answers[-1]

    monkeypatch.setattr(Owner, "answer", listening)
    data = {name: np.arange(1000)[:, None] % 2 for name in "ab"}
    schema = {name: Schema([Column(name, categories=(0, 1))]) for name in data}
    result = synthesize(data, schema=schema, protocol=Tables(components=1, max_steps=2))
    assert [one.masked for one in answers if isinstance(one, MaskedRows)] == [(), ()]
    assert result.record.protocol == "Tables in one process"
    assert Way.TOGETHER.condition in result.record.statements
