//! Landmark features of the Gaussian kernel: `h(x) = A k_Z(x)` with public points `z_1 .. z_L` (the
//! landmarks), `k_Z(x)` the kernel values of x with them, and A the inverse of the Cholesky factor
//! of `K_ZZ + ridge` (Williams and Seeger 2001, up to a rotation).
//!
//! **Claim.** With `phi` the kernel's own feature map, `|h(x) - h(y)| <= |phi(x) - phi(y)|` for all
//! x and y, up to what `bounds` proves of the arithmetic. So the integers of two rows of a region
//! with squared diameter `D^2` differ in L2 by at most [`LandmarkFeatures::grid_difference`]: about
//! `sqrt(2 (1 - exp(-gamma D^2)))` times the levels, and `sqrt 2` times without a region. The
//! integers of one row have a norm of at most [`LandmarkFeatures::grid_norm`], about 1 times.
//! **Assumes** (caller): landmarks, gamma and region are public: no private record had a part in
//! them. **Argument.** `docs/privacy/target-release.md`: A k_Z is an orthogonal projection in the
//! kernel's space followed by a linear map of norm at most 1, since `A K_ZZ A^T <= 1`.
//! **Numerics.** The norm of the linear map is bounded for the A that is stored, rounded as it is;
//! rows are put into the region, whatever they were; the error of a computed `h(x)` is bounded for
//! all x. The norm of a row is clamped on the integers, besides. **Tested by** a plain twin, pairs
//! of rows that are searched for a large difference, matrices that are no contraction.

mod bounds;
mod region;
mod root;
mod scores;

use crate::error::{Error, Result, check_room};
use crate::features::{FeatureMap, check_dim, check_directions};
use crate::grid::{Grid, MAX_LEVELS};
use crate::kernel::{BLOCK, PANEL, Packed, check_gamma, kernel_values, origin};
use crate::points::{Points, Scalar};
use crate::product::{TILE, products};
use crate::simd::{Hot, dispatch, turn_by_turn};
use rayon::prelude::*;

use bounds::Bounds;
pub use region::{Region, Simplex};
use scores::Scored;

/// Added to the diagonal of the landmarks' kernel matrix. A public constant of the map.
pub const RIDGE: f64 = 1e-3;
/// Most landmarks: the matrix and its factors have their square of numbers each.
pub const MAX_LANDMARKS: usize = 1 << 13;

/// A public map from `dim` coordinates to as many features as there are landmarks.
///
/// Features are computed in f64, whatever the points are; products with directions, which no bound
/// rests on, as `scores` says. Bits do not depend on the number of threads or on the instruction set.
///
/// # Examples
/// ```
/// use dpsumm_core::features::FeatureMap;
/// use dpsumm_core::landmarks::{LandmarkFeatures, Region, Simplex};
/// use dpsumm_core::points::Points;
///
/// let landmarks: Vec<f64> = (0..20).map(|i| f64::from(i) / 19.0).collect();
/// // One column between 0 and 1.
/// let region = Region::new(vec![Simplex { cells: 1, limit: 1.0 }])?;
/// let map = LandmarkFeatures::new(&Points::new("landmarks", &landmarks, 1)?, 0.5, Some(region))?;
/// assert_eq!(map.n_features(), 20);
/// assert!(map.difference() < 0.9, "without the region sqrt 2");
/// # Ok::<(), dpsumm_core::Error>(())
/// ```
pub struct LandmarkFeatures {
    gamma: f64,
    dim: usize,
    count: usize,
    region: Option<Region>,
    origin: Vec<f64>,
    landmarks: Packed,
    /// Rows of A in panels of [`PANEL`], each up to the panel's diagonal.
    panels: Vec<Vec<f64>>,
    bounds: Bounds,
    scored: Scored,
}

impl LandmarkFeatures {
    /// Build the map of public landmarks, row-major (L, dim), for rows of a public region, or for
    /// any rows without one. Equal parameters give equal bits on every machine.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] if `gamma` is not finite and positive, there is no landmark or
    /// too many, the region has another width, or the arithmetic cannot be vouched for: landmarks
    /// that lie too far apart for it under this `gamma`. [`Error::NoMemory`].
    pub fn new(landmarks: &Points<f64>, gamma: f64, region: Option<Region>) -> Result<Self> {
        check_gamma(gamma)?;
        let (name, count, dim) = (landmarks.name(), landmarks.len(), landmarks.dim());
        if !(1..=MAX_LANDMARKS).contains(&count) {
            return Err(Error::invalid(name, format!("{count} rows; 1 to {MAX_LANDMARKS} work")));
        }
        if region.as_ref().is_some_and(|region| region.dim() != dim) {
            return Err(Error::invalid("region", format!("must have {dim} cells, one a column")));
        }
        let size = count.next_multiple_of(root::STEP);
        check_room::<[f64; 6]>(name, size, size)?;
        let origin = origin(landmarks);
        let packed = Packed::new(landmarks, &origin, PANEL)?;
        let matrix = kernel_matrix(landmarks, &origin, &packed, gamma, size)?;
        let factor = root::cholesky(&matrix, size)?;
        let inverse = root::inverse(&factor);
        let bounds = Bounds::prove(&matrix, &factor, &inverse, gamma, &packed)?;
        let scored = Scored::new(landmarks, &origin, gamma);
        let panels = (0..count.div_ceil(PANEL)).map(|p| inverse.panel(p, (p + 1) * PANEL));
        Ok(Self {
            gamma,
            dim,
            count,
            region,
            panels: panels.collect(),
            origin,
            landmarks: packed,
            bounds,
            scored,
        })
    }

