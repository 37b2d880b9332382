//! Which points make the summary.
//!
//! Both methods score a point y by its attraction a_y to the target minus its kernel values with
//! the points already picked, and pick the best again and again. Equal scores go to the first row.

mod greedy;
mod herding;
mod lazy;

pub use greedy::greedy;
pub use herding::herd;

use lazy::Scores;

use crate::error::{Error, Result};
use crate::kernel::{check_gamma, check_some};
use crate::points::{Points, Scalar};

/// The rows picked, in order.
///
/// Picks depend on the points without any stability: not private.
#[derive(Debug, Clone, PartialEq)]
pub struct Picks {
    /// Row numbers, all different.
    pub rows: Vec<usize>,
    /// `J = 2/t sum a - 1/t^2 sum k(x, x')` over the first t picks x, x', for t = 1, 2, ..: the
    /// squared norm of the target's embedding minus `MMD^2`, if a is the mean kernel.
    pub objective: Vec<f64>,
}

/// Return J (see [`Picks`]) of the first t of `points`, in their order, for t = 1, 2, .. n.
///
/// `attraction` (n,) as in [`greedy`]. Time grows with the square of n.
///
/// # Errors
/// [`Error::InvalidParameter`] if there are no points, `gamma` is not finite and positive, lengths
/// do not fit or squared distances overflow; [`Error::NonFinite`] for `attraction`.
pub fn objective<T: Scalar>(
    points: &Points<T>,
    attraction: &[f64],
    gamma: f64,
) -> Result<Vec<f64>> {
    check(points, attraction, gamma)?;
    let mut scores = Scores::new(points, attraction, gamma)?;
    for row in 0..points.len() {
        scores.refresh(row);
        scores.pick(row);
    }
    Ok(scores.into_picks().objective)
}

fn check<T: Scalar>(points: &Points<T>, attraction: &[f64], gamma: f64) -> Result<()> {
    check_gamma(gamma)?;
    check_some(points)?;
    if attraction.len() != points.len() {
        let reason = format!("has {} numbers for {} points", attraction.len(), points.len());
        return Err(Error::invalid("attraction", reason));
    }
    if !attraction.iter().all(|a| a.is_finite()) {
        return Err(Error::NonFinite { name: "attraction" });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
