"""Every way by which a number that depends on records leaves a party, as a real run.

A path runs the real roles over records, takes what left from the messages, and takes off what a
slow twin adds up record by record.
"""

from functools import partial

from learning_paths import export, updates, votes
from models_paths import dp_sgd, on_weights, slope
from path import Path
from points_paths import auction, offers
from rows_paths import WIDE, rows, rows_of_same_columns

from dpsumm.privacy import Unit
from dpsumm.vertical.trees import Tree

TARGET = "target's noisy mean embedding"
OF_ROWS = ("one-way", "two-way")
# The first adds noise to two tables of one shape, each with another peer.
THREE = ((4,), (3,), (3,))
TWO = ((2, 2), (2, 2))
# A table of the first owner's own columns and one of both owners' are counted again.
SMALL, AGAIN = ((4, 3), (4, 2)), ((0, 1), (1, 2))
IN_TWO = (*OF_ROWS, "two-way")
TREES = ((WIDE, Tree(3)), (Tree(4), WIDE))
PATHS = [
    Path("Offers, random features, towards owners", offers("random"), (TARGET,)),
    Path("Offers, landmarks, towards owners", offers("landmarks"), (TARGET,)),
    Path("Auction, towards owners", auction, (TARGET, "noisy mean embedding"), 20.0, (30, 90)),
    Path("votes of two classes", votes(2), ("noisy votes",), 0.3, (20, 300)),
    Path("votes of four classes", votes(4), ("noisy votes",), 0.3, (20, 300)),
    Path("votes on a grid", votes(2, grid=7), ("noisy votes",), 0.3, (20,)),
    Path("votes of four classes on a grid", votes(4, grid=3), ("noisy votes",), 0.3, (20,)),
    Path(
        "votes of shards, a record as the unit",
        votes(3, Unit.REPLACE_RECORD, shards=4),
        ("noisy votes",),
        0.3,
        (20, 300),
    ),
    Path("votes of shards, an owner as the unit", votes(3, shards=4), ("noisy votes",), 0.3, (60,)),
    Path(
        "updates of three classes, an owner as the unit",
        updates(3, Unit.WHOLE_OWNER),
        ("noisy moments",),
        1.0,
        (40,),
    ),
    Path(
        "updates of three classes, a record as the unit",
        updates(3, Unit.REPLACE_RECORD),
        ("noisy moments",),
        1.0,
        (40,),
    ),
    Path(
        "updates with points unlike the records, a record as the unit",
        updates(2, Unit.REPLACE_RECORD, rounds=8, apart=True),
        ("noisy moments",),
        1.0,
        (20,),
    ),
    Path("exported model, towards everybody", export, ("sums and products",), 1.0, (10, 60)),
    Path(
        "exported model of three classes",
        partial(export, classes=("a", "b", "c")),
        ("sums and products",),
        1.0,
        (10, 60),
    ),
    Path("rows, towards the analyst", rows(None), OF_ROWS, 0.1),
    Path("rows of two levels, towards the analyst", rows(None, TWO), OF_ROWS, 0.1, (60,)),
    Path("rows of two levels, towards an owner", rows("bank", TWO), OF_ROWS, 0.1, (60,)),
    Path("rows, towards the first owner", rows("bank"), OF_ROWS, 0.1),
    Path("rows, towards the second owner", rows("clinic"), OF_ROWS, 0.1),
    *(
        Path(f"rows in two rounds, towards {who}", rows(of, SMALL, again=AGAIN), IN_TWO, 0.1, (60,))
        for who, of in (("the analyst", None), ("the first owner", "bank"))
    ),
    Path("rows of the same columns, towards everybody", rows_of_same_columns, OF_ROWS, 0.1),
    Path("rows with trees, towards the analyst", rows(None, trees=TREES), OF_ROWS, 0.1),
    Path("rows with trees, towards the first owner", rows("bank", trees=TREES), OF_ROWS, 0.1),
    Path("rows of three owners, towards the analyst", rows(None, THREE), OF_ROWS, 0.1, (60,)),
    Path("rows of three owners, towards the last", rows("registry", THREE), OF_ROWS, 0.1, (60,)),
    Path("DP-SGD, towards everybody", dp_sgd, ("weights of a model of",), 1.0, (60,), False),
    Path(
        "private model's slope, towards everybody",
        slope,
        ("weights of a model of",),
        1.0,
        (400,),
        False,
    ),
    Path(
        "private model's slope, three classes",
        partial(slope, classes=3),
        ("weights of a model of",),
        1.0,
        (400,),
        False,
    ),
    Path("private model's weights", on_weights, (), 1.0, (400,), False),
]
