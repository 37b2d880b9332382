//! Cholesky factor C of a positive definite matrix, its inverse, and what is left of either
//! equation. Every number is one chain of operations in a fixed order, so the bits depend neither
//! on threads nor on the processor.

use std::cmp::Ordering;

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::product::{Lanes, Real, TILE, products};
use crate::simd::{Hot, dispatch};

/// Rows of a panel, as many as f64 lanes.
pub(super) const PANEL: usize = <f64 as Real>::Lanes::WIDTH;
type Row = [f64; PANEL];
/// Sizes are multiples of this: whole tiles and whole panels.
pub(super) const STEP: usize = 24;

/// A lower triangular matrix in tiles: column after column of [`TILE`] rows each.
pub(super) struct Lower {
    size: usize,
    tiles: Vec<f64>,
}

impl Lower {
    fn zero(size: usize) -> Self {
        Self { size, tiles: vec![0.0; size * size] }
    }

    pub(super) fn size(&self) -> usize {
        self.size
    }

    pub(super) fn get(&self, row: usize, column: usize) -> f64 {
        self.tiles[row / TILE * TILE * self.size + column * TILE + row % TILE]
    }

    fn tile(&self, t: usize) -> &[f64] {
        &self.tiles[t * TILE * self.size..][..TILE * self.size]
    }

    /// Rows `PANEL * p ..` side by side: the first `columns` numbers of each.
    pub(super) fn panel(&self, p: usize, columns: usize) -> Vec<f64> {
        let entry = |k| (0..PANEL).map(move |lane| self.get(p * PANEL + lane, k));
        (0..columns).flat_map(entry).collect()
    }

    /// The L2 norm of all entries.
    pub(super) fn norm(&self) -> f64 {
        self.tiles.iter().map(|x| x * x).sum::<f64>().sqrt()
    }
}

/// Return the Cholesky factor of a symmetric matrix, row-major, whose size is a multiple of
/// [`STEP`].
pub(super) fn cholesky(matrix: &[f64], size: usize) -> Result<Lower> {
    let mut lower = Lower::zero(size);
    for p in 0..size / PANEL {
        let first = p * PANEL;
        let panel = lower.panel(p, first);
        let corner = corner(&panel, |i, j| matrix[(first + i) * size + first + j]);
        let Some(corner) = corner else {
            let reason = "their kernel matrix is not positive definite; are they finite points?";
            return Err(Error::invalid("landmarks", reason));
        };
        let tiles = lower.tiles.par_chunks_mut(TILE * size).enumerate().skip(first / TILE);
        tiles.for_each(|(t, tile)| {
            dispatch(Column { tile, t, panel: &panel, corner: &corner, matrix, size });
        });
    }
    Ok(lower)
}

/// The factor's rows of a panel where they meet its columns; none if a pivot is not positive.
fn corner(panel: &[f64], entry: impl Fn(usize, usize) -> f64) -> Option<[Row; PANEL]> {
    let mut corner = [[0.0_f64; PANEL]; PANEL];
    for i in 0..PANEL {
        for j in 0..=i {
            let chain = |sum: f64, lanes: &Row| lanes[i].mul_add(lanes[j], sum);
            let product = panel.as_chunks::<PANEL>().0.iter().fold(0.0, chain);
            let left = (0..j)
                .fold(entry(i, j) - product, |left, l| (-corner[i][l]).mul_add(corner[j][l], left));
            corner[i][j] = if i == j { left.sqrt() } else { left / corner[j][j] };
        }
        // Also false of NaN.
        if !(corner[i][i] > 0.0 && corner[i][i].is_finite()) {
            return None;
        }
    }
    Some(corner)
}

/// A panel of columns in one tile of rows.
struct Column<'a> {
    tile: &'a mut [f64],
    t: usize,
    panel: &'a [f64],
    corner: &'a [Row; PANEL],
    matrix: &'a [f64],
    size: usize,
}

impl Hot for Column<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let first = self.panel.len() / PANEL;
        let mut sums = [[0.0; PANEL]; TILE];
        products::<f64, TILE>(&self.tile[..first * TILE], self.panel, &mut sums);
        for (r, sums) in sums.iter().enumerate() {
            let row = self.t * TILE + r;
            let mut found = match row.checked_sub(first) {
                None => continue,
                Some(i) if i < PANEL => self.corner[i],
                Some(_) => {
                    let entries = &self.matrix[row * self.size + first..][..PANEL];
                    let mut found = [0.0_f64; PANEL];
                    for j in 0..PANEL {
                        let mut left = entries[j] - sums[j];
                        for (known, factor) in found[..j].iter().zip(&self.corner[j]) {
                            left = (-known).mul_add(*factor, left);
                        }
                        found[j] = left / self.corner[j][j];
                    }
                    found
                }
            };
            for (j, x) in found.iter_mut().enumerate() {
                self.tile[(first + j) * TILE + r] = *x;
            }
        }
    }
}

