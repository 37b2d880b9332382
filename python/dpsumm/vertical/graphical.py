"""A graphical model by `mbi` of the pairs that stand out of the noise. Post-processing.

McKenna, Sheldon and Miklau 2019, *Graphical-model based estimation and inference for differential
privacy*. `mbi` fits; rows are drawn here, from the tables of the junction tree's cliques.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.errors import InvalidParameterError, MissingExtraError
from dpsumm.vertical.layout import Released
from dpsumm.vertical.merged import code_variance, level_shares, merged_counts

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Clique:
    """One node of the junction tree."""

    columns: tuple[int, ...]
    shared: int
    parent: int | None
    table: Floats

    def by_shared(self, table: Floats) -> Floats:
        """Return a table as (cells that the parent knows, all others)."""
        return table.reshape(math.prod(table.shape[: self.shared]), -1)


@dataclass(frozen=True, eq=False)
class Graphical:
    """A graphical model: columns that depend on each other as the pairs that were chosen say.

    Attributes
    ----------
    pairs
        Columns (i, j) of the two-way tables that it was fitted to: the others follow from them.
    cliques
        The junction tree, parents first.
    shares
        Of each column's levels, within the codes that they share.
    codes
        Code of each level, by column.
    steps, chi2
        How far the fit came: chi-square for each cell of the pairs, 1 where it is as large as the
        noise.

    See Also
    --------
    dpsumm.vertical.Mixture : The other model of the noisy counts.
    dpsumm.Tables : Says which of the two is fitted.

    Examples
    --------
    >>> import dpsumm  # and mbi, of the extra `graphical`
    >>> synthetic = dpsumm.synthesize(  # doctest: +SKIP
    ...     owners, schema=schemas, protocol=dpsumm.Tables(model="graphical")
    ... )
    >>> synthetic.model.pairs  # doctest: +SKIP
    ((0, 1), (1, 3))
    """

    pairs: tuple[tuple[int, int], ...]
    cliques: tuple[Clique, ...]
    shares: tuple[Floats, ...]
    codes: tuple[NDArray[np.int64], ...]
    steps: int
    chi2: float

    @property
    def sizes(self) -> tuple[int, ...]:
        """Levels of the columns."""
        return tuple(map(len, self.codes))

    def draw(
        self, n: int, given: Sequence[int | None] | None = None, seed: int | None = None
    ) -> NDArray[np.uint32]:
        """Return the levels of n records, (n, columns).

        Parameters
        ----------
        n
            The counts of each clique's cells are its shares of n, up to rounding.
        given
            A level for each column, or None: all records have these, the others are drawn given
            them.
        seed
            Repeats a draw.
        """
        rng = np.random.default_rng(seed)
        known = [None] * len(self.codes) if given is None else list(given)
        tables = self._conditioned(known)
        if not all(table.any() for table in tables):
            raise InvalidParameterError("given: the model has no record with these values")
        codes = np.zeros((n, len(self.codes)), np.int64)
        for clique, table in zip(self.cliques, tables, strict=True):
            shared, rest = clique.columns[: clique.shared], clique.columns[clique.shared :]
            shape = table.shape
            group = np.zeros(n, np.int64)
            for column, size in zip(shared, shape[: clique.shared], strict=True):
                group = group * size + codes[:, column]
            cells = stratified(clique.by_shared(table), group, rng)
            found = np.unravel_index(cells, shape[clique.shared :])
            for column, code in zip(rest, found, strict=True):
                codes[:, column] = code
        levels = np.empty(codes.shape, np.uint32)
        for j, (share, code) in enumerate(zip(self.shares, self.codes, strict=True)):
            level = known[j]
            within = np.where(code == np.arange(code.max() + 1)[:, None], share, 0.0)
            drawn = stratified(within, codes[:, j], rng) if level is None else level
            levels[:, j] = drawn
        return levels

    def _conditioned(self, known: Sequence[int | None]) -> list[Floats]:
        """Return the cliques' tables given some levels: messages from leaves to roots."""
        tables = [clique.table.copy() for clique in self.cliques]
        for j, level in enumerate(known):
            if level is not None:
                at = next(k for k, clique in enumerate(self.cliques) if j in clique.columns)
                is_it = np.arange(self.codes[j].max() + 1) == self.codes[j][level]
                axis = self.cliques[at].columns.index(j)
                shape = [-1 if a == axis else 1 for a in range(tables[at].ndim)]
                tables[at] *= is_it.reshape(shape)
        for k in reversed(range(len(self.cliques))):
            clique = self.cliques[k]
            if clique.parent is None or not clique.shared:
                continue
            before = clique.by_shared(clique.table).sum(axis=1)
            after = clique.by_shared(tables[k]).sum(axis=1)
            message = np.divide(after, before, out=np.zeros_like(after), where=before > 0)
            above = self.cliques[clique.parent]
            shared = clique.columns[: clique.shared]
            places = [above.columns.index(column) for column in shared]
            shape = [1] * tables[clique.parent].ndim
            grid = message.reshape(clique.table.shape[: clique.shared])
            grid = grid.transpose(np.argsort(places))
            for place in places:
                shape[place] = tables[clique.parent].shape[place]
            tables[clique.parent] *= grid.reshape(shape)
        return tables


