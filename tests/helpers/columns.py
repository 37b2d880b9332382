"""Owners of random columns, and everything that was sent in a run."""

from dataclasses import replace
from itertools import accumulate

import numpy as np

from dpsumm.exchange.driver import run_in_process
from dpsumm.privacy import Ledger
from dpsumm.vertical.helper import Helper
from dpsumm.vertical.layout import HELPER, Budget, Layout
from dpsumm.vertical.owner import Owner
from dpsumm.vertical.sums import coordinator_of
from dpsumm.vertical.way import Way
from dpsumm.vertical.wire import CODEC
from reference.vertical import one_hot

RUN = "r"
SCHEMAS = ("aaaaaaaaaaaa", "bbbbbbbbbbbb", "cccccccccccc")
NAMES = ("bank", "clinic", "registry")
NONCES = {name: f"{i + 1}" * 32 for i, name in enumerate(NAMES)}
SECRETS = {name: bytes([i + 1]) * 32 for i, name in enumerate(NAMES)}


class World:
    """Owners with random codes, and everything that was sent.

    `owner_kind` is what its owners are: a broken twin goes there. `helper_kind` is the helper's.
    """

    owner_kind, helper_kind = Owner, Helper

    def __init__(
        self,
        rng,
        sizes,
        records=200,
        *,
        rows=64,
        keep=-40.0,
        ledgers=None,
        seed=None,
        trees=None,
        label=None,
        same_columns=False,
    ):
        self.sizes, self.records = sizes, records
        holders = sizes[:1] if same_columns else sizes
        flat = tuple(size for owner in holders for size in owner)
        names = NAMES[: len(sizes)]
        self.layout = Layout(
            owners=names,
            schemas=SCHEMAS[:1] * len(sizes) if same_columns else SCHEMAS[: len(sizes)],
            columns=tuple(f"x{j}" for j in range(len(flat))),
            sizes=flat,
            owner_of=tuple(p for p, owner in enumerate(holders) for _ in owner),
            label=label,
            trees=tuple(tree for owner in trees or () for tree in owner),
            same_columns=same_columns,
        )
        self.trees = trees
        way = Way.SUMS if same_columns else Way.PADS
        self.budget = Budget(2.0, 0.1, 0.3, keep, rows, way)
        self.codes = [
            np.stack([rng.integers(size, size=records) for size in owner], axis=1).astype(np.uint32)
            for owner in sizes
        ]
        ledgers = ledgers or {}
        self.books = {name: ledgers.get(name) or Ledger(run=RUN) for name in names}
        self.seed, self.sent = seed, []
        self.secrets = dict(SECRETS)
        # An owner that joins draws a nonce of its own, unless it keeps its rows with theirs.
        self.nonces = {}
        self.order = dict.fromkeys(names, "")

    def in_two_rounds(self, *named, again=0):
        """Count all pairs coarsely, then the named ones, and `again` for each column."""
        self.budget = replace(self.budget, coarse=0.2, many=0, again=again)
        self.layout = replace(self.layout, pairs=named)

    def owner(self, name):
        p = self.layout.owners.index(name)
        return self.owner_kind(
            name,
            self.codes[p],
            tuple(self.sizes[p]),
            schema=SCHEMAS[0 if self.layout.same_columns else p],
            order=self.order[name],
            ledger=self.books[name],
            secret=self.secrets[name],
            seed=None if self.seed is None else self.seed + p,
            nonce=self.nonces.get(name),
            trees=self.trees and self.trees[p],
        )

    def coordinator(self):
        return coordinator_of(self.layout, self.budget, RUN)

    def run(self):
        """Run to the end, every message as bytes."""
        parties = {name: self.owner(name) for name in self.layout.owners}
        if not self.layout.same_columns:
            parties[HELPER] = self.helper_kind(SECRETS)
        world = self

        class Wired:
            def __init__(self, name):
                self.name = name

            def answer(self, request):
                request = CODEC.decode(CODEC.encode(request))
                raw = CODEC.encode(parties[self.name].answer(request))
                world.sent.append((self.name, request, raw))
                return CODEC.decode(raw)

        return run_in_process(self.coordinator(), {name: Wired(name) for name in parties})

    def exact(self, i, j, released):
        """Return the exact table of two columns after the merge."""
        both = np.hstack(self.codes)
        codes = [self.code_of(c, released)[both[:, c]] for c in (i, j)]
        shape = [int(released.codes[c].max()) + 1 for c in (i, j)]
        tables = [one_hot(c[:, None], n) for c, n in zip(codes, shape, strict=True)]
        return tables[0].T @ tables[1]

    def grouped(self, column, released):
        """Return the group of each code of a column: the quarter that its middle is in."""
        counts = np.bincount(released.codes[column], released.singles[column]).clip(1e-9)
        if len(counts) <= 4:
            return np.arange(len(counts))
        # Sums from the left, as in the package: a middle may be on the border of two quarters.
        ends = list(accumulate(counts))
        at = [(end - count / 2) / ends[-1] for end, count in zip(ends, counts, strict=True)]
        quarters = [int(4 * middle) for middle in at]
        return np.array([sorted(set(quarters)).index(quarter) for quarter in quarters])

    def noise(self, released):
        """Return what was added to each two-way table, those of all rounds one after another."""
        found = [released.pairs[pair] - self.exact(*pair, released) for pair in released.plan.pairs]
        for i, j in released.plan.coarse:
            groups = [self.grouped(column, released) for column in (i, j)]
            down, across = (one_hot(of[:, None], int(of.max()) + 1) for of in groups)
            exact = down.T @ self.exact(i, j, released) @ across
            found.append(released.coarse[i, j] - exact)
        return found

    def code_of(self, column, released):
        """Return the code of each value of a column, by the levels that it is in."""
        codes, starts = released.codes[column], released.starts[column]
        if starts is None:
            return codes
        return np.array([codes[(starts <= v).sum() - 1] for v in range(self.layout.sizes[column])])
