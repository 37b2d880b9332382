//! Inner products of all rows of one table with all rows of another, in parallel.
//!
//! Each is one chain of fused operations over the coordinates in order, so its bits depend on the two
//! rows alone, and those of x with y are those of y with x.

use rayon::prelude::*;

use crate::points::Scalar;
use crate::product::{Lanes, Real, TILE, add_products};
use crate::simd::{Hot, dispatch};

type F64Lanes = <f64 as Real>::Lanes;
const WIDTH: usize = <F64Lanes as Lanes<f64>>::WIDTH;
/// Coordinates at once: those of a tile and a panel stay in the first-level cache meanwhile.
const DEPTH: usize = 256;
/// Tiles of a parallel task: they read the panels' coordinates while these are in the second one.
const TILES: usize = 16;

/// Return the products of rows with others, (n, m), all of length `dim`. Numbers are read through
/// `read`, which also gets their coordinate.
pub(super) fn inner<T: Scalar>(
    rows: &[&[T]],
    others: &[&[T]],
    dim: usize,
    read: impl Fn(usize, T) -> f64 + Copy + Sync,
) -> Vec<f64> {
    with_panels(rows, others, dim, read, |_| usize::MAX)
}

/// Return the products of rows with each other, (n, n).
pub(super) fn gram<T: Scalar>(
    rows: &[&[T]],
    dim: usize,
    read: impl Fn(usize, T) -> f64 + Copy + Sync,
) -> Vec<f64> {
    let n = rows.len();
    let mut out = with_panels(rows, rows, dim, read, |last| last / WIDTH + 1);
    for i in 0..n {
        for j in i + 1..n {
            out[i * n + j] = out[j * n + i];
        }
    }
    out
}

/// Products as for [`inner`]; `wanted` says with how many panels of others, by the last row of a
/// tile. What is not wanted is 0.
fn with_panels<T: Scalar>(
    rows: &[&[T]],
    others: &[&[T]],
    dim: usize,
    read: impl Fn(usize, T) -> f64 + Copy + Sync,
    wanted: impl Fn(usize) -> usize + Copy + Sync,
) -> Vec<f64> {
    let m = others.len();
    let mut panels = vec![0.0; m.div_ceil(WIDTH) * WIDTH * dim];
    let packed = panels.par_chunks_mut((WIDTH * dim).max(1)).zip(others.par_chunks(WIDTH));
    packed.for_each(|(panel, rows)| dispatch(Pack::<_, _, WIDTH> { rows, first: 0, read, panel }));
    let mut out = vec![0.0; rows.len() * m];
    let tasks = rows.par_chunks(TILES * TILE).zip(out.par_chunks_mut((TILES * TILE * m).max(1)));
    tasks.enumerate().for_each(|(task, (rows, out))| {
        let wanted = |last: usize| wanted(task * TILES * TILE + last);
        dispatch(Task { rows, panels: &panels, dim, read, wanted, out });
    });
    out
}

/// Writes the coordinates from `first` on of at most `M` rows as a tile or panel.
struct Pack<'a, T, F, const M: usize> {
    rows: &'a [&'a [T]],
    first: usize,
    read: F,
    panel: &'a mut [f64],
}

impl<T: Scalar, F: Fn(usize, T) -> f64, const M: usize> Hot for Pack<'_, T, F, M> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let panel = self.panel.as_chunks_mut::<M>().0;
        let range = self.first..self.first + panel.len();
        // Lanes without a row repeat the last one: nobody reads their products.
        let row = |i: usize| &self.rows[i.min(self.rows.len() - 1)][range.clone()];
        let rows: [&[T]; M] = std::array::from_fn(row);
        for (k, lanes) in panel.iter_mut().enumerate() {
            *lanes = std::array::from_fn(|i| (self.read)(self.first + k, rows[i][k]));
        }
    }
}

/// A few tiles of rows against the panels.
struct Task<'a, T, F, W> {
    rows: &'a [&'a [T]],
    panels: &'a [f64],
    dim: usize,
    read: F,
    wanted: W,
    out: &'a mut [f64],
}

impl<T, F, W> Hot for Task<'_, T, F, W>
where
    T: Scalar,
    F: Fn(usize, T) -> f64 + Copy,
    W: Fn(usize) -> usize,
{
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let n_panels = self.panels.len() / (WIDTH * self.dim);
        let m = self.out.len() / self.rows.len();
        let mut sums = vec![[F64Lanes::ZERO; TILE]; self.rows.len().div_ceil(TILE) * n_panels];
        let mut tile = vec![0.0; DEPTH.min(self.dim) * TILE];
        for first in (0..self.dim).step_by(DEPTH) {
            let depth = DEPTH.min(self.dim - first);
            let tile = &mut tile[..depth * TILE];
            let tiles = self.rows.chunks(TILE).zip(sums.chunks_exact_mut(n_panels));
            for (t, (rows, sums)) in tiles.enumerate() {
                Pack::<_, _, TILE> { rows, first, read: self.read, panel: tile }.run();
                let wanted = (self.wanted)((t + 1) * TILE - 1);
                let panels = self.panels.chunks_exact(WIDTH * self.dim).take(wanted);
                for (sums, panel) in sums.iter_mut().zip(panels) {
                    add_products::<f64, TILE>(tile, &panel[first * WIDTH..], sums);
                }
            }
        }
        let tiles = self.out.chunks_mut(TILE * m).zip(sums.chunks_exact(n_panels));
        for (out, sums) in tiles {
            for (p, found) in sums.iter().enumerate() {
                for (out, lanes) in out.chunks_exact_mut(m).zip(found) {
                    lanes.store(&mut out[p * WIDTH..]);
                }
            }
        }
    }
}
