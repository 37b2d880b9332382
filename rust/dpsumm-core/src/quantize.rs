//! Random rounding without bias to the coarse grid `S = {-1, -1 + eta, .., 1}` of [`crate::mwem`].
//!
//! `2 / eta = steps` is an integer. Grid point j, for j in `0 ..= steps`, is
//! `(2 j - steps) / steps`, and sums are integers in units of `1 / steps`.
//!
//! **Claim.** One record moves every coordinate's sum by at most `2 steps` units (2 in real units)
//! when it is replaced, by `steps` when it is added or removed, whatever its values: they are
//! clamped to `[-1, 1]` first. Fresh coins in every call and one quantisation reused are equally
//! sound: couple the coins of the unchanged records. The sums are **not** private: noise is added
//! in [`crate::mwem`].
//! **Numerics.** Integers after one floating-point addition: the mean of a rounded value is within
//! `2^-52` of the value. **Tested by** means and ends of the grid, neighbours that reach the bound.

use crate::error::{Error, Result};
use crate::features::{FeatureMap, check_dim};
use crate::grid::sum_blocks;
use crate::points::{Points, Scalar};
use crate::rng::Source;

/// Finest grid: steps between -1 and 1.
pub const MAX_STEPS: u32 = 1 << 20;

/// The grid of `steps + 1` points in `[-1, 1]`.
///
/// # Examples
/// ```
/// use dpsumm_core::{quantize::Quantizer, rng::Source};
///
/// let quantizer = Quantizer::new(20)?;
/// let sums = quantizer.sum(&[1.0, -1.0, 1.0, 0.0], 2, &mut Source::system()?)?;
/// assert_eq!(sums[0], 40, "the ends of the grid are exact");
/// # Ok::<(), dpsumm_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quantizer {
    steps: u32,
}

impl Quantizer {
    /// Errors: `steps` outside `1 ..= 2^20`.
    pub fn new(steps: u32) -> Result<Self> {
        if !(1..=MAX_STEPS).contains(&steps) {
            return Err(Error::invalid(
                "steps",
                format!("must be 1 to {MAX_STEPS}, which is 2 / eta"),
            ));
        }
        Ok(Self { steps })
    }

    /// Number of steps between -1 and 1.
    pub fn steps(&self) -> u32 {
        self.steps
    }

    /// Return the sum over rows of randomly rounded values, (d,), in units of `1 / steps`.
    ///
    /// `rows`: (n, d) row-major, clamped to `[-1, 1]`. The coins depend on `source` and the row,
    /// not on threads. Errors: `d` is 0 or does not divide the length, NaN or infinite values.
    pub fn sum<T: Scalar>(&self, rows: &[T], d: usize, source: &mut Source) -> Result<Vec<i64>> {
        if d == 0 || !rows.len().is_multiple_of(d) {
            return Err(Error::invalid("d", "must be at least 1 and divide the length of rows"));
        }
        let streams = source.streams();
        sum_blocks(rows.len() / d, d, |block, range, _: &mut (), sums| {
            self.add_rows(
                &rows[range.start * d..range.end * d],
                1.0,
                &mut streams.source(block),
                sums,
            )
        })
    }

    /// Return the sum over points of their features times `sqrt(d/2)`, randomly rounded: (d,), in
    /// units of `1 / steps`. Features are computed block by block and never stored.
    ///
    /// Errors: the points' dimension is not the features', or a feature overflowed (absurdly large
    /// inputs).
    pub fn sum_features<T: Scalar>(
        &self,
        features: &impl FeatureMap,
        points: &Points<T>,
        source: &mut Source,
    ) -> Result<Vec<i64>> {
        check_dim(features, points)?;
        let d = features.n_features();
        let scale = (d as f64 / 2.0).sqrt();
        let streams = source.streams();
        sum_blocks(points.len(), d, |block, range, scratch: &mut Vec<T>, sums| {
            scratch.resize(range.len() * d, T::default());
            features.transform_block(points.rows(range), scratch)?;
            self.add_rows(scratch, scale, &mut streams.source(block), sums)
        })
    }

    fn add_rows<T: Scalar>(
        &self,
        rows: &[T],
        scale: f64,
        source: &mut Source,
        sums: &mut [i64],
    ) -> Result<()> {
        let steps = i64::from(self.steps);
        for row in rows.chunks_exact(sums.len()) {
            for (&value, sum) in row.iter().zip(sums.iter_mut()) {
                let value = value.to_f64() * scale;
                if !value.is_finite() {
                    return Err(Error::NonFinite { name: "features" });
                }
                *sum += 2 * self.index(value, source.bits()) - steps;
            }
        }
        Ok(())
    }

