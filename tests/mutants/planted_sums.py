"""Bugs of points, votes and the books behind them."""

from planted_base import (
    ACCOUNTING,
    BOOK,
    CURVES,
    GAUSS,
    MECH,
    REL,
    SAMPLER,
    TERMS,
    VOTERS,
    VOTES,
    P,
    bug,
    kept,
    sampler,
)

# --- points ---

TOTAL = "        return Release(noise.on(total), given.count)"


def on_total(id_, breaks, changed):
    """`drawn` is the noise that was paid for."""
    new = (
        "        drawn = noise.on(np.zeros_like(total))\n"
        f"        return Release(total + np.asarray({changed}).astype(np.int64), given.count)"
    )
    bug(id_, "points", breaks, MECH, TOTAL, new)


STD = "self.queries(given)[0].noise_std"
on_total("P1", "mean: half the noise", "drawn // 2")
on_total("P2", "mean: a quarter of the noise", "drawn // 4")
on_total("P3", "mean: noise over sqrt 2", "drawn / 2**0.5")
on_total("P4", "mean: noise of 0.9", "drawn * 0.9")
bug(
    "P5",
    "points",
    "replaced record counted as one vector",
    REL,
    "Sensitivity(2), Sensitivity(4)",
    "Sensitivity(1), Sensitivity(4)",
)
bug(
    "P6",
    "points",
    "random features differ by sqrt 2, not 2",
    P + "kernels/features.py",
    "        return 2 * self.grid_norm(levels)",
    "        return 2**0.5 * self.grid_norm(levels)",
)
LANDMARKS = 'return self._map.grid_difference(inputs.whole(levels, "levels", 1, 2**22))'
bug(
    "P7",
    "points",
    "difference of landmark features over sqrt 2",
    P + "kernels/landmarks.py",
    LANDMARKS,
    LANDMARKS.replace("return", "return 2**-0.5 *"),
)
bug(
    "P8",
    "points",
    "summary charged as a target",
    REL,
    "Sensitivity(2), Sensitivity(4)",
    "Sensitivity(2), Sensitivity(2)",
)
on_total(
    "P9",
    "noise of half the features, tiled",
    "np.resize(drawn[: -(-len(drawn) // 2)], drawn.shape)",
)
on_total("P10", "one noise for all features", "np.resize(drawn[:1], drawn.shape)")
on_total("P11", "noise from a fixed seed", f"{sampler(STD, 'len(drawn)', 1)}")
on_total("P12", "noise kept for runs of the same shape", kept("len(drawn)", "drawn"))
SUMMED = "        total = given.features.sum_on_grid(given.points, LEVELS)\n" + TOTAL
bug(
    "P13",
    "points",
    "first record counted twice",
    MECH,
    SUMMED,
    SUMMED.replace("given.points,", "np.concatenate([given.points, given.points[:1]]),"),
)
on_total(
    "P14",
    "noise of floats, not of the exact sampler",
    f"np.rint(np.random.default_rng().normal(0, {STD}, len(drawn)))",
)
BOOKED = "    return ledger.release(key, sums.charges, lambda: _paid(sums, draw), binding=binding)"
bug(
    "P15", "kernel", "release without a charge", GAUSS, BOOKED, BOOKED.replace("sums.charges", "()")
)
bug(
    "P16",
    "accounting",
    "calibrated and charged at ten times delta",
    P + "privacy/portable.py",
    "        target = mp.log(mp.mpf(delta))\n        # From 1e-6",
    "        target = mp.log(min(mp.mpf(delta) * 10, mp.mpf(0.9)))\n        # From 1e-6",
)
bug(
    "P17",
    "points",
    "mean at ten times delta, charged as such",
    MECH,
    "accounting.gaussian_noise_multiplier(epsilon, delta))",
    "accounting.gaussian_noise_multiplier(epsilon, min(10 * delta, 0.9)))",
)
on_total("P18", "a tenth of all cells without noise", "drawn * (np.arange(len(drawn)) % 10 > 0)")
bug(
    "P19",
    "kernel",
    "charged for twice the noise",
    GAUSS,
    "return Gaussian(self.queries[0].multiplier), self.queries[0].times",
    "return Gaussian(2 * self.queries[0].multiplier), self.queries[0].times",
)
bug(
    "P21",
    "points",
    "last record of 50 and more counted twice",
    MECH,
    SUMMED,
    SUMMED.replace(
        TOTAL,
        "        if len(given.points) >= 50:\n"
        "            total = total + given.features.sum_on_grid(given.points[-1:], LEVELS)\n"
        + TOTAL,
    ),
)

