"""Bugs of rows, exported models and private models."""

from planted_base import (
    EXPORT,
    MODEL,
    OWNER,
    PERTURB,
    PLAN,
    SGD,
    TABLES,
    P,
    bug,
    kept,
    sampler,
)

# --- rows ---

MADE = "    return Sums(queries, Protected.RECORDS, message)"


def on_queries(id_, breaks, over):
    new = (
        "    for query in queries:\n"
        f'        object.__setattr__(query, "noise_std", query.noise_std / {over})\n' + MADE
    )
    bug(id_, "rows", breaks, TABLES, MADE, new)


on_queries("S1", "half of all noise", "2")
on_queries("S2", "a quarter of all noise", "4")
on_queries("S3", "all noise over sqrt 2", "2**0.5")
bug(
    "S4",
    "rows",
    "one-way tables: half the noise",
    OWNER,
    "parts.append(noise.on(table) if tree.size > 1",
    "parts.append(table + noise.on(np.zeros_like(table)) // 2 if tree.size > 1",
)
WITHIN = "            put(tables, block, noise.on(table))"
bug(
    "S5",
    "rows",
    "own pairs' tables: half the noise",
    OWNER,
    WITHIN,
    "            put(tables, block, table + noise.on(np.zeros_like(table)) // 2)",
)
CROSS = "            put(made, block, noise.on(table))"
DRAWN = "            drawn = noise.on(np.zeros(table.shape, np.int64))\n"
ADDED = "            put(made, block, table + drawn.astype(exact.dtype))"
bug(
    "S6",
    "rows",
    "tables of two owners: half the noise",
    OWNER,
    CROSS,
    DRAWN + ADDED.replace("drawn", "(drawn // 2)"),
)
bug(
    "S7",
    "rows",
    "charged for one cell where two move",
    TABLES,
    "MOVED = Bound(math.sqrt(2))",
    "MOVED = Bound(1.0)",
)
bug(
    "S8",
    "rows",
    "own pairs: one noise for a whole table",
    OWNER,
    WITHIN,
    "            put(tables, block, table + noise.on(np.zeros(1, np.int64)))",
)
bug(
    "S9",
    "rows",
    "a column's first noise in all its tables with a peer",
    OWNER,
    CROSS,
    DRAWN
    + "            first = np.resize(locals().get('first', drawn), drawn.shape) if j else drawn\n"
    + ADDED.replace("drawn", "first"),
)
OWN_BOOK = "release(self._ledger, key, sums, draw, binding=binding))\n        return"
bug(
    "S10",
    "rows",
    "one-way tables charged to a book that is thrown away",
    OWNER,
    OWN_BOOK,
    OWN_BOOK.replace("self._ledger", 'Ledger() if key == "one-way" else self._ledger'),
)
ALL_TABLES = '        return table_sums(f"two-way tables ({len(tables)})", tables)'
bug(
    "S11",
    "rows",
    "own pairs' tables not charged",
    OWNER,
    ALL_TABLES,
    ALL_TABLES.replace("return", "sums =")
    + "\n        for query in list(sums.queries)[: len(product.within)]:\n"
    '            object.__setattr__(query, "multiplier", 1e9)\n        return sums',
)
bug(
    "S12",
    "rows",
    "plan: the other noise counts for the peer, too",
    PLAN,
    "        return 1.0 if observer in (a, b) or not joined else 0.5",
    "        return 0.5",
)
SPREAD = "    stds = tuple(_up(math.sqrt(2 / (s * scale))) for s in parts)"
bug("S13", "rows", "plan: tables at twice the budget", PLAN, SPREAD, SPREAD.replace("2 /", "1 /"))
bug(
    "S14",
    "rows",
    "own pairs: first record counted twice",
    P + "vertical/secret_products.py",
    "        return pair_counts(self.finest.codes, self.finest.width)",
    "        codes = self.finest.codes\n"
    "        return pair_counts(np.concatenate([codes, codes[:1]]), self.finest.width)",
)
bug(
    "S15",
    "rows",
    "one owner leaves the noise to the other",
    OWNER,
    CROSS,
    DRAWN + ADDED.replace("drawn", "(drawn * (not start.sides[k]))"),
)

bug(
    "S16",
    "rows",
    "tree: every level with the noise of a column's one table",
    PLAN,
    "return single_std if tables == 1 else _up(single_std * math.sqrt(tables))",
    "return single_std",
)
bug(
    "S17",
    "rows",
    "tree: counts of single values leave without noise",
    OWNER,
    "parts.append(noise.on(table) if tree.size > 1",
    "parts.append(table + noise.on(table) * 0 if table is counts and tree.by_value else "
    "noise.on(table) if tree.size > 1",
)
bug(
    "S18",
    "rows",
    "tree: one noise for all nodes of a level",
    OWNER,
    "parts.append(noise.on(table) if tree.size > 1",
    "parts.append(table + noise.on(np.zeros(1, np.int64)) if tree.size > 1",
)
bug(
    "S19",
    "rows",
    "codes finer than a released table leave beside it, exact",
    OWNER,
    "        noisy = np.zeros_like(exact)\n",
    "        noisy = exact.copy()\n",
)

