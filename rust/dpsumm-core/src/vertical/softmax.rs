//! Multinomial logistic regression on codes: fitted to moments instead of records, and applied.
//!
//! Post-processing of released numbers. Every bit is the same on every processor and with any number
//! of threads, as for [`super::mixture`].

mod fit;
mod minimise;
#[cfg(test)]
mod tests;

use rayon::prelude::*;

pub use fit::{Wanted, fit};

use crate::error::{Error, Result, check_room};
use crate::exp::exp_nonpositive;
use crate::simd::{Hot, dispatch};

/// Rows that one thread takes at a time. Sums are of such chunks, in their order.
const CHUNK: usize = 2048;

/// Records as codes, one of each block of weights.
#[derive(Debug, Clone, Copy)]
pub struct Codes<'a> {
    codes: &'a [u32],
    sizes: &'a [usize],
    classes: usize,
}

impl<'a> Codes<'a> {
    /// View `codes`, `(n, blocks)`, each from 0 to the block's size.
    ///
    /// # Errors
    /// A code or a size out of range, or no class.
    pub fn new(codes: &'a [u32], sizes: &'a [usize], classes: usize) -> Result<Self> {
        let width = sizes.iter().try_fold(0usize, |sum, &size| sum.checked_add(size));
        if width.is_none_or(|w| w == 0 || w > 1 << 24) || sizes.contains(&0) {
            return Err(Error::invalid("sizes", "must be at least 1 each, 16777216 together"));
        }
        if !(1..=1 << 16).contains(&classes) {
            return Err(Error::invalid("start", "must have from 1 to 65536 classes"));
        }
        let rows = codes.chunks_exact(sizes.len());
        if !rows.remainder().is_empty() {
            return Err(Error::invalid("codes", "must have a column for each size"));
        }
        if rows.clone().any(|row| row.iter().zip(sizes).any(|(&code, &size)| code as usize >= size))
        {
            return Err(Error::invalid("codes", "must be below the sizes"));
        }
        Ok(Self { codes, sizes, classes })
    }

    fn rows(&self) -> usize {
        self.codes.len() / self.sizes.len()
    }

    fn width(&self) -> usize {
        self.sizes.iter().sum()
    }

    /// Row of the weights at which each block begins.
    fn firsts(&self) -> Vec<usize> {
        let mut next = 0;
        let first = |&size: &usize| {
            next += size;
            next - size
        };
        self.sizes.iter().map(first).collect()
    }
}

/// Return each record's shares of the classes, `(n, classes)`; `start` are those without any code.
///
/// # Errors
/// Numbers that are not finite or of another shape, no memory.
pub fn shares(codes: Codes<'_>, weights: &[f64], start: &[f64]) -> Result<Vec<f64>> {
    check("weights", weights, codes.width() * codes.classes)?;
    let start = &log_of(start, codes.classes)?;
    check_room::<f64>("codes", codes.rows(), codes.classes)?;
    let (firsts, k) = (codes.firsts(), codes.classes);
    let mut out = vec![0.0; codes.rows() * k];
    out.par_chunks_mut(CHUNK * k)
        .zip(codes.codes.par_chunks(CHUNK * firsts.len()))
        .for_each(|(out, codes)| dispatch(Shares { out, codes, firsts: &firsts, weights, start }));
    Ok(out)
}

fn log_of(shares: &[f64], classes: usize) -> Result<Vec<f64>> {
    check("start", shares, classes)?;
    if shares.iter().any(|&share| share <= 0.0) {
        return Err(Error::invalid("start", "must be above 0"));
    }
    Ok(shares.iter().map(|&share| libm::log(share)).collect())
}

fn check(name: &'static str, values: &[f64], wanted: usize) -> Result<()> {
    if values.len() != wanted {
        return Err(Error::invalid(name, format!("must have {wanted} numbers, for all codes")));
    }
    if values.iter().any(|x| !x.is_finite()) {
        return Err(Error::NonFinite { name });
    }
    Ok(())
}

struct Shares<'a> {
    out: &'a mut [f64],
    codes: &'a [u32],
    firsts: &'a [usize],
    weights: &'a [f64],
    start: &'a [f64],
}

impl Hot for Shares<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let rows = self.codes.chunks_exact(self.firsts.len());
        for (shares, row) in self.out.chunks_exact_mut(self.start.len()).zip(rows) {
            log_odds(shares, row, self.firsts, self.weights, self.start);
            let (_, total) = exponentials(shares);
            shares.iter_mut().for_each(|x| *x /= total);
        }
    }
}

/// Write a record's log-odds: `start`, and the weights of its codes.
#[inline(always)]
fn log_odds(out: &mut [f64], row: &[u32], firsts: &[usize], weights: &[f64], start: &[f64]) {
    out.copy_from_slice(start);
    for (&code, &first) in row.iter().zip(firsts) {
        let at = (first + code as usize) * out.len();
        let size = out.len();
        out.iter_mut().zip(&weights[at..at + size]).for_each(|(x, w)| *x += w);
    }
}

/// Replace log-odds by their exponentials over the largest one's; return it and their sum.
#[inline(always)]
fn exponentials(odds: &mut [f64]) -> (f64, f64) {
    let top = odds.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b));
    odds.iter_mut().for_each(|x| *x = exp_nonpositive(*x - top));
    (top, odds.iter().sum())
}
