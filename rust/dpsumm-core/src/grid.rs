//! Features on an integer grid, rounded to nearest, with a clamped norm: what sums and bids are
//! made of.
//!
//! **Claim.** A row leaves [`Grid::round_clamped`] with integer squared norm at most `R^2 =`
//! [`Grid::max_norm_squared`], whatever the row was. So the L2 norm of a sum of such rows moves by
//! at most `2 R` grid steps when one record is replaced and by `R` when one is added or removed;
//! antipodal features reach it.
//! **Assumes** (caller): sums are released with noise for that sensitivity, and nothing else is.
//! **Argument.** The triangle inequality, on integers.
//! **Numerics.** Exact: the check is on the integers that are summed, so it rests neither on the
//! accuracy of a cosine nor on the order of a sum. Floating point only decides *which* point of the
//! ball a record is mapped to, from that record alone. **Tested by** neighbours that reach the
//! bound, absurd rows.

use std::ops::Range;

use rayon::prelude::*;

use crate::error::{Error, Result, check_room};
use crate::features::{FeatureKind, FeatureMap, check_dim};
use crate::points::{Points, Scalar};

/// Finest grid: 2^22 steps per unit.
pub const MAX_LEVELS: u32 = 1 << 22;
/// Largest squared norm, `2 * MAX_LEVELS^2`.
const MAX_NORM_SQUARED: u64 = 1 << 45;
/// Longest row: `MAX_ROW * MAX_NORM_SQUARED` stays below 2^64, so squared norms are exact.
const MAX_ROW: usize = 1 << 18;
/// Rows of one unit of parallel work. [`features_on_grid`] makes so many on the calling thread.
pub const ROWS: usize = 256;

/// A grid of `levels` steps per unit, and the ball of squared radius `max_norm_squared` (in steps).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    levels: u32,
    max_norm_squared: u64,
}

impl Grid {
    /// Errors: `levels` outside `1 ..= 2^22` or `max_norm_squared` outside `1 ..= 2^45`.
    pub fn new(levels: u32, max_norm_squared: u64) -> Result<Self> {
        if !(1..=MAX_LEVELS).contains(&levels) {
            return Err(Error::invalid(
                "levels",
                format!("must be 1 to {MAX_LEVELS} steps per unit"),
            ));
        }
        if !(1..=MAX_NORM_SQUARED).contains(&max_norm_squared) {
            return Err(Error::invalid(
                "max_norm_squared",
                "must be 1 to 2^45, in squared grid steps",
            ));
        }
        Ok(Self { levels, max_norm_squared })
    }

    /// The grid on which features of this kind keep their norm: 1 if paired, up to `sqrt 2` with
    /// phases.
    ///
    /// Errors: `levels` outside `1 ..= 2^22`.
    pub fn for_features(kind: FeatureKind, levels: u32) -> Result<Self> {
        let square = u64::from(levels.min(MAX_LEVELS)).pow(2).max(1);
        match kind {
            FeatureKind::Paired => Self::new(levels, square),
            FeatureKind::Phase => Self::new(levels, 2 * square),
        }
    }

    /// The finest grid with a power of two of steps on which every feature fits 16 bits: for bids.
    ///
    /// A feature of either kind is at most `sqrt(2/d)`, so `d = n_features` allows about
    /// `32767 sqrt(d/2)` steps. Errors: `n_features` is 0.
    pub fn for_bids(kind: FeatureKind, n_features: usize) -> Result<Self> {
        let fits = |exponent: &u32| fits_16_bits(1 << exponent, n_features);
        match (0..=MAX_LEVELS.ilog2()).rev().find(fits) {
            Some(exponent) => Self::for_features(kind, 1 << exponent),
            None => Err(Error::invalid("n_features", "must be at least 1")),
        }
    }

    /// Grid steps per unit.
    pub fn levels(&self) -> u32 {
        self.levels
    }

    /// `R^2`: the largest squared L2 norm of a rounded row, in squared grid steps.
    pub fn max_norm_squared(&self) -> u64 {
        self.max_norm_squared
    }

    /// Round each feature times `levels` to the nearest integer (ties to even), then shorten the
    /// row towards zero, deterministically, if its squared norm exceeds [`Self::max_norm_squared`].
    ///
    /// `row`, `out`: (d,). Errors: lengths that differ or exceed 2^18, NaN or infinite features.
    pub fn round_clamped<T: Scalar>(&self, row: &[T], out: &mut [i32]) -> Result<()> {
        if row.len() != out.len() || row.len() > MAX_ROW {
            return Err(Error::invalid("out", "needs the length of the row, at most 2^18"));
        }
        // Added to a number below 2^51 in size, it leaves the nearest integer in the low bits.
        const ROUND: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52
        let (levels, limit) = (f64::from(self.levels), self.max_norm_squared.isqrt() as f64);
        let mut finite = true;
        for (&feature, out) in row.iter().zip(out.iter_mut()) {
            let feature = feature.to_f64();
            finite &= feature.is_finite();
            *out = ((feature * levels).clamp(-limit, limit) + ROUND).to_bits() as i32;
        }
        if !finite {
            return Err(Error::NonFinite { name: "features" });
        }
        shorten(out, self.max_norm_squared);
        Ok(())
    }
}

fn fits_16_bits(levels: u32, n_features: usize) -> bool {
    let widest = i16::MAX as u128;
    2 * u128::from(levels).pow(2) <= n_features as u128 * widest * widest
}

fn norm_squared(row: &[i32]) -> u64 {
    // Without sign: every vector unit multiplies unsigned 32-bit numbers into 64 bits.
    row.iter().map(|&q| u64::from(q.unsigned_abs())).map(|size| size * size).sum()
}

