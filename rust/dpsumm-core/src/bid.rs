//! Bids of an owner: its best available points under released directions, in exact integers.
//!
//! A bid on row x is `alpha * q(x).G_V - beta * q(x).G_S`, with its features `q(x)` on a grid
//! ([`crate::grid`]) and the released sums `G_V` of the target's m records and `G_S` of the t
//! points in the summary. The marginal gain is, up to a positive factor,
//! `h(x).g_V - t/(t+1) h(x).g_S` with `g_V` and `g_S` the means; for sums on one grid, clearing the
//! denominators gives `alpha = t + 1` and `beta = m`. Sums on different grids need each factor
//! multiplied by the other grid's levels.
//!
//! Scores under `G_V` and `G_S` are kept apart, so a new t costs no pass over the data, and a
//! release that changed in few coordinates reads only those columns.
//!
//! Privacy: bids are functions of one owner's data and of releases. They may go to the curator and
//! to nobody else. Ties go to the smaller row: one total order, no coins.

mod dot;
mod top;

use std::collections::HashSet;

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::simd::dispatch;
use dot::{AddColumn, Digits, UNIT, check_direction};
use top::{Rows, top};

/// Rows of one unit of parallel work on cached scores: 32 KiB of them.
const ROWS: usize = 4096;
/// Cost of one changed column, in columns of the dense pass (bench `bid`).
const SPARSE_COST: usize = 4;

/// A row and its exact score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bid {
    /// Row of the point among those given, from 0.
    pub row: usize,
    /// Exact integer score; its unit is the product of the grids' and of `alpha`.
    pub score: i128,
}

/// Return the `s` best available rows under one direction, best first (fewer if fewer are
/// available).
///
/// `features`: (n, d) row-major grid features; `direction`: (d,); `available`: (n,).
///
/// Errors: `s` is 0, shapes that do not fit, or a direction whose L1 norm reaches 2^48, above which
/// a score could overflow.
pub fn best_bids(
    features: &[i16],
    direction: &[i64],
    available: &[bool],
    s: usize,
) -> Result<Vec<Bid>> {
    let n_features = direction.len();
    check_direction("direction", direction, n_features)?;
    check_shape(features, n_features)?;
    if available.len() != features.len() / n_features {
        return Err(Error::invalid("available", "needs one flag for each row of features"));
    }
    let mut scores = vec![0; available.len()];
    Digits::new(direction).scores_into(features, n_features, &mut scores);
    let ids: Vec<i64> = (0..scores.len() as i64).collect();
    let (target, summary) = (&scores[..], &scores[..]);
    top(&Rows { alpha: 1, target, beta: 0, summary, ids: &ids, available }, s)
}

/// Return the score of one feature row, the same integer as in the bid: the curator checks a
/// received point with it.
///
/// `row`, `target`, `summary`: (d,). Errors as [`Bidder::set_target`].
pub fn score_of(
    row: &[i16],
    target: &[i64],
    summary: &[i64],
    alpha: i64,
    beta: i64,
) -> Result<i128> {
    check_direction("target", target, row.len())?;
    check_direction("summary", summary, row.len())?;
    let dot = |g: &[i64]| row.iter().zip(g).map(|(&q, &g)| i64::from(q) * g).sum();
    Ok(combine(alpha, dot(target), beta, dot(summary)))
}

/// An owner's grid features with cached scores under the two released directions.
///
/// # Examples
/// ```
/// use dpsumm_core::bid::{Bid, Bidder};
///
/// // Three rows of two features on a grid, and the released sum over the target.
/// let mut owner = Bidder::new(vec![1, 0, 0, 1, 1, 1], 2)?;
/// owner.set_target(&[5, 3])?;
/// assert_eq!(owner.best(1, 0, 1)?, [Bid { row: 2, score: 8 }]);
/// owner.remove(2)?; // it was sent
/// assert_eq!(owner.best(1, 0, 1)?, [Bid { row: 0, score: 5 }]);
/// # Ok::<(), dpsumm_core::Error>(())
/// ```
pub struct Bidder {
    n_features: usize,
    rows: Vec<i16>,
    columns: Columns,
    /// What breaks ties, the smaller first: at an owner the row itself.
    ids: Vec<i64>,
    available: Vec<bool>,
    target: Scored,
    summary: Scored,
}

/// The column-major copy costs several dense passes and as much memory as the rows. So the first
/// sparse change is a dense pass that only asks for it, and the second makes it.
enum Columns {
    Unasked,
    Asked,
    Made(Vec<i16>),
}

/// A direction and the exact score of every row under it.
struct Scored {
    direction: Vec<i64>,
    scores: Vec<i64>,
}

impl Bidder {
    /// Keep `features` (n, d), row-major; n may be 0. Both directions start at zero, all rows
    /// available.
    ///
    /// Errors: `n_features` is 0 or does not divide the length.
    pub fn new(features: Vec<i16>, n_features: usize) -> Result<Self> {
        check_shape(&features, n_features)?;
        let n = features.len() / n_features;
        let zero = || Scored { direction: vec![0; n_features], scores: vec![0; n] };
        Ok(Self {
            n_features,
            rows: features,
            columns: Columns::Unasked,
            ids: (0..n as i64).collect(),
            available: vec![true; n],
            target: zero(),
            summary: zero(),
        })
    }

