//! Weights of chosen points that bring them closest to a target.

mod active;
mod descent;
mod gradient;
mod gram;
mod nearest;

use super::check;
use crate::error::{Error, Result};
use crate::points::{Points, Scalar};

/// A floor so close to the number of points, relatively, leaves equal weights only.
const ROUNDING: f64 = 1e-12;

/// Return the weights w >= 0, of sum 1 and of an effective size `1 / sum w_i^2` of at least
/// `effective_size`, that minimise
/// `sum w_i w_j k(x_i, x_j) - 2 sum w_i a_i + ridge sum w_i^2`,
/// which is `MMD^2` to the target, less a constant, and a ridge.
///
/// `attraction` (n,): each point's mean kernel value with the target. Without a floor few points have
/// weight, and steps between pairs of them find it (see `active`); under one most have, and steps
/// of all at once do (see `gradient`).
///
/// The result is at most `tolerance` above the least value.
///
/// # Errors
/// [`Error::InvalidParameter`] if there are no points, `gamma` or `tolerance` is not finite and
/// positive, `ridge` is negative or not finite, `effective_size` is not from 1 to n, lengths do not
/// fit or squared distances overflow, or the steps did not suffice for the tolerance;
/// [`Error::NonFinite`] for `attraction`; [`Error::NoMemory`].
///
/// # Examples
/// ```
/// use dpsumm_core::{kernel::kernel_means, points::Points, selection::weights};
///
/// let points = Points::new("points", &[0.0, 1.0, 5.0], 1)?;
/// let target = Points::new("target", &[0.9, 1.1, 4.9], 1)?;
/// let attraction = kernel_means(&points, &target, 1.0)?;
/// let w = weights(&points, &attraction, 1.0, 0.0, 1.0, 1e-9)?;
/// assert!((w.iter().sum::<f64>() - 1.0).abs() < 1e-9);
/// assert!(w[1] > w[2] && w[2] > w[0], "two of three are near 1, none near 0");
/// # Ok::<(), dpsumm_core::Error>(())
/// ```
pub fn weights<T: Scalar>(
    points: &Points<T>,
    attraction: &[f64],
    gamma: f64,
    ridge: f64,
    effective_size: f64,
    tolerance: f64,
) -> Result<Vec<f64>> {
    check(points, attraction, gamma)?;
    if !(ridge.is_finite() && ridge >= 0.0) {
        return Err(Error::invalid("ridge", format!("{ridge} is not a finite number from 0 up")));
    }
    if !(tolerance.is_finite() && tolerance > 0.0) {
        let reason = format!("{tolerance} is not a finite number above 0");
        return Err(Error::invalid("tolerance", reason));
    }
    let n = points.len() as f64;
    if !(1.0..=n).contains(&effective_size) {
        let reason = format!("{effective_size} is not from 1 to the number of points, {n}");
        return Err(Error::invalid("effective_size", reason));
    }
    if effective_size <= 1.0 {
        let way = if points.len() <= active::FEW { descent::weights } else { active::weights };
        return way(points, attraction, gamma, ridge, tolerance);
    }
    if effective_size >= (1.0 - ROUNDING) * n {
        return Ok(vec![1.0 / n; points.len()]);
    }
    gradient::weights(points, attraction, gamma, ridge, effective_size, tolerance)
}

fn too_small() -> Error {
    Error::invalid("tolerance", "is too small for these points; use a larger one or a ridge")
}