    /// An upper bound of `|h(x) - h(y)|` over all x and y of the region, h as it is computed.
    pub fn difference(&self) -> f64 {
        let square = self.region.as_ref().map(Region::squared_diameter);
        self.bounds.difference(square.map(|square| self.gamma * square))
    }

    /// An upper bound of the L2 distance of two rows' integers, in steps of a grid of `levels` steps
    /// per unit.
    pub fn grid_difference(&self, levels: u32) -> f64 {
        // Every coordinate is rounded by half a step, twice; one step is for this formula's own
        // rounding and that of the products with `levels`.
        f64::from(levels) * self.difference() + (self.count as f64).sqrt() + 1.0
    }

    /// An upper bound of the L2 norm of a row's integers, in steps: whole.
    pub fn grid_norm(&self, levels: u32) -> f64 {
        (f64::from(levels) * self.bounds.norm() + (self.count as f64).sqrt() / 2.0 + 1.0).ceil()
    }

    /// The grid on which rows keep [`Self::grid_norm`]: it never shortens a row, unless a proof of
    /// this module is wrong.
    ///
    /// # Errors
    /// `levels` outside `1 ..= 2^22`.
    pub fn grid(&self, levels: u32) -> Result<Grid> {
        Grid::new(levels, (self.grid_norm(levels.min(MAX_LEVELS)) as u64).pow(2))
    }

    /// Kernel values of at most `BLOCK` rows with all landmarks, in tiles of rows; `values` is
    /// filled anew.
    fn kernel_tiles<T: Scalar>(&self, rows: &[T], values: &mut Vec<f64>) -> Result<()> {
        let inside = self.inside(rows);
        let points = Points::new("points", &inside, self.dim)?;
        let rows = Packed::from_rows(&points, 0..points.len(), &self.origin, TILE)?;
        values.resize(rows.count() * TILE * self.landmarks.count() * PANEL, 0.0);
        dispatch(Values { rows: &rows, landmarks: &self.landmarks, gamma: self.gamma, values });
        Ok(())
    }

    /// Rows in the region, whatever they were.
    fn inside<T: Scalar>(&self, rows: &[T]) -> Vec<f64> {
        let mut inside: Vec<f64> = rows.iter().map(|x| x.to_f64()).collect();
        if let Some(region) = &self.region {
            inside.chunks_exact_mut(self.dim).for_each(|row| region.put_inside(row));
        }
        inside
    }
}

impl FeatureMap for LandmarkFeatures {
    fn dim(&self) -> usize {
        self.dim
    }

    fn n_features(&self) -> usize {
        self.count
    }

    fn transform_block<T: Scalar>(&self, rows: &[T], out: &mut [T]) -> Result<()> {
        let n = rows.len() / self.dim;
        if rows.len() != n * self.dim || out.len() != n * self.count {
            let reason = format!("needs (n, {}) rows and (n, {}) out", self.dim, self.count);
            return Err(Error::invalid("rows", reason));
        }
        let mut values = Vec::new();
        let blocks = rows.chunks(BLOCK * self.dim).zip(out.chunks_mut(BLOCK * self.count));
        for (rows, out) in blocks {
            self.kernel_tiles(rows, &mut values)?;
            let (panels, size) = (&self.panels[..], self.landmarks.count() * PANEL);
            dispatch(Products { values: &values, size, panels, width: self.count, out });
        }
        Ok(())
    }

    fn project<T: Scalar>(&self, points: &Points<T>, directions: &[f64]) -> Result<Vec<f64>> {
        check_dim(self, points)?;
        let width = check_directions(self, directions)?;
        check_room::<f64>(points.name(), points.len(), width)?;
        let mut out = vec![0.0_f64; points.len() * width];
        self.scores(points, &self.weights(directions), &mut out)?;
        if !out.iter().all(|product| product.is_finite()) {
            return Err(Error::invalid("direction", "is so long that scores overflow"));
        }
        Ok(out)
    }
}

