//! Random Fourier features h(x) of the Gaussian kernel `exp(-gamma |x - y|^2)` (Rahimi and Recht
//! 2008): `h(x) . h(y)` is the kernel up to an error of about `1 / sqrt(n_features)`.

mod frequencies;
mod map;
mod pass;

pub use map::FeatureMap;
pub(crate) use map::{check_dim, check_directions};

use rayon::prelude::*;

use crate::error::{Error, Result, check_room};
use crate::points::{Points, Scalar};
use crate::product::{Both, Lanes, TILE, pack_row};
use crate::rng::Source;
use crate::simd::dispatch;
pub(crate) use pass::add_weighted;
use pass::{Pass, Score, Sink, Write};

/// Domain of the seed, so that noise from the same seed is independent.
const STREAM: u64 = 0x6665_6174_7572_6573;
/// Rows per inner block: their packed coordinates stay in the second-level cache.
const BLOCK: usize = 8 * TILE;
/// Rows per parallel task.
const TASK: usize = 8 * BLOCK;

/// Which features of a frequency `w`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeatureKind {
    /// `sqrt(2/d) [cos(w_1 x) .. cos(w_{d/2} x), sin(w_1 x) .. sin(w_{d/2} x)]`; the norm is 1.
    Paired,
    /// `sqrt(2/d) cos(w x + b)`, `b` uniform in `[0, 2 pi)`; the norm is at most `sqrt 2`.
    Phase,
}

/// A public feature map from `dim` coordinates to `n_features` numbers.
///
/// In f64 the arithmetic error of a feature is about `1e-16 (1 + dim max|w_k x_k|)`; in f32 5e8
/// times that, so centre points that lie far from the origin. Bits do not depend on the number of
/// threads or on the instruction set.
///
/// # Examples
/// ```
/// use dpsumm_core::features::{FeatureKind, FeatureMap, RandomFeatures};
/// use dpsumm_core::points::Points;
///
/// let map = RandomFeatures::draw(FeatureKind::Paired, true, 0.5, 2, 4096, 1)?;
/// let points = Points::new("points", &[0.0, 0.0, 1.0, 1.0], 2)?;
/// let h = map.transform(&points)?;
/// let (x, y) = h.split_at(map.n_features());
/// let product: f64 = x.iter().zip(y).map(|(x, y)| x * y).sum();
/// assert!((product - (-0.5 * 2.0_f64).exp()).abs() < 0.1, "the kernel of the two points");
/// # Ok::<(), dpsumm_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct RandomFeatures {
    kind: FeatureKind,
    dim: usize,
    omega: Vec<f64>,
    phase: Vec<f64>,
    /// `omega` in panels of as many frequencies as a panel has lanes, zero frequencies at the end.
    panels: Both,
    /// `phase` with zeros up to whole panels; empty for paired features.
    padded_phase: Both,
}

impl RandomFeatures {
    /// Draw a map from a public seed; equal parameters give equal bits on every machine.
    ///
    /// `n_features` is the length d of `h(x)`; `orthogonal` frequencies lower the error at no cost.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] if `gamma` is not finite and positive, `dim` or `n_features` is
    /// 0, or `n_features` is odd for paired features; [`Error::NoMemory`].
    pub fn draw(
        kind: FeatureKind,
        orthogonal: bool,
        gamma: f64,
        dim: usize,
        n_features: usize,
        seed: u64,
    ) -> Result<Self> {
        crate::kernel::check_gamma(gamma)?;
        if dim == 0 {
            return Err(Error::invalid("dim", "must be at least 1"));
        }
        if n_features == 0 {
            return Err(Error::invalid("n_features", "must be at least 1"));
        }
        if kind == FeatureKind::Paired && !n_features.is_multiple_of(2) {
            let reason = format!("{n_features} is odd; paired features need an even number");
            return Err(Error::invalid("n_features", reason));
        }
        let mut source = Source::seeded(seed, STREAM);
        let count = if kind == FeatureKind::Paired { n_features / 2 } else { n_features };
        // Beside the frequencies, their panels in both precisions.
        check_room::<[f64; 3]>("n_features", count, dim)?;
        let omega = frequencies::draw(&mut source, orthogonal, gamma, dim, count);
        let phase = match kind {
            FeatureKind::Paired => Vec::new(),
            FeatureKind::Phase => frequencies::draw_phases(&mut source, count),
        };
        Self::from_parts(kind, omega, phase, dim)
    }

