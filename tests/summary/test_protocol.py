"""Protocols that users write: what a run asks of them, and what it refuses."""

from dataclasses import dataclass

import numpy as np
import pytest

from dpsumm import RBF, Pool, summarize
from dpsumm.data import Stream
from dpsumm.errors import InvalidParameterError
from dpsumm.papers import Auction
from dpsumm.summary import Protocol
from dpsumm.summary.protocols import Owner
from dpsumm.summary.protocols.draws import DrawCurator
from helpers.silo_curator import Loopback, run


@dataclass(frozen=True)
class FirstRows(Protocol):
    """Three rows of each owner."""

    name = "three rows"
    owners_argument = "Owners receive the number 3."
    coalition = 4

    def curator(self, setting):
        return DrawCurator(setting, dict.fromkeys(setting.names, 3))

    def published_figures(self, setting):
        return (f"The paper says {setting.size}.",)


class Silos(FirstRows):
    silos = True


def given(**more):
    owners = {"a": np.arange(20.0).reshape(10, 2), "b": np.arange(20.0).reshape(10, 2)}
    return {"owners": owners, "target": owners["a"], "size": 4, "kernel": RBF(0.1), **more}


def test_a_protocol_of_its_own_runs_and_is_reported():
    summary = summarize(**given(protocol=FirstRows()))
    assert (summary.protocol, summary.accesses, len(summary)) == ("three rows", 6, 4)
    assert summary.privacy.epsilon() == summary.privacy.epsilon(protected="owners") == 0
    assert summary.privacy.published == ("The paper says 4.",)
    assert any("Owners receive the number 3." in line for line in summary.privacy.statements())
    assert summary.privacy.coalition == 4


def test_its_owners_are_its_own():
    class LastRow(Owner):
        def answer(self, request):
            answer = super().answer(request)
            seen.append(self.table.name)
            return answer

    class Watched(FirstRows):
        def owner(self, table, seed):
            return LastRow(table, seed)

    seen = []
    summarize(**given(protocol=Watched()))
    assert seen == ["a", "b"]


@pytest.mark.parametrize("attribute", ["name", "owners_argument"])
def test_a_protocol_that_makes_no_statement_is_refused(attribute):
    silent = FirstRows()
    object.__setattr__(silent, attribute, None)
    with pytest.raises(InvalidParameterError, match=rf"FirstRows\.{attribute} must be a text"):
        summarize(**given(protocol=silent))


def test_what_a_protocol_does_not_say_it_can_do_is_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(20.0).reshape(10, 2))
    stream = Stream(tmp_path / "a.npy")
    with pytest.raises(InvalidParameterError, match="a Stream works with Offers"):
        summarize(**given(owners={"a": stream}, protocol=FirstRows()))
    channel = Loopback()
    with pytest.raises(InvalidParameterError, match="three rows runs in one process"):
        run(channel, protocol=FirstRows())
    assert channel.steps == 0
    assert len(run(channel, protocol=Silos())) == 9


@pytest.mark.parametrize("wrong", [Auction, Pool])
def test_a_class_is_not_an_instance(wrong):
    with pytest.raises(InvalidParameterError, match=f"got the class {wrong.__name__}"):
        summarize(**given(protocol=wrong))


def test_a_protocol_needs_a_curator():
    class Nothing(Protocol):
        name = owners_argument = "none"

    with pytest.raises(TypeError, match="curator"):
        Nothing()
