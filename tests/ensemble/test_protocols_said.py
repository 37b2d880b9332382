"""The protocol of `learn` that options name."""

import pytest

from dpsumm import Updates, Voting
from dpsumm.ensemble.protocols import decided, protocol_said
from dpsumm.errors import InvalidParameterError

# The options of the command line and of a Flower run when nothing was typed.
UNSAID = {"models_per_owner": 1, "grid": 1, "points_are": "public", "records_per_owner": None}


@pytest.mark.parametrize(
    ("name", "typed", "meant"),
    [
        (None, {}, None),
        ("updates", {}, Updates()),
        ("votes", {}, Voting()),
        (None, {"records_per_owner": 30}, Updates(records_per_owner=30)),
        ("updates", {"records_per_owner": 30}, Updates(records_per_owner=30)),
        (None, {"learner": "tree"}, Voting(learner="tree")),
        ("votes", {"grid": 9, "models_per_owner": 2}, Voting(grid=9, models_per_owner=2)),
        (None, {"points_are": "consumer"}, Voting(points_are="consumer")),
        (None, {"grid": 0}, Voting(grid=0)),  # out of range, which `learn` refuses
    ],
)
def test_a_name_its_parameters_or_both(name, typed, meant):
    assert protocol_said(name, **UNSAID | typed) == meant


@pytest.mark.parametrize(
    ("name", "typed", "why"),
    [
        ("votes", {"records_per_owner": 30}, "records_per_owner is for updates alone"),
        ("updates", {"learner": "bayes"}, "learner is for votes alone"),
        ("updates", {"points_are": "consumer"}, "points_are is for votes alone"),
        (None, {"grid": 3, "records_per_owner": 30}, "records_per_owner is for updates alone"),
        ("both", {}, "protocol must be 'updates', 'votes'"),
        (None, {"points_are": "mine"}, "points_are must be"),
    ],
)
def test_what_belongs_to_the_other_protocol_is_refused(name, typed, why):
    with pytest.raises(InvalidParameterError, match=why):
        protocol_said(name, **UNSAID | typed)


def test_parties_without_records_vote():
    assert decided(None) == Updates()
    assert decided(None, ["a"]) == Voting()
    assert decided(Voting(grid=2)) == Voting(grid=2)
    with pytest.raises(InvalidParameterError, match="protocol: 'a' gives no records"):
        decided(Updates(), ["a"])
