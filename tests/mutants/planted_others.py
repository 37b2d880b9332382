"""Bugs of kinds that the others do not have."""

from planted_base import (
    ACCOUNTING,
    BOOK,
    GAUSS,
    MODEL,
    NOISE,
    OWNER,
    PLAN,
    SGD,
    VOTES,
    P,
    bug,
    kept,
)
from planted_sums import BOOKED, BOUND, on_counts, on_total
from planted_tables import ADDED, CROSS, DRAWN, STEP

# --- kinds that are none of these ---

bug(
    "X1",
    "ledger",
    "asked again, drawn again without a charge",
    BOOK,
    "            if again and self._settings:  # another process began the run meanwhile",
    "            if again:\n                released = draw()\n"
    "            if again and self._settings:",
)
SOURCE = "        drawn = rounded_normal(query.noise_std, exact.size, query.seed)\n"
bug(
    "X2",
    "kernel",
    "a sum's last number has half the noise",
    NOISE,
    SOURCE,
    SOURCE + "        drawn[-1:] //= 2\n",
)
bug(
    "X3",
    "sgd",
    "third step: half the noise",
    SGD,
    "        for _ in range(method.steps):\n" + STEP,
    "        for step in range(method.steps):\n"
    "            total = sum_of(network.gradients(steps.weights), method.clip)\n"
    "            noisy = total + noise.on(np.zeros_like(total)) // (2 if step == 2 else 1)",
)
bug(
    "X4",
    "kernel",
    "seed derived from the data",
    NOISE,
    SOURCE,
    SOURCE.replace("query.seed", "int(np.abs(exact.astype(np.int64)).sum()) % 2**63"),
)
bug(
    "X5",
    "kernel",
    "drawn first and charged afterwards",
    GAUSS,
    BOOKED,
    "    made = _paid(sums, draw)\n" + BOOKED.replace("_paid(sums, draw)", "made"),
)
bug(
    "X6",
    "votes",
    "the ledger names another unit",
    VOTES,
    BOUND,
    BOUND.replace(", unit)", ")").replace("Bound(class", "Bound(class"),
)
bug(
    "X7",
    "sgd",
    "gradients of float32 are not measured",
    SGD,
    "        whole[squared > GRID**2] = 0\n",
    "        whole[(squared > GRID**2) & (block.dtype != np.float32)] = 0\n",
)
bug(
    "X8",
    "rows",
    "plan forgets what the one-way tables show",
    PLAN,
    "            scale = budget / max(a + b for a, b in zip(seen, views, strict=True))",
    "            scale = budget / max(b or a for a, b in zip(seen, views, strict=True))",
)
on_counts(
    "X9",
    "half the noise at points where votes are missing",
    "drawn // np.where(np.abs(counts).sum(1, keepdims=True) < 5 * terms.total, 2, 1)",
)
on_total(
    "X10",
    "sum rounded to a grid of the data before the noise",
    "drawn - total % (1 + int(np.abs(total).max()) // 1000)",
)
bug(
    "X11",
    "kernel",
    "tails cut at 3.5 standard deviations",
    NOISE,
    SOURCE,
    SOURCE
    + "        far = int(3.5 * query.noise_std) + 1\n        drawn = np.clip(drawn, -far, far)\n",
)
on_total("X12", "noisy sums in float32", "np.float32(total + drawn) - total")
bug(
    "X13",
    "rows",
    "all owners of a process have one noise for tables of one shape",
    OWNER,
    CROSS,
    DRAWN
    + "            drawn = "
    + kept("(self._ledger.run, i, j, drawn.shape)", "drawn")
    + "\n"
    + ADDED,
)
bug(
    "X14",
    "kernel",
    "an exact sum in an error",
    NOISE,
    'raise RuntimeError("a sum is too large for 64 bits")',
    'raise RuntimeError(f"a sum is too large for 64 bits: {exact}")',
)
bug(
    "X15",
    "ledger",
    "the cap forgets the new charges",
    BOOK,
    "spent = self.spent(charge.protected, new=charges)",
    "spent = self.spent(charge.protected)",
)
bug(
    "X16",
    "ledger",
    "the cap forgets other runs",
    BOOK,
    "spent = self.spent(charge.protected, new=charges)",
    "spent = self.spent(charge.protected, new=charges, run=self.run)",
)
bug("X17", "kernel", "a sum that was charged may stay out", GAUSS, "    noise.check_used()\n", "")
bug(
    "X18",
    "kernel",
    "a sum beyond those charged leaves exact",
    NOISE,
    'raise RuntimeError("a sum was to leave that nobody has paid for")',
    "return exact",
)
bug("X19", "kernel", "noise of one sign", NOISE, SOURCE, SOURCE + "        drawn = np.abs(drawn)\n")
bug(
    "X20",
    "rows",
    "noise of shares wraps at 12 bits",
    NOISE,
    SOURCE,
    SOURCE
    + "        if exact.dtype != np.int64:\n"
    + "            drawn = (drawn + 2048) % 4096 - 2048\n",
)
bug(
    "X21",
    "kernel",
    "a share without a charge",
    GAUSS,
    'if ledger.release(key, sums.charges, lambda: b"", binding=binding):',
    'if ledger.release(key, (), lambda: b"", binding=binding):',
)
bug(
    "X22",
    "accounting",
    "figures rounded down",
    ACCOUNTING,
    "    return figure * (1 + _ROUND_UP)\n",
    "    return figure * (1 - 1e-4)\n",
)
bug(
    "X23",
    "mwem",
    "measurement charged for one vector",
    P + "papers/auction/mwem.py",
    "(events.Pure(moved * self.epsilon_measure), self.iterations)",
    "(events.Pure(self.epsilon_measure), self.iterations)",
)
bug(
    "X24",
    "mwem",
    "selection charged for half its range",
    P + "papers/auction/mwem.py",
    "(events.BoundedRange(2 * moved * self.epsilon_select)",
    "(events.BoundedRange(moved * self.epsilon_select)",
)
bug(
    "X25",
    "kernel",
    "composition forgets how often a sum leaves",
    GAUSS,
    "math.fsum(query.times / query.multiplier**2 for query in self.queries)",
    "math.fsum(1 / query.multiplier**2 for query in self.queries[1:])",
)
bug(
    "X26",
    "models",
    "curvature of the objective is not subtracted",
    MODEL,
    "portable.gaussian_multiplier(each - curvature, alone)",
    "portable.gaussian_multiplier(each, alone)",
)