    /// Add rows of `features`, (k, d) row-major, at the end, available; their scores are known at
    /// once. `ids`, (k,), break ties, the smaller first: for points that arrive out of order, as at
    /// the curator, their rows in the owner's data. (Rows given to [`Bidder::new`] have the ids 0,
    /// 1, ..)
    ///
    /// Errors: shapes that do not fit, or an id that is there already.
    pub fn append(&mut self, features: &[i16], ids: &[i64]) -> Result<()> {
        check_shape(features, self.n_features)?;
        if ids.len() != features.len() / self.n_features {
            return Err(Error::invalid("ids", "needs one id for each row of features"));
        }
        let mut known: HashSet<i64> = self.ids.iter().copied().collect();
        if !ids.iter().all(|&id| known.insert(id)) {
            return Err(Error::invalid("ids", "must differ from each other and from those before"));
        }
        self.rows.extend_from_slice(features);
        self.ids.extend_from_slice(ids);
        self.available.resize(self.ids.len(), true);
        self.columns = Columns::Unasked;
        for scored in [&mut self.target, &mut self.summary] {
            let first = scored.scores.len();
            scored.scores.resize(self.ids.len(), 0);
            let digits = Digits::new(&scored.direction);
            digits.scores_into(features, self.n_features, &mut scored.scores[first..]);
        }
        Ok(())
    }

    /// Number of features of a row.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// Number of rows, available or not.
    pub fn n_rows(&self) -> usize {
        self.available.len()
    }

    /// Whether any call is one unit of work: the calling thread does it, and wakes no other.
    pub fn is_brief(&self) -> bool {
        self.rows.len() <= UNIT && self.n_rows() <= ROWS
    }

    /// Number of rows that can still be offered.
    pub fn n_available(&self) -> usize {
        self.available.iter().filter(|&&free| free).count()
    }

    /// Set the released target sum `G_V`, (d,).
    ///
    /// Errors: wrong length, or an L1 norm of 2^48 or more, above which a score could overflow.
    pub fn set_target(&mut self, direction: &[i64]) -> Result<()> {
        check_direction("target", direction, self.n_features)?;
        rescore(&self.rows, &mut self.columns, &mut self.target, direction);
        Ok(())
    }

    /// Set the released summary sum `G_S`, (d,). Errors as [`Bidder::set_target`].
    pub fn set_summary(&mut self, direction: &[i64]) -> Result<()> {
        check_direction("summary", direction, self.n_features)?;
        rescore(&self.rows, &mut self.columns, &mut self.summary, direction);
        Ok(())
    }

    /// Take a row out of the offer: it was sent. Errors: no such row, or taken out before.
    pub fn remove(&mut self, row: usize) -> Result<()> {
        match self.available.get_mut(row) {
            Some(free) if *free => *free = false,
            _ => return Err(Error::invalid("row", "is not an available row of this owner")),
        }
        Ok(())
    }

    /// Return the `s` best available rows by `alpha * q.G_V - beta * q.G_S`, best first; fewer if
    /// fewer are available, none if all are gone. Errors: `s` is 0.
    pub fn best(&self, alpha: i64, beta: i64, s: usize) -> Result<Vec<Bid>> {
        let (target, summary) = (&self.target.scores, &self.summary.scores);
        let (ids, available) = (&self.ids, &self.available);
        top(&Rows { alpha, target, beta, summary, ids, available }, s)
    }
}

/// Exact: each product stays below 2^126 in absolute value.
#[inline]
fn combine(alpha: i64, target: i64, beta: i64, summary: i64) -> i128 {
    i128::from(alpha) * i128::from(target) - i128::from(beta) * i128::from(summary)
}

fn check_shape(features: &[i16], n_features: usize) -> Result<()> {
    if n_features == 0 || !features.len().is_multiple_of(n_features) {
        return Err(Error::invalid(
            "n_features",
            "must be at least 1 and divide the length of features",
        ));
    }
    Ok(())
}

/// Bring the scores to `direction`, by the changed columns if they are few, else by one dense pass.
fn rescore(rows: &[i16], columns: &mut Columns, scored: &mut Scored, direction: &[i64]) {
    let d = direction.len();
    let old = std::mem::replace(&mut scored.direction, direction.to_vec());
    let step = |(j, (new, old)): (usize, (&i64, &i64))| (new != old).then_some((j, new - old));
    let changes: Vec<_> = direction.iter().zip(&old).enumerate().filter_map(step).collect();
    let sparse = SPARSE_COST * changes.len() < d;
    match columns {
        _ if changes.is_empty() => return,
        Columns::Unasked if sparse => *columns = Columns::Asked,
        Columns::Asked if sparse => *columns = Columns::Made(transpose(rows, d)),
        _ => {}
    }
    match columns {
        Columns::Made(columns) if sparse => add_columns(columns, &changes, &mut scored.scores),
        _ => Digits::new(direction).scores_into(rows, d, &mut scored.scores),
    }
}

/// Add `change * column` to the scores, for each change.
fn add_columns(columns: &[i16], changes: &[(usize, i64)], scores: &mut [i64]) {
    let n = scores.len();
    let unit = |(block, scores): (usize, &mut [i64])| {
        for &(j, change) in changes {
            let column = &columns[j * n + block * ROWS..][..scores.len()];
            dispatch(AddColumn { change, column, scores });
        }
    };
    if n <= ROWS {
        return unit((0, scores));
    }
    scores.par_chunks_mut(ROWS).enumerate().for_each(unit);
}

/// Return the (d, n) copy of (n, d) rows.
fn transpose(rows: &[i16], d: usize) -> Vec<i16> {
    let n = rows.len() / d;
    let mut columns = vec![0; rows.len()];
    let one = |(j, column): (usize, &mut [i16])| {
        for (value, row) in column.iter_mut().zip(rows.chunks_exact(d)) {
            *value = row[j];
        }
    };
    if rows.len() <= UNIT {
        columns.chunks_mut(n.max(1)).enumerate().for_each(one);
    } else {
        columns.par_chunks_mut(n).enumerate().for_each(one);
    }
    columns
}

#[cfg(test)]
mod tests;
