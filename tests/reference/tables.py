"""Tables of points: a plain one, and whatever Hypothesis thinks of."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

COORDINATES = st.floats(-8, 8, width=32)
GAMMAS = st.floats(1e-3, 8)


def table(n, width=3, dtype=np.float64, seed=0):
    """Return normal numbers, the same for the same arguments."""
    return np.random.default_rng(seed).normal(size=(n, width)).astype(dtype)


@st.composite
def tables(draw, count=1, max_rows=70):
    """Return tables of one width and precision: awkward sizes, repeated rows, any memory order."""
    width = draw(st.integers(1, 19))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    layout = draw(st.sampled_from(["C", "F", "strided"]))
    offset = draw(st.sampled_from([0.0, 0.0, 1e4]))
    made = []
    for _ in range(count):
        n = draw(st.integers(1, max_rows))
        # A few distinct rows, dealt out: duplicates are the rule.
        kinds = draw(hnp.arrays(dtype, (draw(st.integers(1, 9)), width), elements=COORDINATES))
        seed = draw(st.integers(0, 2**32 - 1))
        rng = np.random.default_rng(seed)
        table = kinds[rng.integers(len(kinds), size=n)] + dtype(offset)
        if draw(st.booleans()):
            table = table + rng.normal(size=table.shape).astype(dtype)
        if layout == "F":
            table = np.asfortranarray(table)
        elif layout == "strided":
            wide = np.full((2 * n, 2 * width), np.nan, dtype)  # what lies between must not be read
            wide[::2, ::2] = table
            table = wide[::2, ::2]
        made.append(table)
    return made


def exact(table):
    return table.astype(np.float64)