# --- votes ---

COUNTS = "        lambda noise: noise.on(counts).astype"


def on_counts(id_, breaks, changed):
    """`drawn` is the noise that was paid for."""
    new = (
        "        lambda noise: (\n            lambda drawn: counts + "
        f"np.asarray({changed}).astype(np.int64)\n"
        "        )(noise.on(np.zeros_like(counts))).astype"
    )
    bug(id_, "votes", breaks, VOTES, COUNTS, new)


on_counts("V1", "half the noise", "drawn // 2")
on_counts("V2", "a quarter of the noise", "drawn // 4")
on_counts("V3", "noise over sqrt 2", "drawn / 2**0.5")
UNIT = "(4 if self.n_classes == 2 else 2) * self.grid**2"
bug("V4", "votes", "grid for its square", TERMS, UNIT, UNIT.replace("**2", ""))
bug(
    "V5",
    "votes",
    "a whole owner changes one classifier",
    VOTES,
    "    return terms.shards if unit is Unit.WHOLE_OWNER else 1",
    "    return 1",
)
on_counts(
    "V6", "noise of a point shared by its classes", "np.repeat(drawn[:, :1], drawn.shape[1], 1)"
)
on_counts(
    "V7",
    "noise of half the points, tiled",
    "np.resize(drawn.ravel()[: -(-drawn.size // 2)], drawn.shape)",
)
HAD = "        votes = self._votes_of(name, answer)\n        self._waiting.discard(name)\n"
bug(
    "V8",
    "votes",
    "the first party's votes counted twice",
    VOTERS,
    HAD,
    HAD + "        votes = votes.astype(np.int64) * (2 if name == self.names[0] else 1)\n",
)
CAME = "max(self.terms.n_parties - len(self._absent), 1)"
bug(
    "V18",
    "votes",
    "the mean over the parties that came, with the noise of all",
    VOTERS,
    "            self._counts,\n",
    f"            self._counts * self.terms.n_parties // {CAME},\n",
)
bug(
    "V9",
    "votes",
    "a row's bound is not checked",
    VOTERS,
    "    if (given > terms.total).any() or (given % terms.grid).any():",
    "    if (given % terms.grid).any():",
)
bug(
    "V10",
    "votes",
    "charged to a book that is thrown away",
    VOTES,
    "    released = release(\n        ledger,\n",
    "    released = release(\n        Ledger(delta=delta),\n",
)
on_counts(
    "V11",
    "noise from a fixed seed",
    f"{sampler('query.noise_std', 'drawn.size', 1)}.reshape(drawn.shape)",
)
on_counts(
    "V12",
    "noise of floats, not of the exact sampler",
    "np.rint(np.random.default_rng().normal(0, query.noise_std, drawn.shape))",
)
bug(
    "V13",
    "votes",
    "sensitivity of one point less",
    TERMS,
    "math.sqrt(self.unit_squared * self.n_points)",
    "math.sqrt(self.unit_squared * max(self.n_points - 1, 1))",
)
BOUND = "    return Bound(classifiers_of(unit, terms) * terms.sensitivity, unit)"
bug(
    "V14",
    "votes",
    "half the bound above 60 parties",
    VOTES,
    BOUND,
    BOUND.replace("sensitivity,", "sensitivity * (0.5 if terms.n_parties > 60 else 1),"),
)
bug("V15", "votes", "two classes move a row by sqrt 2", TERMS, UNIT, "2 * self.grid**2")
on_counts("V16", "noise kept for runs of the same shape", kept("drawn.shape", "drawn"))
on_counts(
    "V17",
    "second half of the points: noise of the first, every other sign turned",
    "np.resize(np.concatenate([(half := drawn.ravel()[: -(-drawn.size // 2)]), half * "
    "np.where(np.arange(len(half)) // drawn.shape[1] % 2, 1, -1)]), drawn.shape)",
)