def stratified(shares: Floats, group: NDArray[np.int64], rng: np.random.Generator) -> Any:
    """Return a cell for each record by the shares of its group, (groups, cells).

    Within a group the counts are the expected ones, up to rounding; who gets which is random.
    """
    n = len(group)
    order = np.lexsort((rng.random(n), group))
    counts = np.bincount(group, minlength=len(shares))
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    ranks = np.empty(n)
    ranks[order] = np.arange(n) - starts[group[order]]
    at = (ranks + rng.random(n)) / counts[group]
    total = shares.sum(axis=1, keepdims=True)
    shares = np.where(total > 0, shares, 1.0)
    cdf = np.cumsum(shares, axis=1)
    cdf /= cdf[:, -1:]
    # One search in all groups: that of group g is from g to g + 1.
    flat = (cdf + np.arange(len(cdf))[:, None]).ravel()
    cells = np.searchsorted(flat, at + group, side="right") - group * shares.shape[1]
    return np.clip(cells, 0, shares.shape[1] - 1)


def chosen_pairs(released: Released, megabytes: float) -> list[int]:
    """Return positions of pairs whose dependence is above the noise, while the model fits.

    By falling distance from independence less what noise of its size adds; each is taken unless
    the junction tree's tables would then be larger than `megabytes`.
    """
    _, junction_tree, domain_of = _mbi()
    plan, n = released.plan, released.n_records
    sizes = {j: size for j, size in enumerate(plan.sizes) if size > 1}
    domain, scores = domain_of(sizes), []
    for index, (i, j) in enumerate(plan.pairs):
        alone = [np.maximum(merged_counts(released, c), 0.0) for c in (i, j)]
        apart = np.abs(released.pairs[i, j] - np.outer(*alone) / n).sum()
        noise = math.sqrt(2 / math.pi * plan.variance(index)) * released.pairs[i, j].size
        scores.append(apart - noise)
    chosen: list[int] = []
    for index in sorted(range(len(scores)), key=lambda k: -scores[k]):
        cliques = [(j,) for j in sizes] + [plan.pairs[k] for k in (*chosen, index)]
        if scores[index] <= 0:
            break
        if junction_tree.hypothetical_model_size(domain, cliques) <= megabytes:
            chosen.append(index)
    return chosen


