//! The inner loop of random features: angles, their cosines and sines, and what becomes of them.

use super::BLOCK;
use crate::points::Scalar;
use crate::product::{Lanes, Real, TILE, products};
use crate::simd::{Hot, turn_by_turn};

/// What becomes of the cosines and sines of a block of rows and one panel of frequencies.
pub(super) trait Sink<R: Real> {
    fn take(&mut self, panel: usize, cos: &[R::Lanes], sin: &[R::Lanes]);
}

/// All tiles of a block of rows against all panels of frequencies.
pub(super) struct Pass<'a, R, S> {
    pub(super) dim: usize,
    pub(super) tiles: &'a [R],
    pub(super) panels: &'a [R],
    pub(super) phase: &'a [R],
    pub(super) sink: S,
}

impl<R: Scalar, S: Sink<R>> Hot for Pass<'_, R, S> {
    /// Whether all angles were finite.
    type Output = bool;

    #[inline(always)]
    fn run(mut self) -> bool {
        let width = R::Lanes::WIDTH;
        let n_tiles = self.tiles.len() / (TILE * self.dim);
        let (mut cosines, mut sines) = ([R::Lanes::ZERO; BLOCK], [R::Lanes::ZERO; BLOCK]);
        let (cosines, _) = cosines.split_at_mut(n_tiles * TILE);
        let (sines, _) = sines.split_at_mut(n_tiles * TILE);
        let mut finite = true;
        // The panel is read once per block and stays in the first-level cache.
        for (p, panel) in self.panels.chunks_exact(width * self.dim).enumerate() {
            let tiles = self.tiles.chunks_exact(TILE * self.dim);
            for (tile, angles) in tiles.zip(cosines.as_chunks_mut().0) {
                products::<R, TILE>(tile, panel, angles);
            }
            if let Some(&phase) = R::Lanes::split(self.phase).get(p) {
                for angles in &mut *cosines {
                    turn_by_turn();
                    angles.add_product(R::ONE, &phase);
                }
            }
            finite &= R::sincos(cosines, sines);
            self.sink.take(p, cosines, sines);
        }
        finite
    }
}

/// Writes scaled features.
pub(super) struct Write<'a, R> {
    pub(super) out: &'a mut [R],
    pub(super) n_features: usize,
    pub(super) count: usize,
    pub(super) scale: R,
}

impl<R: Scalar> Sink<R> for Write<'_, R> {
    #[inline(always)]
    fn take(&mut self, panel: usize, cos: &[R::Lanes], sin: &[R::Lanes]) {
        let first = panel * R::Lanes::WIDTH;
        let rows = self.out.chunks_exact_mut(self.n_features);
        for (row, (cos, sin)) in rows.zip(cos.iter().zip(sin)) {
            let (row, second) = row.split_at_mut(self.count);
            write_scaled(&mut row[first..], cos, self.scale);
            if let Some(second) = second.get_mut(first..) {
                write_scaled(second, sin, self.scale);
            }
        }
    }
}

/// Write as many lanes as `out` has room for.
#[inline(always)]
fn write_scaled<R: Real>(out: &mut [R], values: &R::Lanes, scale: R) {
    let mut scaled = R::Lanes::ZERO;
    scaled.add_product(scale, values);
    scaled.store(out);
}

/// Adds up the products with directions, lane by lane, in f64.
pub(super) struct Score<'a> {
    /// For each direction, row after row of lanes.
    pub(super) sums: &'a mut [f64],
    /// Each direction's numbers for cosines and for sines.
    pub(super) weights: &'a [(Vec<f64>, Vec<f64>)],
}

impl<R: Scalar> Sink<R> for Score<'_> {
    #[inline(always)]
    fn take(&mut self, panel: usize, cos: &[R::Lanes], sin: &[R::Lanes]) {
        let width = R::Lanes::WIDTH;
        let lanes = panel * width..(panel + 1) * width;
        let directions = self.sums.chunks_exact_mut(BLOCK * width).zip(self.weights);
        for (sums, (cosine, sine)) in directions {
            let rows = sums.chunks_exact_mut(width);
            for (sums, (cos, sin)) in rows.zip(cos.iter().zip(sin)) {
                add_weighted(sums, cos.values(), &cosine[lanes.clone()]);
                if let Some(sine) = sine.get(lanes.clone()) {
                    add_weighted(sums, sin.values(), sine);
                }
            }
        }
    }
}

/// Add `values * weights` lane by lane; the three have one length, a multiple of 8.
#[inline(always)]
pub(crate) fn add_weighted<R: Scalar>(sums: &mut [f64], values: &[R], weights: &[f64]) {
    // Arrays of fixed size, read whole before any is written, stay in vector registers.
    let weights = weights.as_chunks::<8>().0;
    let groups = sums.as_chunks_mut::<8>().0.iter_mut().zip(values.as_chunks::<8>().0).zip(weights);
    for ((sums, values), weights) in groups {
        let (old, weights) = (*sums, *weights);
        *sums = std::array::from_fn(|j| values[j].to_f64().mul_add(weights[j], old[j]));
    }
}
