//! Products of matrices whose every entry is one chain of additions.

use rayon::prelude::*;

use crate::product::{Lanes, Real, TILE, products};
use crate::simd::{Hot, dispatch};

/// Columns of a panel.
const PANEL: usize = <f64 as Real>::Lanes::WIDTH;

/// Write the product of two matrices, `[m, n, depth]`, each entry one chain over the depth.
pub fn multiply(
    out: &mut [f64],
    [m, n, depth]: [usize; 3],
    left: impl Fn(usize, usize) -> f64 + Sync,
    right: impl Fn(usize, usize) -> f64 + Sync,
) {
    debug_assert_eq!(out.len(), m * n);
    let mut panels = vec![0.0; n.div_ceil(PANEL) * PANEL * depth];
    panels.par_chunks_mut(PANEL * depth).enumerate().for_each(|(p, panel)| {
        for (d, lanes) in panel.chunks_exact_mut(PANEL).enumerate() {
            for (lane, j) in lanes.iter_mut().zip(p * PANEL..n) {
                *lane = right(d, j);
            }
        }
    });
    out.par_chunks_mut(TILE * n).enumerate().for_each(|(t, out)| {
        let mut tile = vec![0.0; TILE * depth];
        for (d, lanes) in tile.chunks_exact_mut(TILE).enumerate() {
            for (lane, i) in lanes.iter_mut().zip(t * TILE..m) {
                *lane = left(i, d);
            }
        }
        dispatch(Rows { tile: &tile, panels: &panels, depth, n, out });
    });
}

struct Rows<'a> {
    tile: &'a [f64],
    panels: &'a [f64],
    depth: usize,
    n: usize,
    out: &'a mut [f64],
}

impl Hot for Rows<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (p, panel) in self.panels.chunks_exact(PANEL * self.depth).enumerate() {
            let mut sums = [<f64 as Real>::Lanes::ZERO; TILE];
            products(self.tile, panel, &mut sums);
            let end = ((p + 1) * PANEL).min(self.n);
            for (row, sums) in self.out.chunks_exact_mut(self.n).zip(&sums) {
                sums.store(&mut row[p * PANEL..end]);
            }
        }
    }
}
