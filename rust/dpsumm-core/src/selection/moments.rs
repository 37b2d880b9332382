//! A bound on attractions from the target's moments, in c^2 operations a row instead of m c.
//!
//! With the origin at u, in units where `k(x, v) = 2^-|x - v|^2`: `k(x, v) = 2^-|x|^2 w e^z`, where
//! `w = 2^-|v|^2` and `z = 2 ln 2 x . v`. As `(e^z - 1 - z) / z^2` grows with z, `e^z` is at most
//! `1 + z + f z^2`, where f is its value at the largest z, for which `2 ln 2 |x| |v|` is put. The mean
//! over the target then has its first moment (next to nothing, if u is their mean by the weights w)
//! and its second. All in f64 from coordinates rounded to f32: the margin of
//! [`crate::kernel::Margin`] has room for both roundings.

use crate::exp::exp_nonpositive;
use crate::kernel::{Margin, PANEL, Single, WIDE};
use crate::product::{TILE, pack_row, products};
use crate::simd::{Hot, dispatch};

use std::f64::consts::LN_2;

pub(super) struct Moments {
    /// The new origin.
    origin: Vec<f64>,
    /// Mean of w; by the weights w: the first moment, and the second in tiles.
    weight: f64,
    first: Vec<f64>,
    second: Vec<f64>,
    /// The largest |v|.
    radius: f64,
    /// Mean squared norm from the old origin, for the margin.
    norm: f64,
}

impl Moments {
    /// Of the first `len` rows.
    pub(super) fn new(target: &Single, len: usize, dim: usize) -> Self {
        let mut rows = vec![0.0; len * dim];
        for (i, row) in rows.chunks_exact_mut(dim).enumerate() {
            let lanes = target.group(i / WIDE).0.iter().skip(i % WIDE).step_by(WIDE);
            row.iter_mut().zip(lanes).for_each(|(to, from)| *to = f64::from(*from));
        }
        let norm = squares(&rows, &vec![0.0; dim]).iter().sum::<f64>() / len as f64;
        let middle = mean(&rows, &vec![1.0; len], dim);
        let weights = |origin: &[f64]| -> Vec<f64> {
            squares(&rows, origin).iter().map(|square| exp_nonpositive(-LN_2 * square)).collect()
        };
        // Without weight (all of it underflows) nothing is bounded, nor lost.
        let origin = mean(&rows, &weights(&middle), dim);
        let origin = if origin.iter().all(|x| x.is_finite()) { origin } else { middle };
        let weights = weights(&origin);
        let squares = squares(&rows, &origin);
        for row in rows.chunks_exact_mut(dim) {
            row.iter_mut().zip(&origin).for_each(|(x, o)| *x -= o);
        }
        let total = weights.iter().sum::<f64>();
        let mut matrix = vec![0.0; dim * dim];
        dispatch(Second { rows: &rows, weights: &weights, matrix: &mut matrix });
        matrix.iter_mut().for_each(|x| *x /= total);
        let mut second = vec![0.0; dim.next_multiple_of(TILE) * dim];
        for (i, row) in matrix.chunks_exact(dim).enumerate() {
            let tile = &mut second[i / TILE * TILE * dim..][..TILE * dim];
            pack_row(tile, TILE, i % TILE, row, |_, x| x);
        }
        Self {
            first: mean(&rows, &weights, dim),
            second,
            origin,
            weight: total / len as f64,
            radius: squares.iter().copied().fold(0.0, f64::max).sqrt(),
            norm,
        }
    }
}

/// Squared distances of rows from a point.
fn squares(rows: &[f64], origin: &[f64]) -> Vec<f64> {
    let square = |row: &[f64]| row.iter().zip(origin).map(|(x, o)| (x - o) * (x - o)).sum();
    rows.chunks_exact(origin.len()).map(square).collect()
}

fn mean(rows: &[f64], weights: &[f64], dim: usize) -> Vec<f64> {
    let mut sum = vec![0.0; dim];
    for (row, weight) in rows.chunks_exact(dim).zip(weights) {
        sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += weight * x);
    }
    let total = weights.iter().sum::<f64>();
    sum.iter().map(|x| x / total).collect()
}

/// Add up `weight v v^T`.
struct Second<'a> {
    rows: &'a [f64],
    weights: &'a [f64],
    matrix: &'a mut [f64],
}

impl Hot for Second<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let dim = self.rows.len() / self.weights.len();
        for (row, weight) in self.rows.chunks_exact(dim).zip(self.weights) {
            for (sums, x) in self.matrix.chunks_exact_mut(dim).zip(row) {
                let x = weight * x;
                sums.iter_mut().zip(row).for_each(|(sum, y)| *sum = x.mul_add(*y, *sum));
            }
        }
    }
}

/// Write bounds on the attractions of a panel of points.
pub(super) struct Bound<'a> {
    pub(super) moments: &'a Moments,
    pub(super) margin: Margin,
    pub(super) columns: (&'a [f32], &'a [f32]),
    pub(super) out: &'a mut [f64; WIDE],
}

