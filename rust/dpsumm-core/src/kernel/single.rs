//! Kernel values in f32, each with a proven bound on its distance from the value in f64: they tell
//! which values are worth computing in f64.
//!
//! Coordinates are multiplied by `sqrt(gamma log2(e))`, so that `k(x, y) = 2^-|x - y|^2`. Write
//! u = 2^-24, d for the dimension, N and N' for the squared norms in these units. The computed
//! square differs from the true one by at most, in units of u (N + N') and to first order:
//! 4 from rounding the coordinates, 1 from rounding the norms, 1 from adding them, d from the chain
//! of fused products (twice `d u |x| |y|`), 2 from the last operation. With d at most [`MAX_DIM`]
//! the higher orders and the same steps in f64 are below 1 % of d + 9. The derivative of `2^-s` is
//! at most ln 2 for s >= 0, so a kernel value is off by at most [`Margin::slope`] (N + N'), plus the
//! relative error of [`exp2_nonpositive`] and of adding four values in f32, both within
//! [`Margin::FLAT`]. All of it is in proportion to the value, too: a square that is off by e moves
//! `2^-s` by a factor between `2^-e` and `2^e`. Under narrow kernels, where values are tiny, that
//! is the margin that tells rows apart ([`Margin::below`], [`Margin::above`]).

use rayon::prelude::*;

use crate::exp::exp2_nonpositive;
use crate::points::{Points, Scalar};
use crate::product::{Lanes, products};
use crate::simd::turn_by_turn;

/// Columns of a panel, as many as f32 lanes.
pub(crate) const WIDE: usize = 16;
/// Chains of the product of one row.
const CHAINS: usize = 4;
/// Above this, rounding errors are no longer of first order.
const MAX_DIM: usize = 100_000;
/// Above this squared norm nothing is promised.
const MAX_NORM: f32 = 1e30;

/// How far a kernel value in f32 may be from the one in f64.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Margin {
    /// Times the sum of the two squared norms.
    pub(crate) slope: f64,
}

impl Margin {
    /// For every value: 3e-7 for the exponential, 1.8e-7 for its part in a sum of up to four in
    /// f32, and room for the rounding of sums in f64 and for underflow.
    pub(crate) const FLAT: f64 = 6e-7;

    pub(crate) fn new(dim: usize) -> Self {
        // 0.7 is ln 2 and one per cent.
        Self { slope: 0.7 * (dim + 9) as f64 * f64::from(f32::EPSILON) / 2.0 }
    }

    /// The factor on a sum of values in f32 that makes it at most the one in f64: of a row of this
    /// squared norm, with rows of none above `largest`.
    #[inline(always)]
    pub(crate) fn below(self, norm: f64, largest: f64) -> f64 {
        let factor = 1.0 - Self::FLAT - self.slope * (norm + largest);
        if factor > 0.0 { factor } else { 0.0 }
    }

    /// At least the mean in f64 of values whose mean in f32 this is: of a row of this squared norm,
    /// with rows whose squared norms are `average` in the mean and `largest` at most.
    #[inline(always)]
    pub(crate) fn above(self, mean: f64, norm: f64, average: f64, largest: f64) -> f64 {
        let flat = mean + Self::FLAT + self.slope * (norm + average);
        // Of rows that are eight units farther out no value is above 2^-64, whatever it seems to be.
        let reach = norm.sqrt() + 8.0;
        let reach = reach * reach;
        let off = Self::FLAT + self.slope * (norm + if reach < largest { reach } else { largest });
        // e^x is below 1 + 1.01 x up to there.
        let share = mean * 1.01f64.mul_add(off, 1.0) + 1e-18;
        if off < 0.01 && share < flat { share } else { flat }
    }
}

/// Rows in groups of `width`, coordinate after coordinate, each for all rows of the group, in the
/// units of the module, with their squared norms.
#[derive(Debug, Clone)]
pub(crate) struct Single {
    width: usize,
    dim: usize,
    values: Vec<f32>,
    norms: Vec<f32>,
}

