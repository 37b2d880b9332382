//! The fit: weights whose expected moments over the records are the wanted ones.

use std::sync::atomic::AtomicBool;

use rayon::prelude::*;

use super::minimise::minimise;
use super::{CHUNK, Codes, check, exponentials, log_odds, log_of};
use crate::error::{Error, Result, check_room};
use crate::simd::{Hot, dispatch};

/// Added to each curvature, so that no coordinate is scaled without bound.
const LEAST: f64 = 1e-7;
/// Fewer classes are filled up to so many, which go at once. Those that fill up have no share. More
/// would gain nothing: filled up, they were as slow or slower.
const LANES: usize = 8;

/// What is fitted to; each is `(W, classes)`, W the sum of the sizes.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// Share of the records that have a code and a class.
    pub moments: &'a [f64],
    /// Of each weight.
    pub ridges: &'a [f64],
}

/// Return weights `(W, classes)` that minimise
/// `mean logsumexp - <weights, moments> + sum ridges weights^2 / 2`, by L-BFGS. `start` are the
/// shares of the classes without any code.
///
/// # Errors
/// Numbers that are not finite or of another shape, a negative ridge, no record, no memory,
/// [`Error::Stopped`].
pub fn fit(
    codes: Codes<'_>,
    wanted: &Wanted<'_>,
    start: &[f64],
    max_steps: usize,
    until: &AtomicBool,
) -> Result<Vec<f64>> {
    let (rows, width, k) = (codes.rows(), codes.width(), codes.classes);
    check("moments", wanted.moments, width * k)?;
    check("ridges", wanted.ridges, width * k)?;
    let start = &log_of(start, k)?;
    if wanted.ridges.iter().any(|&ridge| ridge < 0.0) {
        return Err(Error::invalid("ridges", "must be 0 or more"));
    }
    if rows == 0 {
        return Err(Error::invalid("codes", "must have a record"));
    }
    check_room::<f64>("codes", rows.div_ceil(CHUNK), width * k)?;
    let firsts = codes.firsts();
    let scale = scales(&codes, &firsts, wanted.ridges, start);
    let each = 1.0 / rows as f64;
    let lanes = if (3..LANES).contains(&k) { LANES } else { k };
    let mut filled = start.clone();
    filled.resize(lanes, f64::NEG_INFINITY);
    let value = |at: &[f64]| {
        let weights: Vec<f64> = at.iter().zip(&scale).map(|(x, s)| x * s).collect();
        let mut padded = vec![0.0; width * lanes];
        let rows = padded.chunks_exact_mut(lanes).zip(weights.chunks_exact(k));
        rows.for_each(|(to, from)| to[..k].copy_from_slice(from));
        let parts: Vec<(f64, Vec<f64>)> = codes
            .codes
            .par_chunks(CHUNK * firsts.len())
            .map(|codes| {
                dispatch(Chunk { codes, firsts: &firsts, weights: &padded, start: &filled })
            })
            .collect();
        let mut slope = vec![0.0; weights.len()];
        let mut loss = 0.0;
        for (part, found) in &parts {
            loss += part;
            for (slope, found) in slope.chunks_exact_mut(k).zip(found.chunks_exact(lanes)) {
                slope.iter_mut().zip(found).for_each(|(sum, x)| *sum += x);
            }
        }
        loss *= each;
        for (i, g) in slope.iter_mut().enumerate() {
            let (w, ridge, moment) = (weights[i], wanted.ridges[i], wanted.moments[i]);
            loss += 0.5 * ridge * w * w - w * moment;
            *g = (*g * each - moment + ridge * w) * scale[i];
        }
        (loss, slope)
    };
    let mut found = minimise(value, vec![0.0; width * k], max_steps, until)?;
    found.iter_mut().zip(&scale).for_each(|(x, s)| *x *= s);
    Ok(found)
}

/// Coordinates in which the curvature is about 1.
fn scales(codes: &Codes<'_>, firsts: &[usize], ridges: &[f64], start: &[f64]) -> Vec<f64> {
    let mut counts = vec![0u64; codes.width()];
    for row in codes.codes.chunks_exact(firsts.len()) {
        row.iter().zip(firsts).for_each(|(&code, first)| counts[first + code as usize] += 1);
    }
    let mut odds = start.to_vec();
    let (_, total) = exponentials(&mut odds);
    let each = 1.0 / codes.rows() as f64;
    let share = |i: usize| counts[i / odds.len()] as f64 * each * odds[i % odds.len()] / total;
    ridges.iter().enumerate().map(|(i, ridge)| 1.0 / (share(i) + ridge + LEAST).sqrt()).collect()
}

/// Loss and moments of some records, as sums.
struct Chunk<'a> {
    codes: &'a [u32],
    firsts: &'a [usize],
    weights: &'a [f64],
    start: &'a [f64],
}

impl Hot for Chunk<'_> {
    type Output = (f64, Vec<f64>);

    #[inline(always)]
    fn run(self) -> (f64, Vec<f64>) {
        // Loops of a known length are unrolled.
        match self.start.len() {
            2 => self.sums(2),
            8 => self.sums(8),
            k => self.sums(k),
        }
    }
}

impl Chunk<'_> {
    #[inline(always)]
    fn sums(self, k: usize) -> (f64, Vec<f64>) {
        let mut found = vec![0.0; self.weights.len()];
        let mut shares = vec![0.0; k];
        let shares = &mut shares[..k];
        let mut loss = 0.0;
        for row in self.codes.chunks_exact(self.firsts.len()) {
            log_odds(shares, row, self.firsts, self.weights, self.start);
            let (top, total) = exponentials(shares);
            loss += top + libm::log(total);
            shares.iter_mut().for_each(|x| *x /= total);
            for (&code, first) in row.iter().zip(self.firsts) {
                let at = (first + code as usize) * k;
                found[at..at + k].iter_mut().zip(&*shares).for_each(|(sum, x)| *sum += x);
            }
        }
        (loss, found)
    }
}