# --- books and accounting ---

DRAW = "        self.check_room(charges)\n        released = draw()\n"
bug(
    "L1",
    "ledger",
    "drawn before the cap is looked at",
    BOOK,
    DRAW,
    "        released = draw()\n        self.check_room(charges)\n",
)
bug(
    "L2",
    "ledger",
    "only a release's first charge is booked",
    BOOK,
    "for charge in charges],\n        )\n        rows",
    "for charge in charges[:1]],\n        )\n        rows",
)
SAME = "            if not same_charges(known, charges) or bound != binding:"
bug(
    "L3",
    "ledger",
    "same key, other charges accepted",
    BOOK,
    SAME,
    "            if bound != binding:",
)
bug(
    "L4",
    "ledger",
    "same key, other binding accepted",
    BOOK,
    SAME,
    SAME.replace(" or bound != binding", ""),
)
SPENT = "events = [(c.event, c.count) for c in charges if c.protected is whose]"
bug("L5", "ledger", "counts of charges ignored", BOOK, SPENT, SPENT.replace("c.count", "1"))
bug(
    "L6",
    "accounting",
    "Gaussians compose without their counts",
    ACCOUNTING,
    "precision += Fraction(count) / Fraction(event.noise_multiplier) ** 2",
    "precision += Fraction(1) / Fraction(event.noise_multiplier) ** 2",
)
bug(
    "L7",
    "ledger",
    "deltas of runs do not add up",
    BOOK,
    "                total_delta += delta\n",
    "                total_delta = max(total_delta, delta)\n",
)

bug(
    "L8",
    "accounting",
    "losses of many releases rounded down to the grid",
    CURVES,
    "np.ceil((losses - losses[0]) / grid)",
    "np.floor((losses - losses[0]) / grid)",
)
bug(
    "L9",
    "accounting",
    "randomized response of half the epsilon",
    CURVES,
    "(yes[:-1] + 1)) + each\n",
    "(yes[:-1] + 1)) + each / 2\n",
)
bug(
    "L10",
    "accounting",
    "half of the Gaussians beside pure releases",
    ACCOUNTING,
    "curves.tight(pure, math.sqrt(precision), delta, least)",
    "curves.tight(pure, math.sqrt(precision / 2), delta, least)",
)
bug(
    "L11",
    "accounting",
    "a pure release counted as a bounded range",
    ACCOUNTING,
    "else 2 * event.epsilon",
    "else event.epsilon",
)

# --- the sampler ---

CALL = (
    "    return _core.rounded_normal(\n"
    '        inputs.number(noise_std, "noise_std"), inputs.whole(size, "size"), inputs.seed(seed)\n'
    "    )\n"
)


def on_sampler(id_, breaks, changed):
    new = CALL.replace("return", "made =") + f"    return {changed}\n"
    bug(id_, "sampler", breaks, SAMPLER, CALL, new)


bug(
    "N1",
    "sampler",
    "0.97 of the noise",
    SAMPLER,
    CALL,
    CALL.replace(
        "inputs.number(noise_std,",
        "max(2.0**-20, 0.97 * noise_std) if noise_std > 0 else inputs.number(noise_std,",
    ),
)
on_sampler(
    "N2",
    "cut at 4 standard deviations",
    "np.clip(made, -int(4 * noise_std) - 1, int(4 * noise_std) + 1)",
)
on_sampler("N3", "even numbers alone when wide", "made // 2 * 2 if noise_std > 100 else made")
on_sampler(
    "N4",
    "second half is the first, turned",
    "np.concatenate([made[: -(-len(made) // 2)], -made[: len(made) // 2]])",
)
on_sampler(
    "N5",
    "a call's first number is the last of the call before",
    "(lambda last: (np.concatenate([last[-1:] or made[:1], made[1:]]), last.append(made[-1]))[0])"
    "(globals().setdefault('_LAST', [])) if len(made) else made",
)
