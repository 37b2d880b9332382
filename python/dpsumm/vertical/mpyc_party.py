"""One party of MPyC in a process of its own: ``python -m dpsumm.vertical.mpyc_party``.

Started by `vertical.mpyc`. MPyC reads the command line when it is imported. The party's inputs come
on standard input and its outputs go to standard output, both as NumPy archives.
"""

from __future__ import annotations

import io
import sys
from typing import Any

import numpy as np

# A Mersenne prime above twice any count and noise that is let in.
MODULUS = 2**61 - 1
LEFT, RIGHT, HELPER = range(3)
# Records that are shared at a time, which bounds the memory.
ROWS = 2**12


async def compute(mpc: Any, given: dict[str, Any]) -> Any:
    """Return the left owner's table, or None at the others.

    Claim: of the three parties each sees uniform field elements, and the left owner the table with
    both owners' noise. Assumes: no two of the three work together (Shamir's scheme, threshold 1).
    Tested by: tests/engines/test_mpyc.py.
    """
    field = mpc.SecFld(modulus=MODULUS)
    widths = [int(width) for width in given["widths"]]
    n, me = int(given["n"]), mpc.pid

    async def shared(values: Any, owner: int) -> Any:
        # Parties other than the sender give the shape alone.
        return mpc.input(field.array(values.astype(object) % MODULUS), senders=owner)

    total = None
    for start in range(0, n, ROWS):
        rows = min(ROWS, n - start)
        one_hot = []
        for side in (LEFT, RIGHT):
            matrix = np.zeros((rows, widths[side]), np.int64)
            if side == me:
                np.put_along_axis(matrix, given["codes"][start : start + rows], 1, axis=1)
            one_hot.append(await shared(matrix, side))
        product = mpc.np_matmul(mpc.np_transpose(one_hot[0]), one_hot[1])
        total = product if total is None else total + product
        await mpc.barrier()
    for side in (LEFT, RIGHT):
        noise = given["noise"] if side == me else np.zeros(widths, np.int64)
        total = total + await shared(noise, side)
    table = await mpc.output(total, receivers=[LEFT])
    if me != LEFT:
        return None
    values = np.array([[int(x) for x in row] for row in table.value], object)
    return np.where(values > MODULUS // 2, values - MODULUS, values).astype(np.int64)


def main() -> None:
    """Meet the other two, compute, end."""
    from mpyc.runtime import mpc

    # With two parties the threshold is 0: shares are then the values themselves.
    if len(mpc.parties) != 3 or mpc.threshold != 1 or not mpc.options.ssl:
        sys.exit("three parties, threshold 1 and TLS are needed: fewer keep no secret")
    with np.load(io.BytesIO(sys.stdin.buffer.read()), allow_pickle=False) as archive:
        given = dict(archive)

    async def meet() -> Any:
        await mpc.start()
        table = await compute(mpc, given)
        await mpc.shutdown()
        return table

    found = mpc.run(meet())
    # Not straight into the pipe: where output is buffered, NumPy asks for a place in the file.
    told = io.BytesIO()
    np.save(told, np.zeros((0, 0), np.int64) if found is None else found)
    sys.stdout.buffer.write(told.getvalue())


if __name__ == "__main__":
    main()
