//! Products of features with directions, for an owner's scores of its rows: `A^T g` is made once, so
//! that a row costs its kernel values and a product with them.
//!
//! Kernel values have the precision of the points, since scores are compared with each other and no
//! bound rests on them; sums are in f64. Landmarks so far apart that f32 would blur their kernel have
//! f64 for all points.

use rayon::prelude::*;

use super::LandmarkFeatures;
use crate::error::{Error, Result};
use crate::features::add_weighted;
use crate::kernel::BLOCK;
use crate::points::{Points, Scalar};
use crate::product::{Both, Lanes, Real, TILE, pack_row, products};
use crate::simd::{Hot, dispatch, turn_by_turn};

/// Squared norm of a landmark, times gamma, up to which kernel values in f32 are right to 1e-3.
const NEAR: f64 = 100.0;

/// Landmarks in both precisions, in units in which the kernel is `exp(-|x - y|^2)`.
pub(super) struct Scored {
    scale: f64,
    near: bool,
    panels: Both,
    norms: Both,
}

impl Scored {
    pub(super) fn new(landmarks: &Points<f64>, origin: &[f64], gamma: f64) -> Self {
        let (scale, rows) = (gamma.sqrt(), landmarks.rows(0..landmarks.len()));
        let single = pack(rows, origin, scale, <f32 as Real>::Lanes::WIDTH);
        let double = pack(rows, origin, scale, <f64 as Real>::Lanes::WIDTH);
        let near = double.1.iter().all(|&norm: &f64| norm <= NEAR);
        Self {
            scale,
            near,
            panels: Both { single: single.0, double: double.0 },
            norms: Both { single: single.1, double: double.1 },
        }
    }
}

/// Pack rows in groups of `width`, coordinate after coordinate, around an origin and scaled, with
/// zeros up to a whole group; and their squared norms.
fn pack<T: Scalar, R: Scalar>(
    rows: &[T],
    origin: &[f64],
    scale: f64,
    width: usize,
) -> (Vec<R>, Vec<R>) {
    let dim = origin.len();
    let count = (rows.len() / dim).next_multiple_of(width);
    let (mut packed, mut norms) = (vec![R::ZERO; count * dim], vec![R::ZERO; count]);
    let placed = |k: usize, x: T| R::from_f64((x.to_f64() - origin[k]) * scale);
    for (i, row) in rows.chunks_exact(dim).enumerate() {
        let group = &mut packed[i / width * width * dim..][..width * dim];
        pack_row(group, width, i % width, row, placed);
        let squares = row.iter().enumerate().map(|(k, &x)| placed(k, x).to_f64().powi(2));
        norms[i] = R::from_f64(squares.sum());
    }
    (packed, norms)
}

impl LandmarkFeatures {
    /// `h(x) . g` of every row and direction; `weights` (r): `A^T g` of each direction.
    pub(super) fn scores<T: Scalar>(
        &self,
        points: &Points<T>,
        weights: &[Vec<f64>],
        out: &mut [f64],
    ) -> Result<()> {
        if self.scored.near {
            return self.scores_in::<T, T>(points, weights, out);
        }
        self.scores_in::<T, f64>(points, weights, out)
    }

    fn scores_in<T: Scalar, R: Scalar>(
        &self,
        points: &Points<T>,
        weights: &[Vec<f64>],
        out: &mut [f64],
    ) -> Result<()> {
        let (r, width) = (weights.len(), R::Lanes::WIDTH);
        let blocks = points.rows(0..points.len()).par_chunks(BLOCK * self.dim);
        blocks.zip(out.par_chunks_mut(BLOCK * r)).try_for_each_init(
            || vec![0.0; r * BLOCK * width],
            |sums, (rows, out)| {
                let inside = self.inside(rows);
                let (tiles, norms) = pack::<f64, R>(&inside, &self.origin, self.scored.scale, TILE);
                if !norms.iter().all(|norm| norm.to_f64().is_finite()) {
                    let reason = "squared distances overflow; scale the points down";
                    return Err(Error::invalid(points.name(), reason));
                }
                sums.fill(0.0);
                dispatch(Pass {
                    dim: self.dim,
                    tiles: &tiles,
                    norms: &norms,
                    panels: R::of(&self.scored.panels),
                    panel_norms: R::of(&self.scored.norms),
                    weights,
                    sums,
                });
                for (j, sums) in sums.chunks_exact(BLOCK * width).enumerate() {
                    let rows = out.chunks_exact_mut(r).zip(sums.chunks_exact(width));
                    rows.for_each(|(out, lanes)| out[j] = lanes.iter().sum());
                }
                Ok(())
            },
        )
    }
}

/// All tiles of a block of rows against all panels of landmarks, and the directions' sums for each
/// row, a number for each lane.
struct Pass<'a, R> {
    dim: usize,
    tiles: &'a [R],
    norms: &'a [R],
    panels: &'a [R],
    panel_norms: &'a [R],
    weights: &'a [Vec<f64>],
    sums: &'a mut [f64],
}

impl<R: Scalar> Hot for Pass<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let width = R::Lanes::WIDTH;
        let mut values = [R::Lanes::ZERO; BLOCK];
        let values = &mut values[..self.norms.len()];
        let panels = self.panels.chunks_exact(width * self.dim);
        for (p, (panel, norms)) in panels.zip(R::Lanes::split(self.panel_norms)).enumerate() {
            let tiles = self.tiles.chunks_exact(TILE * self.dim);
            for (tile, out) in tiles.zip(values.as_chunks_mut().0) {
                products::<R, TILE>(tile, panel, out);
            }
            R::kernel(values, self.norms, norms);
            for (sums, weights) in self.sums.chunks_exact_mut(BLOCK * width).zip(self.weights) {
                let weights = &weights[p * width..][..width];
                for (sums, values) in sums.chunks_exact_mut(width).zip(&*values) {
                    turn_by_turn();
                    add_weighted(sums, values.values(), weights);
                }
            }
        }
    }
}