/// Shorten the row towards zero until its squared norm is at most `max`.
fn shorten(row: &mut [i32], max: u64) {
    // Rounding makes half of the unit rows too long, by some steps: take single steps back.
    let mut excess = norm_squared(row).saturating_sub(max);
    for q in row.iter_mut() {
        if excess == 0 {
            return;
        }
        if *q != 0 {
            excess = excess.saturating_sub(2 * u64::from(q.unsigned_abs()) - 1);
            *q -= q.signum();
        }
    }
    if excess > 0 {
        // No feature row of the stated norm comes here. Each |q| shrinks by radius / length or
        // more, the first rounded down, the second up.
        let (radius, square) = (max.isqrt() as i64, norm_squared(row));
        let length = square.isqrt() as i64 + 1;
        row.iter_mut().for_each(|q| *q = (i64::from(*q) * radius / length) as i32);
    }
}

/// Return the sum over points of their features on the grid, (d,), in grid steps: exact integers,
/// so the same for any number of threads.
///
/// The sum is **not** private: it is what noise is added to, with the sensitivity of the module's
/// claim.
///
/// Errors: the points' dimension is not the features', or a feature overflowed (absurdly large
/// inputs).
///
/// # Examples
/// ```
/// use dpsumm_core::features::{FeatureKind, RandomFeatures};
/// use dpsumm_core::grid::{Grid, sum_on_grid};
/// use dpsumm_core::points::Points;
///
/// let map = RandomFeatures::draw(FeatureKind::Paired, true, 0.5, 1, 8, 1)?;
/// let grid = Grid::for_features(FeatureKind::Paired, 1 << 20)?;
/// let data = [0.1, 0.2, 0.9];
/// let sum = |rows: &[f64]| sum_on_grid(&map, &Points::new("points", rows, 1)?, &grid);
///
/// let one_less: i64 = sum(&data)?.iter().zip(sum(&data[..2])?).map(|(a, b)| (a - b).pow(2)).sum();
/// assert!(one_less as u64 <= grid.max_norm_squared(), "one record moves the sum by R at most");
/// # Ok::<(), dpsumm_core::Error>(())
/// ```
pub fn sum_on_grid<T: Scalar>(
    features: &impl FeatureMap,
    points: &Points<T>,
    grid: &Grid,
) -> Result<Vec<i64>> {
    check_dim(features, points)?;
    let d = features.n_features();
    sum_blocks(points.len(), d, |_, range, scratch: &mut (Vec<T>, Vec<i32>), sums| {
        let (block, rounded) = scratch;
        rounded.resize(d, 0);
        block.resize(range.len() * d, T::default());
        features.transform_block(points.rows(range), block)?;
        for row in block.chunks_exact(d) {
            grid.round_clamped(row, rounded)?;
            sums.iter_mut().zip(rounded.iter()).for_each(|(sum, &q)| *sum += i64::from(q));
        }
        Ok(())
    })
}

/// Return the points' features on the grid, (n, d) row-major: what bids are computed from.
///
/// A row depends on that point alone, so whoever holds the point gets the same integers. These are
/// the data in another form: **not** private.
///
/// Errors: as [`sum_on_grid`], a grid too fine for 16 bits (see [`Grid::for_bids`]), or no memory.
pub fn features_on_grid<T: Scalar>(
    features: &impl FeatureMap,
    points: &Points<T>,
    grid: &Grid,
) -> Result<Vec<i16>> {
    check_dim(features, points)?;
    let d = features.n_features();
    if !fits_16_bits(grid.levels, d) {
        let reason = format!("{} steps per unit do not fit 16 bits with {d} features", grid.levels);
        return Err(Error::invalid("levels", reason));
    }
    check_room::<i16>(points.name(), points.len(), d)?;
    let mut all = vec![0i16; points.len() * d];
    let unit = |block: &mut Vec<T>, (index, out): (usize, &mut [i16])| {
        let n = out.len() / d;
        block.resize(n * d, T::default());
        features.transform_block(points.rows(index * ROWS..index * ROWS + n), block)?;
        let mut rounded = vec![0; d];
        for (row, out) in block.chunks_exact(d).zip(out.chunks_exact_mut(d)) {
            grid.round_clamped(row, &mut rounded)?;
            for (&q, out) in rounded.iter().zip(out) {
                // A cosine may exceed 1 by an error of the library; towards zero keeps the norm.
                *out = q.clamp(-i32::from(i16::MAX), i32::from(i16::MAX)) as i16;
            }
        }
        Ok(())
    };
    if points.len() <= ROWS {
        unit(&mut Vec::new(), (0, &mut all))?;
    } else {
        all.par_chunks_mut(ROWS * d).enumerate().try_for_each_init(Vec::new, unit)?;
    }
    Ok(all)
}

/// Return sums of integers over blocks of rows. `add(block, rows, scratch, sums)` adds one block;
/// which thread does so, and in which order, changes nothing.
pub(crate) fn sum_blocks<S: Default + Send>(
    n_rows: usize,
    n_sums: usize,
    add: impl Fn(u64, Range<usize>, &mut S, &mut [i64]) -> Result<()> + Sync,
) -> Result<Vec<i64>> {
    let blocks = (0..n_rows.div_ceil(ROWS)).into_par_iter();
    let start = || (S::default(), vec![0; n_sums]);
    let parts = blocks.try_fold(start, |(mut scratch, mut sums), block| {
        let first = block * ROWS;
        add(block as u64, first..n_rows.min(first + ROWS), &mut scratch, &mut sums)?;
        Ok((scratch, sums))
    });
    let merged = parts.try_reduce(start, |(scratch, mut a), (_, b)| {
        a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        Ok((scratch, a))
    })?;
    Ok(merged.1)
}

#[cfg(test)]
mod tests;
