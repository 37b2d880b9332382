//! Random Fourier features h(x) of the Gaussian kernel `exp(-gamma |x - y|^2)` (Rahimi and Recht
//! 2008): `h(x) . h(y)` is the kernel up to an error of about `1 / sqrt(n_features)`.

mod frequencies;
mod pass;

use rayon::prelude::*;

use crate::error::{Error, Result, check_room};
use crate::points::{Points, Scalar};
use crate::product::{Both, Lanes, TILE, pack_row};
use crate::rng::Source;
use crate::simd::dispatch;
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

    /// Coordinates of a point.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Length d of `h(x)`.
    pub fn n_features(&self) -> usize {
        if self.kind == FeatureKind::Paired { 2 * self.count() } else { self.count() }
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

    /// Write `h(x)` for each of a few rows (n, dim) into `out` (n, d), on this thread.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] if the lengths do not fit or an angle `w x` overflows.
    pub fn transform_block<T: Scalar>(&self, rows: &[T], out: &mut [T]) -> Result<()> {
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

    /// Return `h(x)` for every row, row-major (n, d), in parallel.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] if the dimensions differ or an angle `w x` overflows;
    /// [`Error::NoMemory`].
    pub fn transform<T: Scalar>(&self, points: &Points<T>) -> Result<Vec<T>> {
        self.check_dim(points)?;
        let d = self.n_features();
        check_room::<T>(points.name(), points.len(), d)?;
        let mut out = vec![T::default(); points.len() * d];
        let rows = points.rows(0..points.len());
        rows.par_chunks(TASK * self.dim)
            .zip(out.par_chunks_mut(TASK * d))
            .try_for_each(|(rows, out)| self.transform_block(rows, out))?;
        Ok(out)
    }

    /// Return `h(x) . direction` for every row, in one parallel pass that stores no features.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] if the dimensions differ, `direction` does not have d numbers,
    /// or an angle `w x` or a score overflows; [`Error::NonFinite`] for `direction`.
    pub fn scores<T: Scalar>(&self, points: &Points<T>, direction: &[f64]) -> Result<Vec<f64>> {
        self.check_dim(points)?;
        if direction.len() != self.n_features() {
            let reason = format!("has {} numbers, needs {}", direction.len(), self.n_features());
            return Err(Error::invalid("direction", reason));
        }
        if !direction.iter().all(|g| g.is_finite()) {
            return Err(Error::NonFinite { name: "direction" });
        }
        let (cosine, sine) = direction.split_at(self.count());
        let width = T::Lanes::WIDTH;
        let whole = |part: &[f64]| {
            let mut part = part.to_vec();
            part.resize(self.count().next_multiple_of(width), 0.0);
            part
        };
        let (cosine, sine) = (whole(cosine), whole(sine));
        let mut out = vec![0.0; points.len()];
        let rows = points.rows(0..points.len());
        let tasks = rows.par_chunks(TASK * self.dim).zip(out.par_chunks_mut(TASK));
        tasks.try_for_each(|(rows, out)| {
            let mut sums = vec![0.0; BLOCK * width];
            for (rows, out) in rows.chunks(BLOCK * self.dim).zip(out.chunks_mut(BLOCK)) {
                sums.fill(0.0);
                self.pass(rows, Score { sums: &mut sums, cosine: &cosine, sine: &sine })?;
                for (out, lanes) in out.iter_mut().zip(sums.chunks_exact(width)) {
                    *out = self.scale() * lanes.iter().sum::<f64>();
                }
            }
            Ok(())
        })?;
        if !out.iter().all(|score| score.is_finite()) {
            return Err(Error::invalid("direction", "is so long that scores overflow"));
        }
        Ok(out)
    }

    fn check_dim<T: Scalar>(&self, points: &Points<T>) -> Result<()> {
        if points.dim() != self.dim {
            let reason = format!("has {} columns, the features {}", points.dim(), self.dim);
            return Err(Error::invalid(points.name(), reason));
        }
        Ok(())
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
