//! Which points make the summary, and what weights they have.
//!
//! The greedy scores a point y by its attraction a_y to the target minus its kernel values with
//! the points already picked, and pick the best again and again. Equal scores go to the first row.

mod far;
mod greedy;
mod lazy;
mod moments;
mod near;
mod screen;
mod weights;

pub use greedy::{greedy, greedy_towards};
pub use weights::weights;

use lazy::{Best, Double};
use screen::Screened;

use crate::error::{Error, Result};
use crate::kernel::{check_gamma, check_pair, check_some, kernel_means};
use crate::points::{Points, Scalar};

/// The rows picked, in order.
///
/// Picks depend on the points without any stability: not private.
#[derive(Debug, Clone, PartialEq, Default)]
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
///
/// # Examples
/// ```
/// use dpsumm_core::{points::Points, selection};
///
/// let points = Points::new("points", &[0.0, 1.0, 5.0], 1)?;
/// let attraction = [0.9, 0.8, 0.1];
/// let picks = selection::greedy(&points, &attraction, 1.0, 2)?;
/// assert_eq!(picks.rows, [0, 1]);
/// let all = selection::objective(&points, &attraction, 1.0)?;
/// assert_eq!(all[..2], picks.objective);
/// # Ok::<(), dpsumm_core::Error>(())
/// ```
pub fn objective<T: Scalar>(
    points: &Points<T>,
    attraction: &[f64],
    gamma: f64,
) -> Result<Vec<f64>> {
    check(points, attraction, gamma)?;
    let mut scores = Double::new(points, attraction, gamma)?;
    for row in 0..points.len() {
        points.check_stop()?;
        scores.refresh(row);
        scores.pick(row);
    }
    Ok(Box::new(scores).into_picks().objective)
}

/// Scores of all points, brought up to date where needed.
trait Scores {
    /// Return the row that may still be picked with the largest `a_y - weight c_y`, if any.
    fn best(&mut self, weight: f64) -> Result<Option<Best>>;

    /// Pick a row that [`Scores::best`] has just returned (or whose score is up to date).
    fn pick(&mut self, row: usize);

    /// The picks made.
    fn into_picks(self: Box<Self>) -> Picks;
}

/// Scores with nothing picked yet: in f32 first, unless the points are too far apart for that.
fn scores<'a, T: Scalar>(
    points: &'a Points<'a, T>,
    attraction: &[f64],
    gamma: f64,
) -> Result<Box<dyn Scores + 'a>> {
    if let Some(scores) = Screened::new(points, attraction, gamma) {
        return Ok(Box::new(scores));
    }
    Ok(Box::new(Double::new(points, attraction, gamma)?))
}

/// Picks, and what their objective needs.
#[derive(Default)]
struct Tally {
    picks: Picks,
    /// Sums over the picks of their attractions, and over their pairs of the kernel.
    attraction: f64,
    kernel: f64,
}

impl Tally {
    /// Add a row with its attraction and its sum of kernel values with the picks before.
    fn add(&mut self, row: usize, attraction: f64, sum: f64) {
        self.attraction += attraction;
        self.kernel += 2.0 * sum + 1.0;
        self.picks.rows.push(row);
        let t = self.picks.rows.len() as f64;
        self.picks.objective.push(2.0 * self.attraction / t - self.kernel / (t * t));
    }
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
