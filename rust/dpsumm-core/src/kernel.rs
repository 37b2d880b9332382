//! The Gaussian kernel `k(x, y) = exp(-gamma |x - y|^2)`, in blocks and always in f64.
//!
//! `|x - y|^2 = |x|^2 + |y|^2 - 2 x . y` after moving the origin among the points, which the kernel
//! does not see and which keeps the cancellation small. Norms and products are the same chains of
//! fused operations, so equal rows have distance exactly 0 and kernel exactly 1.

mod packed;
mod single;
mod sums;

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::exp::exp_nonpositive;
use crate::points::{Points, Scalar};
use crate::product::{TILE, products};
use crate::simd::turn_by_turn;
pub(crate) use packed::Packed;
pub(crate) use single::{Margin, Single, WIDE, row_products, single_values};
pub(crate) use sums::{Sums, shared_rows};

/// Columns of a panel, as many as f64 lanes.
pub(crate) const PANEL: usize = 8;
/// Rows per block: whole tiles and whole panels.
pub(crate) const BLOCK: usize = 48;
/// Rows looked at for the origin.
const SAMPLE: usize = 256;

/// Return the mean over `others` of `k(x, .)` for each row x of `points`, in parallel.
///
/// Absolute error about `1e-16 (1 + gamma r^2)` with r the largest distance from the middle of
/// `others` at which the kernel is not negligible. Bits do not depend on the number of threads.
///
/// # Errors
/// [`Error::InvalidParameter`] if `gamma` is not finite and positive, `others` is empty, the
/// dimensions differ, or squared distances overflow.
///
/// # Examples
/// ```
/// use dpsumm_core::{kernel::kernel_means, points::Points};
///
/// let points = Points::new("points", &[0.0], 1)?;
/// let others = Points::new("others", &[0.0, 1.0], 1)?;
/// let [mean] = kernel_means(&points, &others, 1.0)?[..] else { unreachable!() };
/// assert!((mean - (1.0 + (-1.0_f64).exp()) / 2.0).abs() < 1e-15);
/// # Ok::<(), dpsumm_core::Error>(())
/// ```
pub fn kernel_means<T: Scalar>(
    points: &Points<T>,
    others: &Points<T>,
    gamma: f64,
) -> Result<Vec<f64>> {
    check_pair(points, others, gamma)?;
    check_some(others)?;
    let origin = origin(others);
    let columns = Packed::new(others, &origin, PANEL)?;
    let mut means = vec![0.0; points.len()];
    let size = shared_rows(points.dim());
    means.par_chunks_mut(size).enumerate().try_for_each(|(task, out)| {
        points.check_stop()?;
        let first = task * size;
        let rows = Packed::from_rows(points, first..first + out.len(), &origin, TILE)?;
        out.copy_from_slice(&row_sums(&rows, &columns, 0..columns.count(), gamma)[..out.len()]);
        out.iter_mut().for_each(|sum| *sum /= others.len() as f64);
        Ok(())
    })?;
    Ok(means)
}

pub(crate) fn check_gamma(gamma: f64) -> Result<()> {
    if gamma.is_finite() && gamma > 0.0 {
        return Ok(());
    }
    Err(Error::invalid("gamma", format!("{gamma} is not a finite number above 0")))
}

pub(crate) fn check_pair<T: Scalar>(a: &Points<T>, b: &Points<T>, gamma: f64) -> Result<()> {
    check_gamma(gamma)?;
    check_columns(a, b)
}

pub(crate) fn check_columns<T: Scalar>(a: &Points<T>, b: &Points<T>) -> Result<()> {
    if a.dim() != b.dim() {
        let reason = format!("has {} columns, {} has {}", b.dim(), a.name(), a.dim());
        return Err(Error::invalid(b.name(), reason));
    }
    Ok(())
}

pub(crate) fn check_some<T: Scalar>(points: &Points<T>) -> Result<()> {
    if points.is_empty() {
        return Err(Error::invalid(points.name(), "has no rows; at least one is needed"));
    }
    Ok(())
}

/// The mean of some evenly spaced rows: a place among the points, not thrown off by one outlier.
pub(crate) fn origin<T: Scalar>(points: &Points<T>) -> Vec<f64> {
    let count = points.len().min(SAMPLE);
    let mut mean = vec![0.0; points.dim()];
    for i in 0..count {
        let row = points.row(i * points.len() / count);
        for (mean, x) in mean.iter_mut().zip(row) {
            *mean += x.to_f64() / count as f64;
        }
    }
    mean
}

/// Write the kernel values of packed rows (in tiles of `M`) with the columns of a panel to `out`,
/// a row of lanes each. Coordinates and norms of the rows, then of the panel.
#[inline(always)]
pub(crate) fn kernel_values<const M: usize>(
    (rows, row_norms): (&[f64], &[f64]),
    (panel, panel_norms): (&[f64], &[f64]),
    gamma: f64,
    out: &mut [[f64; PANEL]],
) {
    let tiles = rows.chunks_exact(rows.len() / (row_norms.len() / M));
    for (tile, out) in tiles.zip(out.as_chunks_mut::<M>().0) {
        products::<f64, M>(tile, panel, out);
    }
    let Some(&column_norms) = panel_norms.first_chunk::<PANEL>() else { return };
    for (values, &row_norm) in out.iter_mut().zip(row_norms) {
        turn_by_turn();
        exponents(values, row_norm, &column_norms, gamma);
    }
    // One long loop over all values keeps the pipelines full.
    out.as_flattened_mut().iter_mut().for_each(|value| *value = exp_nonpositive(*value));
}

/// Replace products by what the exponential is taken of.
#[inline(always)]
fn exponents(values: &mut [f64; PANEL], row_norm: f64, column_norms: &[f64], gamma: f64) {
    for (value, column_norm) in values.iter_mut().zip(column_norms) {
        let square = value.mul_add(-2.0, row_norm + column_norm);
        // Rounding may leave a negative square.
        *value = -gamma * if square > 0.0 { square } else { 0.0 };
    }
}

/// Return the kernel values of one packed row with the columns of some panels, with the bits of
/// [`kernel_values`].
#[inline(always)]
pub(crate) fn row_values(
    row: &Packed,
    columns: &Packed,
    panels: std::ops::Range<usize>,
    gamma: f64,
) -> Vec<[f64; PANEL]> {
    let (row, row_norm) = (row.all().0, row.all().1[0]);
    // A length that the compiler does not know keeps it from taking the lanes apart.
    let mut values = vec![[0.0; PANEL]; panels.len()];
    for (p, out) in panels.zip(values.as_chunks_mut::<1>().0) {
        let (panel, column_norms) = columns.group(p);
        products::<f64, 1>(row, panel, out);
        exponents(&mut out[0], row_norm, column_norms, gamma);
    }
    values.as_flattened_mut().iter_mut().for_each(|value| *value = exp_nonpositive(*value));
    values
}

/// Return, for each packed row (in tiles), the sum of its kernel values with some panels.
pub(crate) fn row_sums(
    rows: &Packed,
    columns: &Packed,
    panels: std::ops::Range<usize>,
    gamma: f64,
) -> Vec<f64> {
    let mut sums = Sums::new(rows, columns, gamma);
    sums.add(panels);
    sums.of_rows()
}

#[cfg(test)]
pub(crate) mod tests;
