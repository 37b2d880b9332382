//! The tilted draw: rows drawn by an estimate of how much likelier each is under a released,
//! noisy mean embedding than among the rows at hand.
//!
//! The estimate is an exponential tilt: the ratio of row x is `exp(h(x) . u)` up to a constant, with
//! one direction u in the space of the features. So [`tilt`] fits u on a sample of the rows, one
//! pass of [`FeatureMap::project`] gives all rows their logarithms of the ratio, and [`arrivals`]
//! turns these into random keys: the rows with the least keys are the draw.
//!
//! None of this protects anybody: the released mean is public, and the draw goes to the curator.
//! All arithmetic has the same bits on every processor and with any number of threads: products are
//! chains of fused operations (`crate::product`), the eigenvalues come from `nalgebra`'s plain
//! loops (libraries that choose instructions by the processor give other bits on each).

mod axes;
mod fit;
mod inner;

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::features::FeatureMap;
use crate::points::{Points, Scalar};

pub use fit::PENALTY;

/// Rows that the axes come from, at most.
pub const BASIS: usize = 128;

/// Return the direction u (d,) of the tilt that brings a sample's mean features to `goal`.
///
/// Kernel principal axes of the sample; along each, the distance from the sample's mean to the goal
/// has the noise's variance, the sample's own, and a signal's in proportion to the axis' variance
/// (empirical Bayes); the tilt is the exponential family's with a ridge in proportion to noise over
/// signal. Noise that hides the signal gives u = 0, a uniform draw, and so do equal rows.
///
/// # Arguments
/// `sample` (s, dim): rows drawn uniformly; all of them if they are few. `goal` (d,): the released
/// mean. `noise`: its standard deviation in each coordinate, 0 if it is exact. `least`: the
/// ratio's effective sample size over the sample (`(sum r)^2 / (s sum r^2)`) is at least this
/// share of it; u is shortened until it is.
///
/// # Errors
/// [`Error::InvalidParameter`] if the sample is empty, lengths do not fit, `noise` is negative or not
/// finite, `least` is outside [0, 1] or the points are too far for the map; [`Error::NonFinite`] for
/// `goal`; [`Error::NoMemory`].
///
/// # Examples
/// ```
/// use dpsumm_core::features::{FeatureKind, FeatureMap, RandomFeatures};
/// use dpsumm_core::points::Points;
/// use dpsumm_core::tilt::tilt;
///
/// let map = RandomFeatures::draw(FeatureKind::Paired, true, 1.0, 1, 64, 1)?;
/// let rows: Vec<f64> = (0..100).map(|i| f64::from(i) / 50.0 - 1.0).collect();
/// let rows = Points::new("rows", &rows, 1)?;
/// // The mean features of a target at the right end, as they are released without noise.
/// let target = Points::new("target", &[0.8, 0.9, 1.0], 1)?;
/// let goal: Vec<f64> = (0..64)
///     .map(|j| (0..3).map(|i| map.transform(&target).map(|h| h[64 * i + j])).sum())
///     .collect::<Result<Vec<f64>, _>>()?;
/// let goal: Vec<f64> = goal.iter().map(|sum| sum / 3.0).collect();
/// let direction = tilt(&map, &rows, &goal, 0.0, 0.1)?;
/// let log_ratios = map.project(&rows, &direction)?;
/// assert!(log_ratios[99] > log_ratios[0] + 1.0, "rows like the target are likelier");
/// # Ok::<(), dpsumm_core::Error>(())
/// ```
pub fn tilt<T: Scalar>(
    map: &impl FeatureMap,
    sample: &Points<T>,
    goal: &[f64],
    noise: f64,
    least: f64,
) -> Result<Vec<f64>> {
    if sample.is_empty() {
        return Err(Error::invalid(sample.name(), "is empty; at least one row is needed"));
    }
    if goal.len() != map.n_features() {
        let reason = format!("has {} numbers, needs {}", goal.len(), map.n_features());
        return Err(Error::invalid("goal", reason));
    }
    if !goal.iter().all(|g| g.is_finite()) {
        return Err(Error::NonFinite { name: "goal" });
    }
    if !(noise.is_finite() && noise >= 0.0) {
        return Err(Error::invalid("noise", format!("{noise} is not a finite number from 0 up")));
    }
    if !(0.0..=1.0).contains(&least) {
        return Err(Error::invalid("least", format!("{least} is not between 0 and 1")));
    }
    let axes = axes::Axes::of(&map.transform(sample)?, goal);
    let mut tilt = fit::fit(&axes, noise * noise);
    fit::shortened(&axes, &mut tilt, least);
    Ok(axes.direction(&tilt.axes, &tilt.theta))
}

/// Return the random keys of rows: those of a race in which row i arrives at the rate
/// `exp(log_rates[i])`, as logarithms of the times, `ln(-ln U_i) - log_rates[i]`.
///
/// The q rows with the least keys are a draw without replacement of exactly q rows, each next one
/// in proportion to its rate among those left (Efraimidis and Spirakis 2006): from any grouping of
/// the rows, in one pass.
///
/// `uniform` (n,): independent and uniform in [0, 1).
///
/// # Errors
/// [`Error::InvalidParameter`] if lengths differ or a number of `uniform` is not in [0, 1);
/// [`Error::NonFinite`] for `log_rates`.
///
/// # Examples
/// ```
/// use dpsumm_core::tilt::arrivals;
///
/// // With the same chance the row of the higher rate arrives first.
/// let keys = arrivals(&[0.0, 2.0], &[0.5, 0.5])?;
/// assert!(keys[1] < keys[0]);
/// # Ok::<(), dpsumm_core::Error>(())
/// ```
pub fn arrivals(log_rates: &[f64], uniform: &[f64]) -> Result<Vec<f64>> {
    if uniform.len() != log_rates.len() {
        let reason = format!("has {} numbers for {} rates", uniform.len(), log_rates.len());
        return Err(Error::invalid("uniform", reason));
    }
    if !uniform.iter().all(|u| (0.0..1.0).contains(u)) {
        return Err(Error::invalid("uniform", "must hold numbers from 0 up and below 1"));
    }
    if !log_rates.iter().all(|rate| rate.is_finite()) {
        return Err(Error::NonFinite { name: "log_rates" });
    }
    // 2^-54 for 0: half a step of the numbers' grid, so that every key is finite.
    let key = |(rate, &u): (&f64, &f64)| libm::log(-libm::log(u.max(5.6e-17))) - rate;
    Ok(log_rates.par_iter().zip(uniform).map(key).collect())
}

#[cfg(test)]
mod tests;