impl Single {
    /// Pack all points; none if f32 cannot tell them apart well enough to be of use.
    pub(crate) fn new<T: Scalar>(
        points: &Points<T>,
        origin: &[f64],
        gamma: f64,
        width: usize,
    ) -> Option<Self> {
        let dim = points.dim();
        let groups = points.len().div_ceil(width);
        let mut packed = Self {
            width,
            dim,
            values: vec![0.0; groups * width * dim],
            norms: vec![0.0; groups * width],
        };
        let scale = (gamma * std::f64::consts::LOG2_E).sqrt();
        let rows =
            packed.values.par_chunks_mut(width * dim).zip(packed.norms.par_chunks_mut(width));
        rows.with_min_len(64).enumerate().for_each(|(g, (values, norms))| {
            let first = g * width;
            for i in first..points.len().min(first + width) {
                let mut norm = 0.0;
                let lanes = values.chunks_exact_mut(width);
                for ((lanes, x), o) in lanes.zip(points.row(i)).zip(origin) {
                    let x = ((x.to_f64() - o) * scale) as f32;
                    lanes[i - first] = x;
                    norm += f64::from(x) * f64::from(x);
                }
                norms[i - first] = norm as f32;
            }
        });
        let slope = Margin::new(dim).slope;
        // Bounds wider than the usual gap between the best scores would leave too many rows to be
        // computed twice; a few outliers do no harm.
        let wide = packed.norms.iter().filter(|&&norm| slope * f64::from(norm) > 5e-5).count();
        let fits = dim <= MAX_DIM && packed.norms.iter().all(|&norm| norm < MAX_NORM);
        (fits && wide <= points.len() / 64).then_some(packed)
    }

    /// The largest squared norm.
    pub(crate) fn largest_norm(&self) -> f64 {
        f64::from(self.norms.iter().copied().fold(0.0, f32::max))
    }

    /// Sum of the squared norms.
    pub(crate) fn sum_of_norms(&self) -> f64 {
        self.norms.iter().map(|&norm| f64::from(norm)).sum()
    }

    /// No rows yet.
    pub(crate) fn empty(dim: usize, width: usize) -> Self {
        Self { width, dim, values: Vec::new(), norms: Vec::new() }
    }

    /// Coordinates and squared norms of a group.
    #[inline(always)]
    pub(crate) fn group(&self, g: usize) -> (&[f32], &[f32]) {
        let size = self.width * self.dim;
        (&self.values[g * size..][..size], &self.norms[g * self.width..][..self.width])
    }

    /// Copy row `i` of `other` behind the `len` rows held so far; return its squared norm.
    pub(crate) fn push(&mut self, len: usize, other: &Self, i: usize) -> f32 {
        let lane = len % self.width;
        if lane == 0 {
            self.values.resize(self.values.len() + self.width * self.dim, 0.0);
            self.norms.resize(self.norms.len() + self.width, 0.0);
        }
        let (values, norms) = other.group(i / other.width);
        let row = values.iter().skip(i % other.width).step_by(other.width);
        let group = self.values[(len - lane) * self.dim..].iter_mut().skip(lane);
        group.step_by(self.width).zip(row).for_each(|(to, from)| *to = *from);
        self.norms[len] = norms[i % other.width];
        self.norms[len]
    }
}

/// Write the kernel values of a tile of `M` rows with a panel's columns to `out`.
#[inline(always)]
pub(crate) fn single_values<const M: usize>(
    (rows, row_norms): (&[f32], &[f32]),
    (panel, panel_norms): (&[f32], &[f32]),
    out: &mut [[f32; WIDE]; M],
) {
    match out.as_mut_slice() {
        // A row alone would be one chain, which waits for itself.
        [out] => *out = row_products(rows, panel, |x| x),
        _ => products::<f32, M>(rows, panel, out),
    }
    let Some(&column_norms) = panel_norms.first_chunk::<WIDE>() else { return };
    for (values, &row_norm) in out.iter_mut().zip(row_norms) {
        turn_by_turn();
        for (value, norm) in values.iter_mut().zip(column_norms) {
            let minus_square = value.mul_add(2.0, -(row_norm + norm));
            *value = exp2_nonpositive(if minus_square < 0.0 { minus_square } else { 0.0 });
        }
    }
}

