"""A process that releases until it is stopped: for tests that kill it, or run two at once.

``python releasing.py LEDGER RUN TRANSCRIPT COUNT [PAUSE]``: each release is written to the
transcript, and forced to disk, after the ledger has returned it: what an owner would have received.
"""

import os
import secrets
import sys
import time

from dpsumm.errors import BudgetExceededError
from dpsumm.privacy import Charge, Ledger, Protected, Pure

CHARGE = Charge(Protected.TARGET, "a test release", Pure(0.01))


def main(ledger, run, transcript, count, pause="0"):
    with Ledger(ledger, run=run) as book, open(transcript, "ab", buffering=0) as out:
        for i in range(int(count)):
            key = f"key-{i}"
            try:
                released = book.release(key, [CHARGE], lambda: secrets.token_bytes(16))
            except BudgetExceededError:
                return
            out.write(f"{run} {key} {released.hex()}\n".encode())
            os.fsync(out.fileno())
            time.sleep(float(pause))


if __name__ == "__main__":
    main(*sys.argv[1:])
