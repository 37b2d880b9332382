"""What goes wrong, as data: drawn from a seed, shrunken by Hypothesis, pasted into a test.

An act is one thing that a process does to the world: a statement of SQLite, an act on a file, a
letter sent, an answer computed, a reply on its way, a sleep. Each process counts its acts of each
sort from 0, anew in every life of the curator.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from hypothesis import strategies as st

CURATOR = "curator"


class How(Enum):
    """What befalls an act."""

    def __repr__(self) -> str:
        return str(self)

    ERROR = "it fails"
    FULL = "the disk is full"
    LATE_ERROR = "it is done and reported as failed"
    KILL_BEFORE = "the process dies before it"
    KILL_AFTER = "the process dies after it"
    TORN = "the machine dies with half of it on the disk"
    RIVAL = "another curator of the run begins before it"
    OTHER = "the curator of another run on the same books begins before it"
    LOST = "it never comes"
    DOUBLED = "it comes twice"
    LATE = "it comes late"
    CUT = "it comes cut short"
    LENGTHENED = "it comes with bytes behind its end"
    FORGED = "it comes from another address"
    DOWN = "the engine dies and forgets all that is on its way"
    JUMP = "the clock has jumped"


_STORED = (How.ERROR, How.FULL, How.LATE_ERROR, How.KILL_BEFORE, How.KILL_AFTER, How.TORN)
_CARRIED = (How.LOST, How.DOUBLED, How.LATE, How.CUT, How.LENGTHENED)
# What can befall an act of each sort.
CHOICES: dict[str, tuple[How, ...]] = {
    "sql": (*_STORED, How.RIVAL, How.OTHER),
    "file": _STORED,
    "letter": (*_CARRIED, How.KILL_BEFORE, How.KILL_AFTER, How.RIVAL, How.OTHER, How.DOWN),
    "answer": (How.KILL_BEFORE, How.KILL_AFTER),
    "reply": (*_CARRIED, How.FORGED),
    "sleep": (How.JUMP, How.DOWN, How.KILL_BEFORE),
}
# Not of an owner's process: it sends no letters, and nobody is its rival.
_CURATORS = (How.RIVAL, How.OTHER, How.DOWN)


@dataclass(frozen=True)
class Fault:
    """One fault.

    Attributes
    ----------
    sort, at, who
        The act: its sort, its number, whose it is.
    how
        What befalls it.
    much
        How many acts in a row for errors of the disk; how many seconds for a delay or a jump (for
        one back of the calendar below 0); how late a second copy is; which part of what is cut or
        torn, in sixteenths.
    """

    sort: str
    at: int
    how: How
    who: str = CURATOR
    much: int = 1


@dataclass(frozen=True)
class Life:
    """The curator's process from its start to its end, good or bad.

    Attributes
    ----------
    run
        Number of the run that it works at, from 0.
    faults
        What goes wrong meanwhile.
    """

    run: int = 0
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True)
class Plan:
    """A lifetime of the books.

    Attributes
    ----------
    lives
        Of curators, one after another. After them each run is taken up once more without a fault.
    capped
        Whether the books allow one run and no second.
    stingy
        Whether owners let go of the records of one run and no second.
    """

    lives: tuple[Life, ...]
    capped: bool = False
    stingy: bool = False


# Acts of each sort of each process in a run without a fault: (process, sort) to their number.
Census = Mapping[tuple[str, str], int]


def plans(census: Census, *, runs: int = 3, lives: int = 4, faults: int = 6) -> st.SearchStrategy:
    """Return the plans of a system, the simplest first: few lives, few faults, early ones."""
    return st.builds(
        Plan,
        st.lists(_lives(census, runs, faults), min_size=1, max_size=lives).map(tuple),
        st.sampled_from((False, False, False, True)),
        st.sampled_from((False,) * 9 + (True,)),
    )


def _lives(census: Census, runs: int, faults: int) -> st.SearchStrategy:
    drawn = st.lists(_faults(census), max_size=faults).map(tuple)
    return st.builds(Life, st.integers(0, runs - 1), drawn)


@st.composite
def _faults(draw: st.DrawFn, census: Census) -> Fault:
    # As often the curator as all others together.
    acts = sorted(census, key=lambda act: (act[0] != CURATOR, act))
    mine = draw(st.sampled_from((True, False)))
    who, sort = draw(st.sampled_from([act for act in acts if mine == (act[0] == CURATOR)] or acts))
    hows = [how for how in CHOICES[sort] if who == CURATOR or how not in _CURATORS]
    how = draw(st.sampled_from(hows))
    at = draw(st.integers(0, census[who, sort] - 1))
    return Fault(sort, at, how, who, draw(_MUCH.get(how, st.just(1))))


_MUCH: dict[How, st.SearchStrategy] = {
    How.ERROR: st.integers(1, 4),
    How.FULL: st.integers(1, 40),
    How.CUT: st.integers(0, 15),
    How.DOUBLED: st.integers(0, 1),
    How.TORN: st.integers(0, 15),
    How.LATE: st.integers(1, 40),
    How.JUMP: st.integers(-100, 100),
}