impl LandmarkFeatures {
    /// `A^T g` of every direction g (r, d), with zeros up to whole panels of either precision.
    fn weights(&self, directions: &[f64]) -> Vec<Vec<f64>> {
        let size = self.landmarks.count() * PANEL;
        let some = |some: &[f64]| {
            let mut lanes = vec![[0.0; PANEL]; self.panels.len() * PANEL];
            for (lane, direction) in some.chunks_exact(self.count).enumerate() {
                lanes.iter_mut().zip(direction).for_each(|(to, &g)| to[lane] = g);
            }
            let mut out = vec![0.0; size * PANEL];
            dispatch(Weights { panels: &self.panels, directions: &lanes, out: &mut out });
            let each = (0..some.len() / self.count).map(|lane| {
                let mut weights: Vec<f64> = out.iter().skip(lane).step_by(PANEL).copied().collect();
                weights.resize(size.next_multiple_of(2 * PANEL), 0.0);
                weights
            });
            each.collect::<Vec<_>>()
        };
        directions.par_chunks(PANEL * self.count).flat_map_iter(some).collect()
    }
}

/// Return the kernel matrix of the landmarks with the ridge, row-major (size, size); what is added
/// to make it whole tiles and panels is a unit matrix.
fn kernel_matrix(
    landmarks: &Points<f64>,
    origin: &[f64],
    packed: &Packed,
    gamma: f64,
    size: usize,
) -> Result<Vec<f64>> {
    let count = landmarks.len();
    let mut matrix = vec![0.0; size * size];
    let blocks = matrix.par_chunks_mut(BLOCK * size).enumerate();
    blocks.try_for_each(|(block, out)| {
        let first = block * BLOCK;
        let rows = first.min(count)..(first + BLOCK).min(count);
        let rows = Packed::from_rows(landmarks, rows, origin, TILE)?;
        let mut values = vec![0.0; rows.count() * TILE * packed.count() * PANEL];
        dispatch(Values { rows: &rows, landmarks: packed, gamma, values: &mut values });
        let width = packed.count() * PANEL;
        for (i, row) in out.chunks_exact_mut(size).enumerate() {
            let tile = values.get(i / TILE * TILE * width..).unwrap_or_default();
            let found = tile.iter().skip(i % TILE).step_by(TILE);
            row.iter_mut().zip(found).take(count).for_each(|(to, from)| *to = *from);
            let i = first + i;
            row[i] = if i < count { row[i] + RIDGE } else { 1.0 };
        }
        Ok(())
    })?;
    Ok(matrix)
}

/// Kernel values of packed rows with packed landmarks, in tiles of rows: landmark after landmark.
struct Values<'a> {
    rows: &'a Packed,
    landmarks: &'a Packed,
    gamma: f64,
    values: &'a mut [f64],
}

impl Hot for Values<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let mut block = [[0.0; PANEL]; BLOCK];
        let block = &mut block[..self.rows.count() * TILE];
        let width = self.landmarks.count() * PANEL;
        for p in 0..self.landmarks.count() {
            let panel = self.landmarks.group(p);
            kernel_values::<TILE>(self.rows.all(), panel, self.gamma, block);
            let tiles = self.values.chunks_exact_mut(TILE * width);
            for (tile, rows) in tiles.zip(block.as_chunks::<TILE>().0) {
                let tile = &mut tile[p * PANEL * TILE..][..PANEL * TILE];
                for (lane, tile) in tile.as_chunks_mut::<TILE>().0.iter_mut().enumerate() {
                    *tile = std::array::from_fn(|r| rows[r][lane]);
                }
            }
        }
    }
}

/// Products of tiles of rows, `size` numbers each, with panels of columns that may be shorter,
/// written to the `width` numbers of each row of `out`.
struct Products<'a, T> {
    values: &'a [f64],
    size: usize,
    panels: &'a [Vec<f64>],
    width: usize,
    out: &'a mut [T],
}

impl<T: Scalar> Hot for Products<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        // The panel is read once per block and stays in the first-level cache.
        for (p, panel) in self.panels.iter().enumerate() {
            let tiles = self.values.chunks_exact(TILE * self.size);
            for (tile, out) in tiles.zip(self.out.chunks_mut(TILE * self.width)) {
                let mut sums = [[0.0; PANEL]; TILE];
                products::<f64, TILE>(&tile[..panel.len() / PANEL * TILE], panel, &mut sums);
                for (row, sums) in out.chunks_exact_mut(self.width).zip(&sums) {
                    let row = &mut row[p * PANEL..];
                    row.iter_mut().zip(sums).for_each(|(to, &sum)| *to = T::from_f64(sum));
                }
            }
        }
    }
}

/// Adds the rows of A, in panels, times the directions' numbers for them.
struct Weights<'a> {
    panels: &'a [Vec<f64>],
    directions: &'a [[f64; PANEL]],
    out: &'a mut [f64],
}

impl Hot for Weights<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let panels = self.panels.iter().zip(self.directions.as_chunks::<PANEL>().0);
        for (panel, directions) in panels {
            let columns = panel.as_chunks::<PANEL>().0.iter();
            for (out, column) in self.out.as_chunks_mut::<PANEL>().0.iter_mut().zip(columns) {
                for (entry, direction) in column.iter().zip(directions) {
                    turn_by_turn();
                    *out = std::array::from_fn(|j| entry.mul_add(direction[j], out[j]));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
