"""Bugs in branches that a run of one shape does not walk."""

from planted_base import (
    CHAIN,
    EXPORT,
    FILE,
    OWNER,
    PERTURB,
    PLAN,
    ROUNDS,
    SILOS,
    SUMMARIES,
    TRAINING,
    VOTES,
    bug,
)
from planted_tables import CROSS, WITHIN

bug(
    "B1",
    "training",
    "a shard is chosen by a record's place among usable ones",
    TRAINING,
    "(places >= 0) & (rows % shards == shard)",
    "(places >= 0) & (np.arange(len(rows)) % shards == shard)",
)
bug(
    "B2",
    "file",
    "what is committed may be lost with the machine",
    FILE,
    'db.execute("PRAGMA synchronous=FULL")',
    'db.execute("PRAGMA synchronous=OFF")',
)
bug(
    "B3",
    "requests",
    "one coin for all bids of an owner",
    ROUNDS,
    "return coins.reshape(shape) < (",
    "return coins.reshape(shape)[:, :1] < (",
)
bug(
    "B4",
    "rows",
    "two noises count as one if any table is wide",
    PLAN,
    "return all(sd >= least_joined(self.rounds) for sd in cross)",
    "return any(sd >= least_joined(self.rounds) for sd in cross)",
)
bug(
    "B5",
    "silos",
    "a nonce follows from the run's name",
    SILOS,
    'held.digest(self._alignment or b""), fresh_nonce())',
    "held.digest(self._alignment or b\"\"), request.run.encode().hex().ljust(32, '0')[:32])",
)
bug(
    "B6",
    "file",
    "an empty note of a ledger's head is believed",
    CHAIN,
    "        if mark in self._digests:",
    "        if not mark or mark in self._digests:",
)
bug(
    "B7",
    "rows",
    "tables of two owners' columns of two levels: no noise",
    OWNER,
    CROSS,
    CROSS.replace(
        "noise.on(table)", "noise.on(table) if table.size > 4 else table + 0 * noise.on(table)"
    ),
)
bug(
    "B8",
    "rows",
    "an owner's own tables of two levels: no noise",
    OWNER,
    WITHIN,
    WITHIN.replace(
        "noise.on(table)", "noise.on(table) if table.size > 4 else table + 0 * noise.on(table)"
    ),
)
bug(
    "B9",
    "votes",
    "half the noise where votes have a grid",
    VOTES,
    "lambda noise: noise.on(counts).astype",
    "lambda noise: (noise.on(counts) if terms.grid == 1 else counts + "
    "noise.on(np.zeros_like(counts)) // 2).astype",
)
bug(
    "B10",
    "export",
    "one noise for all classes of an exported model",
    EXPORT,
    "    return np.concatenate([noise.on(sums), noise.on(products)])",
    "    made, k = noise.on(sums), votes.terms.columns\n"
    "    made = sums + np.repeat((made - sums).reshape(-1, k)[:, :1], k, 1).ravel()\n"
    "    return np.concatenate([made, noise.on(products)])",
)
bug(
    "B11",
    "models",
    "one slope's noise for all classes of a private model",
    PERTURB,
    "        weights = objective.minimise(slope.reshape",
    "        slope = np.repeat(slope.reshape(objective.shape)[:, :1], objective.shape[1], 1)\n"
    "        weights = objective.minimise(slope.reshape",
)
bug(
    "B12",
    "auction",
    "the first point that owners sent is shown without a charge",
    SUMMARIES,
    "        if not n_picked:",
    "        if n_picked <= 1:",
)