/// Return the inverse of a lower triangular matrix, by forward substitution, columns in parallel.
pub(super) fn inverse(lower: &Lower) -> Lower {
    let size = lower.size;
    let solve = |p| dispatch(Substitution { lower, p });
    let columns: Vec<Vec<f64>> = (0..size / PANEL).into_par_iter().map(solve).collect();
    let mut inverse = Lower::zero(size);
    inverse.tiles.par_chunks_mut(TILE * size).enumerate().for_each(|(t, tile)| {
        for (k, rows) in tile.chunks_exact_mut(TILE).enumerate() {
            let column = &columns[k / PANEL];
            for (r, x) in rows.iter_mut().enumerate() {
                *x = column[(t * TILE + r) * PANEL + k % PANEL];
            }
        }
    });
    inverse
}

/// Columns `PANEL * p ..` of the inverse, a row of lanes each.
struct Substitution<'a> {
    lower: &'a Lower,
    p: usize,
}

impl Hot for Substitution<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn run(self) -> Vec<f64> {
        let first = self.p * PANEL;
        let mut found = vec![0.0; self.lower.size * PANEL];
        for t in first / TILE..self.lower.size / TILE {
            let (start, end) = (first / TILE * TILE, t * TILE);
            let tile = self.lower.tile(t);
            let mut sums = [[0.0; PANEL]; TILE];
            let known = &found[start * PANEL..end * PANEL];
            products::<f64, TILE>(&tile[start * TILE..end * TILE], known, &mut sums);
            for (r, sums) in sums.iter().enumerate() {
                let row = end + r;
                for lane in 0..PANEL {
                    let one = if row == first + lane { 1.0 } else { 0.0 };
                    let mut left = one - sums[lane];
                    for l in 0..r {
                        let factor = tile[(end + l) * TILE + r];
                        left = (-factor).mul_add(found[(end + l) * PANEL + lane], left);
                    }
                    found[row * PANEL + lane] = left / tile[row * TILE + r];
                }
            }
        }
        found
    }
}

/// Return the computed L2 norms of all entries of `C C^T - matrix` and of `A C - 1`.
pub(super) fn residuals(matrix: &[f64], factor: &Lower, inverse: &Lower) -> (f64, f64) {
    let size = factor.size;
    let squares: Vec<(f64, f64)> = (0..size / PANEL)
        .into_par_iter()
        .map(|p| {
            // C C^T is symmetric, and beyond this the panel's rows are 0.
            let end = (p + 1) * PANEL;
            let twice = |i: usize, j: usize, x: f64| match i.cmp(&j) {
                Ordering::Less => 0.0,
                Ordering::Equal => (x - matrix[i * size + j]).powi(2),
                Ordering::Greater => 2.0 * (x - matrix[i * size + j]).powi(2),
            };
            let panel = factor.panel(p, end);
            let of_factor =
                dispatch(Residual { left: factor, panel: &panel, p, start: 0, square: twice });
            // Before this the columns of C are 0.
            let start = p * PANEL;
            let column = |k| (0..PANEL).map(move |lane| factor.get(k, p * PANEL + lane));
            let panel: Vec<f64> = (start..size).flat_map(column).collect();
            let square =
                |i: usize, j: usize, x: f64| if i == j { (x - 1.0).powi(2) } else { x * x };
            let of_inverse = dispatch(Residual { left: inverse, panel: &panel, p, start, square });
            (of_factor, of_inverse)
        })
        .collect();
    // Added up in the order of the panels, whichever thread had them.
    let total = squares.iter().fold((0.0, 0.0), |sum, add| (sum.0 + add.0, sum.1 + add.1));
    (total.0.sqrt(), total.1.sqrt())
}

/// The rows of `left` from panel p on times a panel of columns, whose coordinates begin at `start`:
/// what `square` makes of each entry (row, column, value), added up.
struct Residual<'a, F> {
    left: &'a Lower,
    panel: &'a [f64],
    p: usize,
    start: usize,
    square: F,
}

impl<F: Fn(usize, usize, f64) -> f64> Hot for Residual<'_, F> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        let mut total = 0.0;
        let stop = self.start + self.panel.len() / PANEL;
        for t in self.p * PANEL / TILE..self.left.size / TILE {
            let mut sums = [[0.0; PANEL]; TILE];
            // Further right the rows of `left` are 0.
            let end = stop.min((t + 1) * TILE);
            let tile = &self.left.tile(t)[self.start * TILE..end * TILE];
            let panel = &self.panel[..(end - self.start) * PANEL];
            products::<f64, TILE>(tile, panel, &mut sums);
            for (r, sums) in sums.iter().enumerate() {
                for (lane, &sum) in sums.iter().enumerate() {
                    total += (self.square)(t * TILE + r, self.p * PANEL + lane, sum);
                }
            }
        }
        total
    }
}

#[cfg(test)]
impl Lower {
    /// Spoil a row, to see that it is noticed.
    pub(super) fn scale_row(&mut self, row: usize, factor: f64) {
        let (tile, lane) = (row / TILE * TILE * self.size, row % TILE);
        self.tiles[tile..][..TILE * self.size]
            .iter_mut()
            .skip(lane)
            .step_by(TILE)
            .for_each(|x| *x *= factor);
    }
}
