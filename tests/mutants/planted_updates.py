"""Bugs of private updates."""

from planted_base import P, bug, kept, sampler

CLIP, ROUND = P + "ensemble/updates/clipping.py", P + "ensemble/updates/release.py"

# --- updates ---

CUT = "missed *= (LEVELS / np.maximum(length, clip))[:, None]"
bug(
    "U1",
    "updates",
    "a record that is not clipped",
    CLIP,
    CUT,
    CUT.replace("np.maximum(length, clip)", "(clip + 0 * length)"),
)
DRAWN = "        lambda noise: noise.on(exact).astype"


def on_sum(id_, breaks, changed):
    """`noise.on(0 * exact)` is the noise that was paid for."""
    bug(id_, "updates", breaks, ROUND, DRAWN, f"        lambda noise: (exact + {changed}).astype")


on_sum("U2", "half of the noise", "noise.on(0 * exact) // 2")
on_sum(
    "U3", "the same noise in two rounds", kept("(ledger.run, number // 2)", "noise.on(0 * exact)")
)
KEY = "        key_of(number),\n        sums_of"
bug(
    "U4",
    "updates",
    "a second draw of a round",
    ROUND,
    KEY,
    KEY.replace("key_of(number)", "key_of(number) + __import__('secrets').token_hex(4)"),
)
BOUND = "    bound = json.dumps("
LAST = sampler("query.noise_std", "exact.size", "seed")
bug(
    "U5",
    "updates",
    "the last round is not charged",
    ROUND,
    BOUND,
    "    if number == recipe.rounds - 1:\n"
    f"        return exact + {LAST}.reshape(exact.shape)\n" + BOUND,
)
TIMES = "multiplier_for(recipe.epsilon, recipe.delta, recipe.rounds)"
bug(
    "U6",
    "updates",
    "the noise of one round too few",
    ROUND,
    TIMES,
    TIMES.replace("rounds)", "rounds - 1)"),
)
bug(
    "U7",
    "updates",
    "a replaced party counts as one that comes",
    CLIP,
    "        return Bound(2.0 * LEVELS, unit)",
    "        return Bound(1.0 * LEVELS, unit)",
)
CHECK = "    while (square := int((cut * cut).sum())) > levels**2:"
SCALE = "    return truncated(mean * (LEVELS / max(length, clip)))"
bug(
    "U8",
    "updates",
    "an owner's vector that is not clipped",
    CLIP,
    SCALE,
    "    return np.trunc(mean * (LEVELS / clip)).astype(np.int64)",
)
bug(
    "U9",
    "updates",
    "entries rounded, and no look at the length",
    CLIP,
    "np.trunc(vector).astype(np.int64)\n" + CHECK,
    "np.rint(vector).astype(np.int64)\n    while (square := 0):",
)
