"""Rows: tables of one owner, of two, and of owners of the same columns."""

import math
from dataclasses import replace

import numpy as np
from path import Left, multiplier

from dpsumm.audit.changed_noise import ChangedNoise
from dpsumm.vertical.messages import CountColumns, Finish
from dpsumm.vertical.owner import Owner
from dpsumm.vertical.trees import Tree
from dpsumm.vertical.wire import CODEC
from helpers.columns import World

# 1,300 values in 68 cells, of which the first, one in the middle and the last are points.
CELLS = tuple(sorted({0, 1, *range(20, 1299, 20), 641, 1299}))
WIDE = Tree.of_cells(1300, CELLS, (0, CELLS.index(640), len(CELLS) - 1), missing=True)


def by_hand(tree, values):
    """The slow twin of a tree's tables: each record by itself, the nodes that it is in."""
    tables = [np.zeros(length, np.int64) for length in tree.lengths]
    starts = tree.starts or range(tree.size)
    inner = [cell for cell in range(len(starts)) if cell not in tree.apart]
    for value in values.tolist():
        cell = max(k for k, start in enumerate(starts) if start <= value)
        for k, table in enumerate(tables[tree.by_value :]):
            if cell in tree.apart:
                table[len(table) - len(tree.apart) + tree.apart.index(cell)] += 1
            else:
                table[inner.index(cell) // 4**k] += 1
        if tree.by_value:
            tables[0][value] += 1
    return tables


def rows(observer, sizes=((4, 3), (5, 3)), trees=None, again=()):
    """One owner sees the tables, and knows its own noise in those of its columns.

    Without an observer: the analyst, who knows neither. Pairs to be counted `again` are those of a
    second round.
    """
    sizes = sizes if trees is None else [[tree.size for tree in owner] for owner in trees]

    class Watching(Owner):
        """Sends what it would send without its noise: what it knows is taken off."""

        def _with_noise(self, product, k, exact, noise):
            known = ChangedNoise(noise, np.zeros_like) if self.name == observer else noise
            return super()._with_noise(product, k, exact, known)

    def run(rng, epsilon, n):
        world = World(rng, [list(owner) for owner in sizes], n, trees=trees)
        world.owner_kind = Watching
        world.budget = replace(world.budget, noise_multiplier=multiplier(epsilon))
        if again:
            world.in_two_rounds(*again)
        released = world.run()
        plan, names = released.plan, world.layout.owners
        owner, counted = plan.owner_of, world.layout.counted_by
        exact = [by_hand(*both) for both in zip(counted, np.hstack(world.codes).T, strict=True)]
        found = [released.one_way - np.concatenate([table for tables in exact for table in tables])]
        # The tables of a column share its budget.
        stds = [
            np.full(sum(map(len, tables)), plan.single_std * math.sqrt(len(tables)))
            for tables in exact
        ]
        # By a tree, codes follow from noise: two-way tables have another size in every run.
        noise = [] if trees else zip(world.noise(released), plan.every, strict=True)
        for table, (pair, std) in noise:
            both_add = plan.is_cross(pair) and observer not in [names[owner[j]] for j in pair]
            found.append(table.ravel())
            stds.append(np.full(table.size, std * (math.sqrt(2) if both_add else 1)))
        charges = {name: book.charges() for name, book in world.books.items()}
        # One record leaves a cell and comes to another in every table that an owner adds noise to.
        squares = {
            name: sum(2 / plan.single_std**2 for j in range(len(counted)) if owner[j] == p)
            + sum(2 / std**2 for (i, j), std in plan.every if p in (owner[i], owner[j]))
            for p, name in enumerate(charges)
        }
        mu = {name: math.sqrt(square) for name, square in squares.items()}
        return Left(np.concatenate(found), np.concatenate(stds), charges, mu)

    return run


def rows_of_same_columns(rng, epsilon, n, sizes=(4, 3, 5), owners=3):
    """The coordinator sees the tables of each owner before it adds them up."""
    world = World(rng, [list(sizes)] * owners, n, same_columns=True)
    world.budget = replace(world.budget, noise_multiplier=multiplier(epsilon))
    plan = world.run().plan
    found, stds = [], []
    sent = {(name, type(request)): CODEC.decode(raw) for name, request, raw in world.sent}
    for name, codes in zip(world.layout.owners, world.codes, strict=True):
        counts = sent[name, CountColumns].counts
        exact = [np.bincount(codes[:, j], minlength=size) for j, size in enumerate(sizes)]
        found.append(counts - np.concatenate(exact))
        stds.append(np.full(len(counts), plan.single_std))
        starts = np.cumsum([0, *sizes])
        within = sent[name, Finish].within
        for (i, j), std in plan.every:
            table = np.zeros((sizes[i], sizes[j]), np.int64)
            np.add.at(table, (codes[:, i], codes[:, j]), 1)
            block = within[starts[i] : starts[i + 1], starts[j] : starts[j + 1]]
            found.append((block - table).ravel())
            stds.append(np.full(table.size, std))
    charges = {name: book.charges() for name, book in world.books.items()}
    square = len(sizes) * 2 / plan.single_std**2 + sum(2 / std**2 for _, std in plan.every)
    mu = dict.fromkeys(charges, math.sqrt(square))
    return Left(np.concatenate(found), np.concatenate(stds), charges, mu)
