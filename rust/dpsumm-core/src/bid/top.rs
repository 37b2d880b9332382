//! The best few of many bids, in a total order.

use std::cmp::Reverse;

use rayon::prelude::*;

use super::Bid;
use crate::error::{Error, Result};
use crate::simd::{Hot, dispatch};

/// Rows of one unit of parallel work: their scores fill a cache of 256 KiB.
const ROWS: usize = 16384;
/// Rows that share one ceiling.
const GROUP: usize = 64;
/// Numbers side by side in vector registers.
const LANES: usize = 8;
/// Relative slack of a ceiling: four roundings to f64, of 2^-53 each, stay far below it.
const SLACK: f64 = 1.0 / (1u64 << 48) as f64;

/// Rows and what their bids are made of: `alpha * target[row] - beta * summary[row]`, ties going
/// to the smaller id.
pub(super) struct Rows<'a> {
    pub(super) alpha: i64,
    pub(super) target: &'a [i64],
    pub(super) beta: i64,
    pub(super) summary: &'a [i64],
    pub(super) ids: &'a [i64],
    pub(super) available: &'a [bool],
}

impl Rows<'_> {
    #[inline]
    fn bid(&self, row: usize) -> Ranked {
        let score = super::combine(self.alpha, self.target[row], self.beta, self.summary[row]);
        Ranked { score, id: Reverse(self.ids[row]), row }
    }
}

/// A bid with what breaks its ties: the greater has the greater score or, at a tie, the smaller id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Ranked {
    score: i128,
    id: Reverse<i64>,
    row: usize,
}

/// Return the `s` greatest bids of available rows, greatest first; fewer if fewer are available.
/// The order is total (ids differ), so how the work is split changes nothing. Errors: `s` is 0.
///
/// Scores have 128 bits. So rows are looked at in f64 first, in groups with a ceiling that no score
/// exceeds, and exactly only where the ceiling reaches the best so far.
pub(super) fn top(rows: &Rows<'_>, s: usize) -> Result<Vec<Bid>> {
    if s == 0 {
        return Err(Error::invalid("s", "ask for at least 1 bid"));
    }
    let n = rows.available.len();
    let s = s.min(n);
    let empty = || Top { s, held: Vec::new(), floor: i128::MIN };
    let unit = |block: usize| {
        let first = block * ROWS;
        let past = n.min(first + ROWS);
        let mut ceilings = [f64::NEG_INFINITY; ROWS / GROUP];
        dispatch(Ceilings { rows, first, past, ceilings: &mut ceilings });
        let mut best = empty();
        for (start, ceiling) in (first..past).step_by(GROUP).zip(ceilings) {
            // Rounding keeps order: a score of the group that reaches the floor is not skipped.
            if ceiling < best.floor as f64 {
                continue;
            }
            for row in (start..past.min(start + GROUP)).filter(|&row| rows.available[row]) {
                best.push(rows.bid(row));
            }
        }
        best
    };
    let mut best = if n <= ROWS {
        unit(0)
    } else {
        (0..n.div_ceil(ROWS)).into_par_iter().map(unit).reduce(empty, |mut a, b| {
            b.held.into_iter().for_each(|bid| a.push(bid));
            a
        })
    };
    best.held.sort_unstable_by(|a, b| b.cmp(a));
    best.held.truncate(s);
    Ok(best.held.iter().map(|bid| Bid { row: bid.row, score: bid.score }).collect())
}

/// Write for each group of rows a number that no score of an available row exceeds, even when
/// that is rounded to f64; minus infinity if none is available.
struct Ceilings<'a> {
    rows: &'a Rows<'a>,
    first: usize,
    past: usize,
    ceilings: &'a mut [f64],
}

impl Hot for Ceilings<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (alpha, beta) = (self.rows.alpha as f64, self.rows.beta as f64);
        let span = self.first..self.past;
        let target = self.rows.target[span.clone()].chunks(GROUP);
        let summary = self.rows.summary[span.clone()].chunks(GROUP);
        let free = self.rows.available[span].chunks(GROUP);
        let ceiling = |target: i64, summary: i64, free: bool| {
            let (plus, minus) = (alpha * target as f64, beta * summary as f64);
            let ceiling = (plus - minus) + SLACK * (plus.abs() + minus.abs());
            if free { ceiling } else { f64::NEG_INFINITY }
        };
        for (((target, summary), free), out) in target.zip(summary).zip(free).zip(self.ceilings) {
            let mut highest = [f64::NEG_INFINITY; LANES];
            let (targets, targets_left) = target.as_chunks::<LANES>();
            let (summaries, summaries_left) = summary.as_chunks::<LANES>();
            let (frees, frees_left) = free.as_chunks::<LANES>();
            for ((target, summary), free) in targets.iter().zip(summaries).zip(frees) {
                for lane in 0..LANES {
                    let value = ceiling(target[lane], summary[lane], free[lane]);
                    highest[lane] = if value > highest[lane] { value } else { highest[lane] };
                }
            }
            let left = targets_left.iter().zip(summaries_left).zip(frees_left);
            let left = left.map(|((&target, &summary), &free)| ceiling(target, summary, free));
            *out = highest.into_iter().chain(left).fold(f64::NEG_INFINITY, f64::max);
        }
    }
}

/// The `s` greatest bids seen, and some that may not stay.
struct Top {
    s: usize,
    held: Vec<Ranked>,
    /// A score that `s` bids reach.
    floor: i128,
}

impl Top {
    #[inline]
    fn push(&mut self, bid: Ranked) {
        // By the score only, which is cheaper: ties are settled at the next cut.
        if bid.score < self.floor {
            return;
        }
        self.held.push(bid);
        // Room for as many again before a cut, so a bid costs O(1) on average.
        if self.held.len() >= 2 * self.s {
            self.held.select_nth_unstable_by(self.s - 1, |a, b| b.cmp(a));
            self.held.truncate(self.s);
            self.floor = self.held[self.s - 1].score;
        }
    }
}
