//! Mass-limited herding: as many offers as the target has room for.

use super::{Picks, check, scores};
use crate::error::{Error, Result};
use crate::points::{Points, Scalar};

/// Return the rows picked while each still takes up its mass.
///
/// A picked row carries `mass`. The next is the best residual `a_y - mass c_y`, where `c_y` is the
/// sum of y's kernel values with the rows picked; the picking stops once the best is at most
/// `mass / 2` (adding it would no longer bring the weighted embedding closer) and at least
/// `at_least` rows were picked, or at `at_most` rows, or when all are picked.
///
/// # Errors
/// [`Error::InvalidParameter`] if `mass` or `gamma` is not finite and positive, `at_most` is 0 or
/// below `at_least`, lengths do not fit or squared distances overflow; [`Error::NonFinite`] for
/// `attraction`.
pub fn herd<T: Scalar>(
    points: &Points<T>,
    attraction: &[f64],
    gamma: f64,
    mass: f64,
    at_least: usize,
    at_most: usize,
) -> Result<Picks> {
    check(points, attraction, gamma)?;
    if !(mass.is_finite() && mass > 0.0) {
        return Err(Error::invalid("mass", format!("{mass} is not a finite number above 0")));
    }
    if at_most == 0 || at_most < at_least {
        let reason = format!("{at_most} must be at least 1 and at_least ({at_least})");
        return Err(Error::invalid("at_most", reason));
    }
    let mut scores = scores(points, attraction, gamma)?;
    for t in 0..at_most {
        points.check_stop()?;
        match scores.best(mass)? {
            Some(best) if t < at_least || best.score > mass / 2.0 => scores.pick(best.row),
            _ => break,
        }
    }
    Ok(scores.into_picks())
}
