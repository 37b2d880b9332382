//! Principal axes of a sample's features, and where the rows and the goal lie along them.

use nalgebra::DMatrix;
use rayon::prelude::*;

use super::BASIS;
use crate::product::{Lanes, Real, TILE, pack_row, products};
use crate::simd::{Hot, dispatch};

/// Eigenvalues below this share of the largest are rounding.
const NEGLIGIBLE: f64 = 1e-6;
/// If the largest is below this, so is all that tells rows apart: they are equal.
const EQUAL: f64 = 1e-12;
const WIDTH: usize = <<f64 as Real>::Lanes as Lanes<f64>>::WIDTH;

/// A sample along axes of feature space, centred at its mean.
pub(super) struct Axes {
    /// Coordinates of the rows, (axes, n): axis after axis.
    pub(super) rows: Vec<f64>,
    /// Their variances.
    pub(super) variances: Vec<f64>,
    /// Coordinates of the goal.
    pub(super) goal: Vec<f64>,
    pub(super) n: usize,
    /// Rows of the basis, centred, (b, d), and what each counts for on each axis, (axes, b).
    basis: Vec<f64>,
    shares: Vec<f64>,
    d: usize,
}

impl Axes {
    /// Features (n, d) and goal (d,). The axes are those of every few rows, the variances of all.
    pub(super) fn of(mut features: Vec<f64>, goal: &[f64]) -> Self {
        let d = goal.len();
        let n = features.len() / d;
        let mean = centred(&mut features, d);
        let away: Vec<f64> = goal.iter().zip(&mean).map(|(g, mean)| g - mean).collect();
        let step = n.div_ceil(BASIS);
        let basis: Vec<f64> = features.chunks_exact(d).step_by(step).flatten().copied().collect();
        let b = basis.len() / d;
        let with_basis = inner(&features, &basis, d);
        let gram = DMatrix::from_fn(b, b, |i, j| with_basis[i * step * b + j] / b as f64);
        let eigen = gram.symmetric_eigen();
        let largest = eigen.eigenvalues.max();
        let mut shares = Vec::new();
        for (vector, &value) in eigen.eigenvectors.column_iter().zip(&eigen.eigenvalues) {
            if largest > EQUAL && value > NEGLIGIBLE * largest {
                shares.extend(vector.iter().map(|x| x / (b as f64 * value).sqrt()));
            }
        }
        let rows = inner(&shares, &with_basis, b);
        let square = |row: &[f64]| row.iter().map(|y| y * y).sum::<f64>() / n as f64;
        let variances = rows.chunks_exact(n).map(square).collect();
        let goal = inner(&shares, &inner(&away, &basis, d), b);
        Self { rows, variances, goal, n, basis, shares, d }
    }

    /// Return the coordinates of the rows on axis j.
    pub(super) fn along(&self, j: usize) -> &[f64] {
        &self.rows[j * self.n..(j + 1) * self.n]
    }

    /// Return the direction (d,) in feature space of numbers on some axes.
    pub(super) fn direction(&self, chosen: &[usize], theta: &[f64]) -> Vec<f64> {
        let b = self.basis.len() / self.d;
        let mut weights = vec![0.0; b];
        for (&j, theta) in chosen.iter().zip(theta) {
            add(&mut weights, *theta, &self.shares[j * b..(j + 1) * b]);
        }
        let mut direction = vec![0.0; self.d];
        for (weight, row) in weights.iter().zip(self.basis.chunks_exact(self.d)) {
            add(&mut direction, *weight, row);
        }
        direction
    }
}

/// Add `factor * row` to `sum`.
pub(super) fn add(sum: &mut [f64], factor: f64, row: &[f64]) {
    sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += factor * x);
}

/// Subtract the mean of rows (n, d) from each, and return it.
fn centred(rows: &mut [f64], d: usize) -> Vec<f64> {
    let n = rows.len() / d;
    let mut mean = vec![0.0; d];
    rows.chunks_exact(d).for_each(|row| add(&mut mean, 1.0 / n as f64, row));
    rows.chunks_exact_mut(d).for_each(|row| add(row, -1.0, &mean));
    mean
}

/// Return the dot products of rows (n, dim) with others (m, dim), (n, m).
pub(super) fn inner(rows: &[f64], others: &[f64], dim: usize) -> Vec<f64> {
    let (n, m) = (rows.len() / dim, others.len() / dim);
    let mut panels = vec![0.0; m.div_ceil(WIDTH) * WIDTH * dim];
    for (panel, others) in panels.chunks_exact_mut(WIDTH * dim).zip(others.chunks(WIDTH * dim)) {
        for (j, other) in others.chunks_exact(dim).enumerate() {
            pack_row(panel, WIDTH, j, other, |_, x| x);
        }
    }
    let mut out = vec![0.0; n * m];
    let tiles = rows.par_chunks(TILE * dim).zip(out.par_chunks_mut((TILE * m).max(1)));
    tiles.for_each(|(rows, out)| {
        let mut tile = vec![0.0; TILE * dim];
        for (i, row) in rows.chunks_exact(dim).enumerate() {
            pack_row(&mut tile, TILE, i, row, |_, x| x);
        }
        dispatch(Inner { tile: &tile, panels: &panels, dim, m, out });
    });
    out
}

/// A tile of rows against all panels.
struct Inner<'a> {
    tile: &'a [f64],
    panels: &'a [f64],
    dim: usize,
    m: usize,
    out: &'a mut [f64],
}

impl Hot for Inner<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (p, panel) in self.panels.chunks_exact(WIDTH * self.dim).enumerate() {
            let mut found = [<f64 as Real>::Lanes::ZERO; TILE];
            products::<f64, TILE>(self.tile, panel, &mut found);
            for (out, lanes) in self.out.chunks_exact_mut(self.m).zip(&found) {
                lanes.store(&mut out[p * WIDTH..]);
            }
        }
    }
}
