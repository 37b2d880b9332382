"""The systems that run in the simulator; another one is a `System` here."""

from simulator.systems.points import AUCTION, OFFERS
from simulator.systems.rows import ROWS, SUMS
from simulator.systems.system import System
from simulator.systems.toy import TOY
from simulator.systems.votes import VOTES

EVERY: tuple[System, ...] = (TOY, OFFERS, AUCTION, VOTES, ROWS, SUMS)
SYSTEMS = {one.name: one for one in EVERY}
