"""Searches with fresh seeds until the time is up: ``python -m simulator --seconds 60``.

Prints each seed, and the command that repeats its search. With ``--planted`` it plants the bugs
instead and says after how many plans each is found.
"""

import argparse
import secrets
import sys
import time
from collections import Counter
from itertools import cycle

from simulator.planted import BUGS, MOST, find
from simulator.search import search
from simulator.systems import SYSTEMS


def main() -> int:
    """Search; return how many searches found something."""
    parser = argparse.ArgumentParser(prog="python -m simulator", description=__doc__)
    parser.add_argument("--seconds", type=float, help="search with fresh seeds for so long")
    parser.add_argument("--system", choices=[*SYSTEMS], help="one system alone")
    parser.add_argument("--seed", type=int, help="one search alone, with this seed")
    parser.add_argument("--plans", type=int, default=50, help="plans of a search")
    parser.add_argument("--planted", action="store_true", help="plant bugs, and look for them")
    given = parser.parse_args()
    if given.planted:
        return planted(secrets.randbits(32) if given.seed is None else given.seed)
    names = [given.system] if given.system else [*SYSTEMS]
    end = time.monotonic() + (0 if given.seconds is None else given.seconds)
    plans, lives, found, faults = Counter(), Counter(), 0, Counter()
    for number, name in enumerate(cycle(names)):
        # Every system once, and as long as there is time.
        if number >= len(names) and time.monotonic() >= end:
            break
        seed = secrets.randbits(32) if given.seed is None else given.seed
        done = search(SYSTEMS[name], seed, given.plans)
        print(f"{name}: seed {seed}, {done.simulated} plans: ", end="", flush=True)
        plans[name] += done.simulated
        lives[name] += done.lives
        faults.update(done.faults)
        if done.error is None:
            print(f"nothing found ({done.again})", flush=True)
            continue
        found += 1
        print(f"FOUND {done.error}\n  {done.plan!r}\n  {done.again}", flush=True)
    for name in names:
        print(f"{name}: {plans[name]} runs simulated, {lives[name]} lives of curators")
    print(f"{plans.total()} runs simulated, {faults.total()} faults, found in {found} searches")
    return found


def planted(seed: int) -> int:
    """Plant every bug and look for it; return how many were not found."""
    missed = 0
    for name, (system, _) in BUGS.items():
        done = find(name, seed, MOST)
        missed += done.error is None
        said = f"found by plan {done.simulated}" if done.error else "NOT FOUND"
        print(f"{name} ({system}): {said}", flush=True)
    print(f"seed {seed}: {len(BUGS) - missed} of {len(BUGS)} planted bugs found")
    return missed


if __name__ == "__main__":
    sys.exit(min(main(), 1))
