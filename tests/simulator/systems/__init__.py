"""The systems that run in the simulator; another one is a `System` here."""

from simulator.systems.points import AUCTION, OFFERS
from simulator.systems.rows import ROWS
from simulator.systems.system import System
from simulator.systems.toy import TOY
from simulator.systems.votes import VOTES

SYSTEMS: dict[str, System] = {one.name: one for one in (TOY, OFFERS, AUCTION, VOTES, ROWS)}