    /// Return the grid point, `0 ..= steps`, that `value` is rounded to by a coin from `bits`.
    #[inline]
    fn index(&self, value: f64, bits: u64) -> i64 {
        // (value + 1) / 2 as a fraction of 2^53, then times steps: whole part and remainder.
        let unit = ((value.clamp(-1.0, 1.0) + 1.0) * (1u64 << 52) as f64) as u64;
        let place = u128::from(unit) * u128::from(self.steps);
        let (whole, rest) = ((place >> 53) as i64, place as u64 & ((1 << 53) - 1));
        whole + i64::from(bits >> 11 < rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::{FeatureKind, RandomFeatures};

    #[test]
    fn the_number_of_bits_that_round_up_is_the_fraction() -> Result<()> {
        for (steps, value, whole, share) in [
            (4, 0.125, 2, 0.25),
            (4, -0.875, 0, 0.25),
            (10, 0.95, 9, 0.75),
            (3, 0.0, 1, 0.5),
            (1, -0.6, 0, 0.2),
        ] {
            let grid = Quantizer::new(steps)?;
            let at = |bits| grid.index(value, bits);
            let edge = (share * u64::MAX as f64) as u64;
            assert_eq!((at(0), at(edge - (1 << 20))), (whole + 1, whole + 1));
            assert_eq!((at(edge + (1 << 20)), at(u64::MAX)), (whole, whole));
        }
        Ok(())
    }

    #[test]
    fn ends_and_grid_points_need_no_luck() -> Result<()> {
        for steps in [1, 2, 5, 64, MAX_STEPS] {
            let grid = Quantizer::new(steps)?;
            for bits in [0, u64::MAX] {
                assert_eq!(grid.index(1.0, bits), i64::from(steps));
                assert_eq!(grid.index(7e300, bits), i64::from(steps));
                assert_eq!(grid.index(-1.0, bits), 0);
                assert_eq!(grid.index(-1.0 - 1e-9, bits), 0);
            }
        }
        let grid = Quantizer::new(8)?;
        for j in 0..=8i64 {
            let value = (2 * j - 8) as f64 / 8.0;
            assert_eq!((grid.index(value, 0), grid.index(value, u64::MAX)), (j, j));
        }
        Ok(())
    }

    #[test]
    fn rounding_has_no_bias() -> Result<()> {
        let seed = Source::system()?.bits();
        let mut source = Source::seeded(seed, 0);
        let (n, steps) = (200_000, 7);
        let row = [-0.99, -0.5, -1e-3, 0.0, 0.2, 0.37, 0.93, 1.0];
        let sums = Quantizer::new(steps)?.sum(&row.repeat(n), row.len(), &mut source)?;
        for (&value, sum) in row.iter().zip(sums) {
            let place = (value + 1.0) / 2.0 * f64::from(steps);
            let share = place - place.floor();
            // Two-sided false alarm 1e-6 over 8 values: |z| < 5.3. A coin of 2 units.
            let spread = 5.3 * 2.0 * (n as f64 * share * (1.0 - share)).sqrt() + 1e-6;
            let gap = sum as f64 - n as f64 * value * f64::from(steps);
            assert!(gap.abs() < spread, "seed {seed} value {value}: {gap} {spread}");
        }
        Ok(())
    }

    #[test]
    fn coins_depend_on_the_key_and_not_on_threads() -> Result<()> {
        let rows: Vec<f32> = (0..3000 * 4).map(|i| (i as f32).sin()).collect();
        let grid = Quantizer::new(6)?;
        let run = |threads, seed| {
            let pool =
                rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            pool.install(|| grid.sum(&rows, 4, &mut Source::seeded(seed, 0)))
        };
        assert_eq!(run(1, 1)?, run(3, 1)?);
        assert_ne!(run(1, 1)?, run(1, 2)?);
        let mut source = Source::seeded(1, 0);
        assert_ne!(
            grid.sum(&rows, 4, &mut source)?,
            grid.sum(&rows, 4, &mut source)?,
            "coins used twice"
        );
        Ok(())
    }

    #[test]
    fn neighbours_reach_the_sensitivity_and_no_more() -> Result<()> {
        let steps = 5;
        let grid = Quantizer::new(steps)?;
        let sum = |x: f64| grid.sum(&[0.3, x, -0.8], 1, &mut Source::seeded(1, 0));
        let distance = |x: f64, y: f64| Ok::<_, Error>(sum(x)?[0].abs_diff(sum(y)?[0]));
        assert_eq!(distance(-1.0, 1.0)?, 2 * u64::from(steps));
        for k in 0..200 {
            let (x, y) = ((f64::from(k) * 0.7).sin() * 3.0, (f64::from(k) * 1.3).cos() * 1e9);
            assert!(distance(x, y)? <= 2 * u64::from(steps));
        }
        Ok(())
    }

    #[test]
    fn feature_sums_are_those_of_scaled_features() -> Result<()> {
        let features = RandomFeatures::draw(FeatureKind::Paired, false, 0.5, 2, 6, 1)?;
        let data: Vec<f64> = (0..600).map(|i| f64::from(i).sin()).collect();
        let points = Points::new("points", &data, 2)?;
        let scaled: Vec<f64> =
            features.transform(&points)?.iter().map(|h| h * 3f64.sqrt()).collect();
        let grid = Quantizer::new(9)?;
        let slow = grid.sum(&scaled, 6, &mut Source::seeded(4, 0))?;
        assert_eq!(grid.sum_features(&features, &points, &mut Source::seeded(4, 0))?, slow);
        Ok(())
    }

    #[test]
    fn wrong_input_is_refused() -> Result<()> {
        let mut source = Source::seeded(1, 0);
        assert!(Quantizer::new(0).is_err());
        assert!(Quantizer::new(MAX_STEPS + 1).is_err());
        let grid = Quantizer::new(4)?;
        assert!(grid.sum(&[0.0; 5], 2, &mut source).is_err());
        assert!(grid.sum(&[0.0; 4], 0, &mut source).is_err());
        assert_eq!(
            grid.sum(&[0.0, f64::NAN], 2, &mut source),
            Err(Error::NonFinite { name: "features" })
        );
        Ok(())
    }
}
