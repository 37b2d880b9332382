//! The best few of many bids, in a total order.

use std::cmp::Reverse;

use rayon::prelude::*;

use super::{Bid, ROWS};
use crate::error::{Error, Result};

/// A bid with what breaks its ties: the greater has the greater score or, at a tie, the smaller id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ranked {
    score: i128,
    id: Reverse<i64>,
    row: usize,
}

impl Ranked {
    #[inline]
    pub(super) fn new(score: i128, id: i64, row: usize) -> Self {
        Self { score, id: Reverse(id), row }
    }
}

/// Return the `s` greatest bids of available rows, greatest first; fewer if fewer are available.
/// The order is total (ids differ), so how the work is split changes nothing. Errors: `s` is 0.
pub(super) fn top(
    available: &[bool],
    s: usize,
    bid: impl Fn(usize) -> Ranked + Sync,
) -> Result<Vec<Bid>> {
    if s == 0 {
        return Err(Error::invalid("s", "ask for at least 1 bid"));
    }
    let s = s.min(available.len());
    let empty = || Top { s, held: Vec::new(), floor: i128::MIN };
    let blocks = available.par_chunks(ROWS).enumerate().map(|(block, flags)| {
        let mut best = empty();
        for (i, _) in flags.iter().enumerate().filter(|&(_, &free)| free) {
            best.push(bid(block * ROWS + i));
        }
        best
    });
    let mut best = blocks.reduce(empty, |mut a, b| {
        b.held.into_iter().for_each(|bid| a.push(bid));
        a
    });
    best.held.sort_unstable_by(|a, b| b.cmp(a));
    best.held.truncate(s);
    Ok(best.held.iter().map(|bid| Bid { row: bid.row, score: bid.score }).collect())
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