impl Hot for Bound<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { moments, margin, columns: (values, norms), out } = self;
        let dim = moments.origin.len();
        let mut panel = vec![0.0; dim * PANEL];
        for half in 0..WIDE / PANEL {
            let (mut squares, mut first, mut second) = ([0.0; PANEL], [0.0; PANEL], [0.0; PANEL]);
            let rows = values.chunks_exact(WIDE).zip(panel.as_chunks_mut::<PANEL>().0);
            for (k, (from, to)) in rows.enumerate() {
                for (j, to) in to.iter_mut().enumerate() {
                    let x = f64::from(from[half * PANEL + j]) - moments.origin[k];
                    *to = x;
                    squares[j] += x * x;
                    first[j] += x * moments.first[k];
                }
            }
            for (t, tile) in moments.second.chunks_exact(TILE * dim).enumerate() {
                let mut images = [[0.0; PANEL]; TILE];
                products::<f64, TILE>(tile, &panel, &mut images);
                for (image, x) in
                    images.iter().zip(panel.as_chunks::<PANEL>().0.iter().skip(t * TILE))
                {
                    for j in 0..PANEL {
                        second[j] += image[j] * x[j];
                    }
                }
            }
            for j in 0..PANEL {
                let z = 2.0 * LN_2 * squares[j].sqrt() * moments.radius;
                let mean =
                    1.0 + 2.0 * LN_2 * first[j] + second_factor(z) * 4.0 * LN_2 * LN_2 * second[j];
                let kernel = exp_nonpositive(-LN_2 * squares[j]) * moments.weight * mean;
                let room = Margin::FLAT
                    + margin.slope * (f64::from(norms[half * PANEL + j]) + moments.norm);
                // No mean of kernel values is above 1; nor is it that of numbers that overflow.
                let kernel = if kernel < 1.0 { kernel } else { 1.0 };
                let out = &mut out[half * PANEL + j];
                *out = if *out > f64::NEG_INFINITY { kernel + room } else { *out };
            }
        }
    }
}

/// At least `(e^z - 1 - z) / z^2`, nearly that. For z >= 0.
#[inline(always)]
fn second_factor(z: f64) -> f64 {
    if z < 0.1 {
        // The series, whose later terms are less than a geometric one's.
        return 0.5 + z / 6.0 + z * z / 24.0 / (1.0 - z / 5.0);
    }
    (1.0 / exp_nonpositive(-z) - 1.0 - z) / (z * z) * (1.0 + 1e-12)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Result;
    use crate::kernel::tests::{normals, plain_means};
    use crate::points::Points;
    use crate::simd::tests::same_every_way;

    #[test]
    fn factor_bounds_the_exponential_closely() {
        for i in 1..3000 {
            let z = f64::from(i) * 1e-2;
            let exact = (libm::expm1(z) - z) / (z * z);
            assert!((exact..exact * (1.0 + 1e-3)).contains(&second_factor(z)), "{z}");
        }
        assert_eq!(second_factor(0.0), 0.5);
        assert_eq!(second_factor(1e9), f64::INFINITY);
    }

    #[test]
    fn bounds_hold_and_are_near_for_wide_kernels() -> Result<()> {
        for (dim, m, gamma, size, shift) in [
            (1, 1, 1.0, 1.0, 0.0),
            (3, 17, 0.1, 1.0, 0.5),
            (7, 200, 0.07, 1.0, 3.0),
            (64, 300, 0.008, 1.0, 0.5),
            (64, 300, 0.04, 1.0, 0.5),
            (5, 40, 0.3, 1.5, 2.0),
        ] {
            let points: Vec<f64> = normals(WIDE * dim, 1).iter().map(|x| x * size).collect();
            let target: Vec<f64> = normals(m * dim, 2).iter().map(|x| x * size + shift).collect();
            let exact = plain_means(&points, &target, dim, gamma);
            let origin = vec![0.1; dim];
            let pack = |table: &[f64]| -> Result<_> {
                let points = Points::new("table", table, dim)?;
                Ok(Single::new(&points, &origin, gamma, WIDE).expect("near points"))
            };
            let (points, target) = (pack(&points)?, pack(&target)?);
            let moments = Moments::new(&target, m, dim);
            let found = same_every_way(|| {
                let mut out = [0.0; WIDE];
                let (margin, columns) = (Margin::new(dim), points.group(0));
                dispatch(Bound { moments: &moments, margin, columns, out: &mut out });
                out
            });
            for (bound, exact) in found.iter().zip(&exact) {
                assert!(bound >= exact && *bound < 1.001, "{bound} {exact}");
                let near = dim == 64 && gamma < 0.01;
                assert!(!near || *bound < exact + 0.01, "{bound} {exact}");
            }
        }
        Ok(())
    }
}