bug(
    "S20",
    "rows",
    "two rounds: own pairs of the second without noise",
    OWNER,
    WITHIN,
    WITHIN.replace(
        "noise.on(table)",
        "noise.on(table) if product.asked is product.start else table + 0 * noise.on(table)",
    ),
)
bug(
    "S21",
    "rows",
    "two rounds: coarse tables cost nothing",
    PLAN,
    "        pairs, stds = (*self.pairs, *self.coarse), (*self.pair_std, *self.coarse_std)",
    "        pairs, stds = self.pairs, self.pair_std",
)
bug(
    "S22",
    "rows",
    "two rounds: the second is planned as if the first had cost nothing",
    PLAN,
    "scales.append((_MARGIN / noise_multiplier**2 - first.square(observer)) / view)",
    "scales.append(_MARGIN / noise_multiplier**2 / view)",
)
bug(
    "S23",
    "rows",
    "two rounds: bins are counted in the first, beside the groups",
    OWNER,
    "        noisy = np.zeros_like(exact)\n",
    "        noisy = exact.copy() if product.coarse else np.zeros_like(exact)\n",
)
bug(
    "S24",
    "rows",
    "the same columns: owners share the noise of a sum, though each one's table is seen",
    PLAN,
    "        stds = tuple(_up(math.sqrt(2 / (s * scale))) for s in parts)",
    "        stds = tuple(_up(math.sqrt(2 / (s * scale * adds))) for s in parts)",
)

# --- exported models ---

BOTH = "    return np.concatenate([noise.on(sums), noise.on(products)])"
HELPER = "    less = lambda x, f: x + np.asarray(f(noise.on(np.zeros_like(x)))).astype(np.int64)\n"


def on_both(id_, breaks, sums, products):
    new = (
        HELPER + "    return np.concatenate(["
        f"less(sums, lambda drawn: {sums}), less(products, lambda drawn: {products})])"
    )
    bug(id_, "export", breaks, EXPORT, BOTH, new)


on_both("E1", "half of both noises", "drawn // 2", "drawn // 2")
on_both("E2", "both noises over sqrt 2", "drawn / 2**0.5", "drawn / 2**0.5")
on_both("E3", "products: a quarter of the noise", "drawn", "drawn // 4")
bug(
    "E4",
    "export",
    "sums move by 1",
    EXPORT,
    "for moved in (2.0, math.sqrt(2))",
    "for moved in (1.0, math.sqrt(2))",
)
bug(
    "E5",
    "export",
    "points are not shortened",
    P + "ensemble/students/bases.py",
    "    scaled = scaled / np.maximum(1.0, np.linalg.norm(scaled, axis=1, keepdims=True))\n",
    "",
)
bug(
    "E6",
    "export",
    "lengths are not checked",
    EXPORT,
    '    made[np.einsum("ij,ij->i", made, made) > GRID**2] = 0\n',
    "",
)
bug(
    "E7",
    "export",
    "rows of counts are not shortened",
    EXPORT,
    "    return np.asarray(counts / np.maximum(norms, length) * (1 - 1e-9))",
    "    return np.asarray(counts / length)",
)
bug(
    "E8",
    "export",
    "one release charged where two are made",
    EXPORT,
    "    return sums, products\n",
    '    object.__setattr__(products, "multiplier", 1e9)\n    return sums, products\n',
)
bug(
    "E9",
    "export",
    "two releases with the noise of one",
    EXPORT,
    "multiplier_for(epsilon, delta, 2)",
    "multiplier_for(epsilon, delta)",
)
on_both(
    "E10",
    "noise from a fixed seed",
    sampler("6e9", "len(drawn)", 1),
    sampler("4e9", "len(drawn)", 1),
)

# --- models ---

STEP = "            noisy = noise.on(sum_of(network.gradients(steps.weights), method.clip))"


def on_steps(id_, breaks, changed):
    new = (
        "            total = sum_of(network.gradients(steps.weights), method.clip)\n"
        "            drawn = noise.on(np.zeros_like(total))\n"
        f"            noisy = total + np.asarray({changed}).astype(np.int64)"
    )
    bug(id_, "sgd", breaks, SGD, STEP, new)


bug("D1", "sgd", "moved by the changed rows once", SGD, "2 * changed * GRID *", "changed * GRID *")
on_steps("D2", "noise over sqrt 2", "drawn / 2**0.5")
bug(
    "D3",
    "sgd",
    "gradients that are too long are kept",
    SGD,
    "        whole[squared > GRID**2] = 0\n",
    "",
)
on_steps("D4", "one noise for all steps", kept("id(noise)", "drawn"))
bug(
    "D5",
    "sgd",
    "noise of half the steps",
    SGD,
    "multiplier_for(epsilon, delta, steps), times=steps",
    "multiplier_for(epsilon, delta, -(-steps // 2)), times=steps",
)
SLOPE = "annex.rounded_normal(self.slope_noise, size)"
bug("D6", "models", "half the slope's noise", PERTURB, SLOPE, SLOPE.replace("noise,", "noise / 2,"))
bug("D7", "models", "a quarter of it", PERTURB, SLOPE, SLOPE.replace("noise,", "noise / 4,"))
bug(
    "D8",
    "models",
    "weights without noise",
    PERTURB,
    "steps + annex.rounded_normal(self.weight_noise, size)",
    "steps",
)
bug(
    "D9",
    "models",
    "points change once, not out and in",
    MODEL,
    "    steps = 2 * changed\n",
    "    steps = changed\n",
)
bug(
    "D10",
    "models",
    "ten times delta",
    MODEL,
    "    alone = (delta - smoothing_delta)",
    "    alone = 10 * (delta - smoothing_delta)",
)