def fit_graphical(released: Released, *, megabytes: float, max_steps: int) -> Graphical:
    """Return the graphical model of released tables."""
    mbi, junction_tree, domain_of = _mbi()
    import jax

    plan, n = released.plan, released.n_records
    sizes = {j: size for j, size in enumerate(plan.sizes) if size > 1}
    chosen = chosen_pairs(released, megabytes)
    pairs = tuple(plan.pairs[k] for k in chosen)
    trees: list[Clique] = []
    chi2 = 0.0
    if sizes:
        domain = domain_of(sizes)
        with warnings.catch_warnings(), jax.enable_x64(True):
            warnings.simplefilter("ignore")
            measured = [
                mbi.LinearMeasurement(
                    merged_counts(released, j),
                    (j,),
                    math.sqrt(float(code_variance(released, j).mean())),
                )
                for j in sizes
            ]
            measured += [
                mbi.LinearMeasurement(
                    released.pairs[plan.pairs[k]].astype(np.float64).ravel(),
                    plan.pairs[k],
                    math.sqrt(plan.variance(k)),
                )
                for k in chosen
            ]
            model = mbi.estimation.MirrorDescent().estimate(
                domain, measured, known_total=float(n), iters=max_steps
            )
            tree, _ = junction_tree.make_junction_tree(domain, list(model.potentials.cliques))
            marginals = mbi.marginal_oracles.message_passing_stable(
                model.potentials.expand(list(tree.nodes)), 1.0
            )
            tables = {
                clique: np.asarray(marginals.project(clique).datavector(flatten=False), np.float64)
                for clique in tree.nodes
            }
        trees = _rooted(tree, tables)
        chi2 = _chi2(released, chosen, trees)
    codes = tuple(released.codes)
    lone = [j for j in range(len(plan.sizes)) if j not in sizes]
    trees += [Clique((j,), 0, None, np.ones(1)) for j in lone]
    shares = tuple(level_shares(released, j) for j in range(len(codes)))
    return Graphical(pairs, tuple(trees), shares, codes, max_steps if sizes else 0, chi2)


def _rooted(tree: Any, tables: dict[tuple[int, ...], Floats]) -> list[Clique]:
    """Return the cliques, parents first, each with the columns of its parent in front."""
    place: dict[tuple[int, ...], int] = {}
    found: list[Clique] = []
    for root in tree.nodes:
        waiting = [] if root in place else [(root, None)]
        while waiting:
            name, parent = waiting.pop()
            shared: list[int] = [] if parent is None else [c for c in name if c in parent]
            columns = (*shared, *(c for c in name if c not in shared))
            table = tables[name].transpose([name.index(c) for c in columns])
            place[name] = len(found)
            above = None if parent is None else place[parent]
            found.append(Clique(columns, len(shared), above, np.maximum(table, 0.0)))
            waiting += [(other, name) for other in tree.neighbors(name) if other not in place]
    return found


def _chi2(released: Released, chosen: Sequence[int], cliques: Sequence[Clique]) -> float:
    total, cells = 0.0, 0
    for index in chosen:
        i, j = released.plan.pairs[index]
        clique = next(c for c in cliques if i in c.columns and j in c.columns)
        rest = tuple(k for k, column in enumerate(clique.columns) if column not in (i, j))
        table = clique.table.sum(axis=rest)
        table = table if clique.columns.index(i) < clique.columns.index(j) else table.T
        apart = released.n_records * table / table.sum() - released.pairs[i, j]
        total += float((apart**2).sum()) / released.plan.variance(index)
        cells += apart.size
    return total / cells if cells else 0.0


def check_mbi() -> None:
    """Raise `MissingExtraError` unless `mbi` is installed."""
    _mbi()


def _mbi() -> tuple[Any, Any, Any]:
    try:
        with warnings.catch_warnings():
            # It asks for doubles in all of the process; here they are asked for where it is used.
            warnings.simplefilter("ignore")
            import mbi
            from mbi import junction_tree
    except ImportError:
        raise MissingExtraError(
            "model: 'graphical' needs mbi; pip install 'dpsumm[graphical]', or use 'mixture'"
        ) from None

    def domain_of(sizes: dict[int, int]) -> Any:
        return mbi.Domain(tuple(sizes), tuple(sizes.values()))

    return mbi, junction_tree, domain_of
