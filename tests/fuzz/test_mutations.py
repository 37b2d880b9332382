"""Hostile bytes in every test run: thousands of mutations of good inputs, without coverage.

The targets' checks say what must hold; ``make fuzz`` looks for longer, guided by coverage.
"""

import random
import time

import pytest

from fuzz import fuzz_ledger, fuzz_tables, fuzz_wire


def mutated(chance: random.Random, seeds: list[bytes], tokens: list[bytes]) -> bytes:
    """A seed with a few things wrong."""
    data = bytearray(chance.choice(seeds))
    for _ in range(chance.choice((1, 1, 2, 4, 16))):
        at = chance.randrange(len(data) + 1)
        length = min(chance.choice((1, 1, 2, 4, 8, 100)), len(data) - at)
        way = chance.randrange(7)
        if way == 0 and length:
            data[at] ^= 1 << chance.randrange(8)
        elif way == 1:
            data[at : at + length] = chance.randbytes(length)
        elif way == 2:
            del data[at : at + length]
        elif way == 3:
            data[at:at] = data[at : at + length] * chance.choice((1, 1, 50))
        elif way == 4:
            data[at : at + chance.choice((0, length))] = chance.choice(tokens)
        elif way == 5:
            other = chance.choice(seeds)
            data[at:] = other[chance.randrange(len(other)) :]
        else:
            data[at : at + length] = bytes([chance.choice((0, 1, 0x7F, 0x80, 0xFF))]) * length
    return bytes(data)


@pytest.mark.parametrize(
    ("target", "count"),
    [(fuzz_wire, 5000), (fuzz_tables, 1000), (fuzz_ledger, 150)],
    ids=["wire", "tables", "ledger"],
)
def test_mutated_input_is_refused_or_good(target, count, seed, tmp_path):
    assert sum(target.check(data, str(tmp_path)) for data in target.SEEDS) > len(target.SEEDS) / 3
    chance = random.Random(seed)
    good = 0
    for _ in range(count):
        data = mutated(chance, target.SEEDS, target.TOKENS)
        (tmp_path / "last").write_bytes(data)  # to be found, whatever happens
        started = time.process_time()
        good += target.check(data, str(tmp_path))
        assert time.process_time() - started < 10
    # Neither a wall nor an open door: about one in ten is good, of the wire's one in thirty.
    assert 0 < good < count