    /// Build a map from its frequencies, row-major (n, dim), and phases: n for
    /// [`FeatureKind::Phase`], none for [`FeatureKind::Paired`].
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] if the lengths do not fit or there is no frequency;
    /// [`Error::NonFinite`].
    pub fn from_parts(
        kind: FeatureKind,
        omega: Vec<f64>,
        phase: Vec<f64>,
        dim: usize,
    ) -> Result<Self> {
        let count = Points::new("omega", &omega, dim)?.len();
        if count == 0 {
            return Err(Error::invalid("omega", "holds no frequency; at least one is needed"));
        }
        let phases = if kind == FeatureKind::Paired { 0 } else { count };
        if phase.len() != phases {
            let reason = format!("{} phases given, {phases} needed", phase.len());
            return Err(Error::invalid("phase", reason));
        }
        if !phase.iter().all(|b| b.is_finite()) {
            return Err(Error::NonFinite { name: "phase" });
        }
        let panels = Both { single: pack(&omega, dim), double: pack(&omega, dim) };
        let padded_phase = Both { single: pack(&phase, 1), double: pack(&phase, 1) };
        Ok(Self { kind, dim, omega, phase, panels, padded_phase })
    }

    /// Paired or phase.
    pub fn kind(&self) -> FeatureKind {
        self.kind
    }

    /// Frequencies, row-major: (d/2, dim) if paired, (d, dim) with phases.
    pub fn omega(&self) -> &[f64] {
        &self.omega
    }

    /// Phases: none if paired, d otherwise.
    pub fn phase(&self) -> &[f64] {
        &self.phase
    }

    fn count(&self) -> usize {
        self.omega.len() / self.dim
    }

    fn scale(&self) -> f64 {
        (2.0 / self.n_features() as f64).sqrt()
    }

    /// Send the cosines and sines of at most `BLOCK` rows to `sink`.
    fn pass<T: Scalar, S: Sink<T>>(&self, rows: &[T], sink: S) -> Result<()> {
        let mut tiles = vec![T::default(); BLOCK * self.dim];
        let tile = TILE * self.dim;
        for (i, row) in rows.chunks_exact(self.dim).enumerate() {
            pack_row(&mut tiles[i / TILE * tile..][..tile], TILE, i % TILE, row, |_, x| x);
        }
        let n_tiles = (rows.len() / self.dim).div_ceil(TILE);
        let tiles = &tiles[..n_tiles * tile];
        let phase = T::of(&self.padded_phase);
        let pass = Pass { dim: self.dim, tiles, panels: T::of(&self.panels), phase, sink };
        if dispatch(pass) {
            return Ok(());
        }
        let reason = "angles w x overflow; scale the points down or lower gamma";
        Err(Error::invalid("points", reason))
    }
}

impl FeatureMap for RandomFeatures {
    fn dim(&self) -> usize {
        self.dim
    }

    fn n_features(&self) -> usize {
        if self.kind == FeatureKind::Paired { 2 * self.count() } else { self.count() }
    }

    fn transform_block<T: Scalar>(&self, rows: &[T], out: &mut [T]) -> Result<()> {
        let n = rows.len() / self.dim;
        if rows.len() != n * self.dim || out.len() != n * self.n_features() {
            let reason = format!("needs (n, {}) rows and (n, {}) out", self.dim, self.n_features());
            return Err(Error::invalid("rows", reason));
        }
        let blocks = rows.chunks(BLOCK * self.dim).zip(out.chunks_mut(BLOCK * self.n_features()));
        for (rows, out) in blocks {
            let count = self.count();
            let n_features = self.n_features();
            let scale = T::from_f64(self.scale());
            self.pass(rows, Write { out, n_features, count, scale })?;
        }
        Ok(())
    }

    fn project<T: Scalar>(&self, points: &Points<T>, directions: &[f64]) -> Result<Vec<f64>> {
        check_dim(self, points)?;
        let n_directions = check_directions(self, directions)?;
        let width = T::Lanes::WIDTH;
        let whole = |part: &[f64]| {
            let mut part = part.to_vec();
            part.resize(self.count().next_multiple_of(width), 0.0);
            part
        };
        let weights: Vec<(Vec<f64>, Vec<f64>)> = directions
            .chunks_exact(self.n_features())
            .map(|direction| direction.split_at(self.count()))
            .map(|(cosine, sine)| (whole(cosine), whole(sine)))
            .collect();
        check_room::<f64>(points.name(), points.len(), n_directions)?;
        let mut out = vec![0.0; points.len() * n_directions];
        let rows = points.rows(0..points.len());
        let tasks = rows.par_chunks(TASK * self.dim).zip(out.par_chunks_mut(TASK * n_directions));
        tasks.try_for_each(|(rows, out)| {
            // Row after row for each direction, a number for each lane.
            let mut sums = vec![0.0; n_directions * BLOCK * width];
            let blocks = rows.chunks(BLOCK * self.dim).zip(out.chunks_mut(BLOCK * n_directions));
            for (rows, out) in blocks {
                sums.fill(0.0);
                self.pass(rows, Score { sums: &mut sums, weights: &weights })?;
                for (j, sums) in sums.chunks_exact(BLOCK * width).enumerate() {
                    let rows = out.chunks_exact_mut(n_directions).zip(sums.chunks_exact(width));
                    rows.for_each(|(out, lanes)| out[j] = self.scale() * lanes.iter().sum::<f64>());
                }
            }
            Ok(())
        })?;
        if !out.iter().all(|product| product.is_finite()) {
            return Err(Error::invalid("direction", "is so long that scores overflow"));
        }
        Ok(out)
    }
}

/// Pack rows (n, dim) into panels of as many lanes as `R` has, with zeros up to a whole panel.
fn pack<R: Scalar>(table: &[f64], dim: usize) -> Vec<R> {
    let width = R::Lanes::WIDTH;
    let count = (table.len() / dim).next_multiple_of(width);
    let mut panels = vec![R::default(); count * dim];
    for (j, row) in table.chunks_exact(dim).enumerate() {
        let panel = &mut panels[j / width * width * dim..][..width * dim];
        pack_row(panel, width, j % width, row, |_, x| R::from_f64(x));
    }
    panels
}

#[cfg(test)]
mod tests;
