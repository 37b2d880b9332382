//! Sums of kernel values over many columns.
//!
//! Values are made for a block of rows and some panels at a time, and some blocks share the panels
//! while these are in cache: from memory, columns would come too slowly. Each lane of a row adds up
//! its values in the order of the panels, so bits depend on neither.

use std::ops::Range;

use super::{BLOCK, PANEL, Packed};
use crate::exp::exp_nonpositive;
use crate::product::{TILE, products};
use crate::simd::{Hot, dispatch};

/// Panels whose values are made together: loops over a row of them are long and without gathers.
const SIDE: usize = 4;
/// Rows that share panels, if their coordinates fit: half of a common second-level cache.
const SHARED: usize = 4 * BLOCK;
const FITS: usize = 1 << 16;

/// How many rows to hand to [`Sums`] at a time: whole blocks.
pub(crate) fn shared_rows(dim: usize) -> usize {
    (FITS / dim / BLOCK * BLOCK).clamp(BLOCK, SHARED)
}

/// Sums of the kernel values of packed rows (in tiles) with panels of columns, a lane for each
/// column of a panel.
pub(crate) struct Sums<'a> {
    rows: &'a Packed,
    columns: &'a Packed,
    gamma: f64,
    lanes: Vec<[f64; PANEL]>,
}

impl<'a> Sums<'a> {
    /// Nothing added yet.
    pub(crate) fn new(rows: &'a Packed, columns: &'a Packed, gamma: f64) -> Self {
        Self { rows, columns, gamma, lanes: vec![[0.0; PANEL]; rows.norms.len()] }
    }

    /// Add the values of all rows with some panels.
    pub(crate) fn add(&mut self, panels: Range<usize>) {
        self.add_to(0..self.lanes.len(), panels);
    }

    /// Add those of some rows, whole tiles.
    pub(crate) fn add_to(&mut self, rows: Range<usize>, panels: Range<usize>) {
        let dim = self.rows.dim();
        dispatch(Add {
            rows: &self.rows.values[rows.start * dim..rows.end * dim],
            norms: &self.rows.norms[rows.clone()],
            columns: self.columns,
            panels,
            gamma: self.gamma,
            sums: &mut self.lanes[rows],
        });
    }

    /// The sum of each row, and of the rows that fill up the last tile.
    pub(crate) fn of_rows(&self) -> Vec<f64> {
        self.lanes.iter().map(|lanes| lanes.iter().sum()).collect()
    }
}

struct Add<'a> {
    rows: &'a [f64],
    norms: &'a [f64],
    columns: &'a Packed,
    panels: Range<usize>,
    gamma: f64,
    sums: &'a mut [[f64; PANEL]],
}

impl Hot for Add<'_> {
    type Output = ();

    #[inline(always)]
    fn run(mut self) {
        let mut p = self.panels.start;
        while p + SIDE <= self.panels.end {
            self.add::<SIDE>(p);
            p += SIDE;
        }
        while p < self.panels.end {
            self.add::<1>(p);
            p += 1;
        }
    }
}

impl Add<'_> {
    /// Add the values with `P` panels from `first` on.
    #[inline(always)]
    fn add<const P: usize>(&mut self, first: usize) {
        let size = BLOCK * self.columns.dim();
        let norms = self.columns.norms[first * PANEL..].as_chunks::<PANEL>().0;
        let Some(&norms) = norms.first_chunk::<P>() else { return };
        let mut values = [[[0.0; PANEL]; P]; BLOCK];
        let blocks = self.rows.chunks(size).zip(self.norms.chunks(BLOCK));
        for ((rows, row_norms), sums) in blocks.zip(self.sums.chunks_mut(BLOCK)) {
            for p in 0..P {
                let (panel, _) = self.columns.group(first + p);
                let tiles = rows.chunks_exact(TILE * self.columns.dim());
                for (tile, out) in tiles.zip(values.as_chunks_mut::<TILE>().0) {
                    let mut of_panel = [[0.0; PANEL]; TILE];
                    products::<f64, TILE>(tile, panel, &mut of_panel);
                    out.iter_mut().zip(of_panel).for_each(|(out, products)| out[p] = products);
                }
            }
            for ((values, &row_norm), sums) in values.iter_mut().zip(row_norms).zip(sums) {
                let norms = norms.as_flattened();
                for (value, norm) in values.as_flattened_mut().iter_mut().zip(norms) {
                    let square = value.mul_add(-2.0, row_norm + norm);
                    // Rounding may leave a negative square.
                    *value = exp_nonpositive(-self.gamma * if square > 0.0 { square } else { 0.0 });
                }
                let mut total = *sums;
                for lanes in values {
                    total = std::array::from_fn(|lane| total[lane] + lanes[lane]);
                }
                *sums = total;
            }
        }
    }
}