/// Products of one point with the rows of a panel, in four chains, as many as hide the latency of
/// fused operations.
#[inline(always)]
pub(crate) fn row_products<R: Copy>(
    point: &[f32],
    panel: &[R],
    number: impl Fn(R) -> f32 + Copy,
) -> [f32; WIDE] {
    let (rows, _) = panel.as_chunks::<WIDE>();
    let (points, last_point) = point.as_chunks::<CHAINS>();
    let (groups, last_rows) = rows.as_chunks::<CHAINS>();
    let mut chains = [[0.0; WIDE]; CHAINS];
    for (point, rows) in points.iter().zip(groups) {
        for ((chain, &x), row) in chains.iter_mut().zip(point).zip(rows) {
            chain.add_product(x, &row_of(row, number));
        }
    }
    let mut sums = [0.0; WIDE];
    for (&x, row) in last_point.iter().zip(last_rows) {
        sums.add_product(x, &row_of(row, number));
    }
    for chain in &chains {
        sums.iter_mut().zip(chain).for_each(|(sum, x)| *sum += x);
    }
    sums
}

#[inline(always)]
fn row_of<R: Copy>(row: &[R; WIDE], number: impl Fn(R) -> f32) -> [f32; WIDE] {
    std::array::from_fn(|j| number(row[j]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Result;
    use crate::kernel::tests::{normals, plain_means};
    use crate::simd::{Hot, dispatch, tests::same_every_way};

    #[test]
    fn power_stays_within_its_relative_error() {
        let mut worst: f64 = 0.0;
        for i in 0..2_000_000 {
            let y = -(i as f32 / 2_000_000.0).powi(3) * 126.0;
            let exact = f64::from(y).exp2();
            worst = worst.max(((f64::from(exp2_nonpositive(y)) - exact) / exact).abs());
        }
        assert!(worst < 3e-7, "{worst:e}");
        assert_eq!((exp2_nonpositive(0.0), exp2_nonpositive(-0.0)), (1.0, 1.0));
        for y in [-126.01, -1e9, f32::MIN, f32::NEG_INFINITY] {
            assert_eq!(exp2_nonpositive(y), 0.0);
        }
    }

    struct Values<'a>(&'a Single, &'a Single);

    impl Hot for Values<'_> {
        type Output = Vec<[f32; WIDE]>;

        #[inline(always)]
        fn run(self) -> Self::Output {
            let mut out = [[0.0; WIDE]; 4];
            single_values::<4>(self.0.group(0), self.1.group(0), &mut out);
            out.to_vec()
        }
    }

    #[test]
    fn values_stay_within_their_margin_on_every_path() -> Result<()> {
        let mut tiny = 0;
        for (dim, gamma, size, spread) in [
            (1, 1.0, 1.0, 1e-3),
            (3, 0.01, 10.0, 1e-3),
            (64, 0.5, 0.1, 1e-3),
            (64, 1.0, 1e-3, 1e-3),
            (700, 1e-3, 1.0, 1e-3),
            (2, 1.0, 1.2, 0.3),
            (8, 1.0, 0.6, 0.3),
        ] {
            // Rows in one direction, where rounding hurts most, and some of them equal. Values
            // of the last two worlds are tiny.
            let base = normals(dim, 1);
            let table: Vec<f64> = normals(16, 2)
                .iter()
                .enumerate()
                .flat_map(|(i, s)| {
                    base.iter().map(move |x| size * x * (1.0 + (i % 9) as f64 * spread * s))
                })
                .collect();
            let points = Points::new("points", &table, dim)?;
            let origin = vec![0.0; dim];
            let pack = |width| Single::new(&points, &origin, gamma, width).expect("near points");
            let (tiles, panels) = (pack(4), pack(WIDE));
            let found = same_every_way(|| dispatch(Values(&tiles, &panels)));
            let margin = Margin::new(dim);
            for (i, values) in found.iter().enumerate() {
                for (j, &value) in values.iter().enumerate() {
                    let exact = plain_means(points.row(i), points.row(j), dim, gamma)[0];
                    let norms = panels.group(0).1;
                    let (row, other) = (f64::from(norms[i]), f64::from(norms[j]));
                    let off = Margin::FLAT + margin.slope * (row + other);
                    let value = f64::from(value);
                    assert!((value - exact).abs() <= off, "{dim} {gamma} {i} {j}");
                    assert!(value * margin.below(row, other) <= exact, "{dim} {gamma} {i} {j}");
                    let high = margin.above(value, row, other, other);
                    assert!(exact <= high, "{dim} {gamma} {i} {j}");
                    tiny += usize::from(exact < 1e-4 && high < 1.01 * value + 1e-17);
                }
            }
        }
        assert!(tiny > 10, "{tiny}");
        Ok(())
    }
}
