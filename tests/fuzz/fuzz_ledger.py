"""Any bytes as a ledger: `DpsummError`, or books well kept: charged, and never above the cap."""

import os
import tempfile

from dpsumm.errors import DpsummError
from dpsumm.privacy import Approximate, Charge, Gaussian, Ledger, Protected, Pure

KNOWN = [
    Charge(Protected.TARGET, "a release", Gaussian(3.0)),
    Charge(Protected.TARGET, "a release", Approximate(0.25, 1e-7), 3),
]
NEW = Charge(Protected.TARGET, "another release", Pure(0.5))
TOKENS = [
    b"target",
    b"owners",
    b"pure",
    b"Pure",
    b"no guarantee",
    b"NonPrivate",
    b"seeded",
    b"1e999",
    b"\xff\xff",
    b"CREATE VIEW",
]


def check(data: bytes, folder: str) -> bool:
    """Return whether the bytes are a ledger; raise if anything goes wrong."""
    path = os.path.join(folder, "ledger")
    for leftover in (path, f"{path}.seen", f"{path}-journal", f"{path}-wal", f"{path}-shm"):
        if os.path.exists(leftover):
            os.remove(leftover)
    with open(path, "wb") as stream:
        stream.write(data)
    try:
        with Ledger(path, run="r") as book:
            book.accept()  # else every one is refused, for want of the mark beside it
            book.runs()
            book.lines()
            book.cap_changes()
            assert isinstance(book.release("a", KNOWN, lambda: b"drawn again"), bytes)
            cap = book.cap(Protected.TARGET)
            assert book.release("b", [NEW], lambda: b"new") == b"new" or "b" in data.decode("latin")
            assert NEW in book.charges(run="r")
            assert cap is None or book.spent(Protected.TARGET) <= (cap[0], 1.0)
            book.set_cap(Protected.OWNERS, 1.0, 1e-6)
    except DpsummError:
        return False
    return True


def _seed(cap: float) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "ledger")
        with Ledger.create(path, run="r") as book:
            book.set_cap(Protected.TARGET, cap, 1e-3)
            book.release("a", KNOWN, lambda: b"drawn")
        with open(path, "rb") as stream:
            return stream.read()


SEEDS = [_seed(9.0), _seed(2.3)]
