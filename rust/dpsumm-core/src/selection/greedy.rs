//! Greedy maximisation of J, the summary's closeness to the target.

use super::screen::Screened;
use super::{Picks, Scores, check, check_pair, check_some, kernel_means, scores};
use crate::error::{Error, Result};
use crate::points::{Points, Scalar};

/// Return the `size` rows that greedily maximise J (see [`Picks`]).
///
/// With t rows picked, the next is the best `a_y - c_y / (t + 1)`, where `c_y` is the sum of y's
/// kernel values with them: the marginal gain of J up to constants (the printed rule of
/// Sarpatwar et al. 2019, Algorithm 3 step 6, has the two terms the other way round).
/// `attraction` (n,): `mean_v k(v, x_i)` over the target, or `g . h(x_i)` for a released g.
///
/// Exact: the rows a plain loop in f64 would pick. Memory: a packed copy of the points, in f32
/// unless they are too far apart for it, with half as much again in 16 bits, and a second one of the
/// rows that were near the best. Time:
/// at most about `n size` kernel values in f32, and those in f64 of rows that f32 cannot tell from
/// the best, where equal rows count once. In high dimension and at usual bandwidths most rows need a
/// product now and then instead. Results do not depend on the number of threads.
///
/// # Errors
/// [`Error::InvalidParameter`] if `size` is 0 or above n, `gamma` is not finite and positive,
/// lengths do not fit or squared distances overflow; [`Error::NonFinite`] for `attraction`.
pub fn greedy<T: Scalar>(
    points: &Points<T>,
    attraction: &[f64],
    gamma: f64,
    size: usize,
) -> Result<Picks> {
    check(points, attraction, gamma)?;
    check_size(points, size)?;
    pick(points, scores(points, attraction, gamma)?, size)
}

/// Return what [`greedy`] returns with the mean kernel over `target` as attraction, to the last bit,
/// in less time: the attraction is computed in f64 only where it decides.
///
/// # Errors
/// [`Error::InvalidParameter`] as [`greedy`], if `target` is empty or the dimensions differ.
///
/// # Examples
/// ```
/// use dpsumm_core::{points::Points, selection::greedy_towards};
///
/// let points = Points::new("points", &[0.0_f32, 1.0, 5.0, 9.0], 1)?;
/// let target = Points::new("target", &[4.0_f32, 5.0, 8.0], 1)?;
/// assert_eq!(greedy_towards(&points, &target, 0.5, 2)?.rows, [2, 3]);
/// # Ok::<(), dpsumm_core::Error>(())
/// ```
pub fn greedy_towards<T: Scalar>(
    points: &Points<T>,
    target: &Points<T>,
    gamma: f64,
    size: usize,
) -> Result<Picks> {
    check_pair(points, target, gamma)?;
    check_some(points)?;
    check_some(target)?;
    check_size(points, size)?;
    match Screened::towards(points, target, gamma)? {
        Some(scores) => pick(points, Box::new(scores), size),
        None => greedy(points, &kernel_means(points, target, gamma)?, gamma, size),
    }
}

fn check_size<T: Scalar>(points: &Points<T>, size: usize) -> Result<()> {
    if size == 0 || size > points.len() {
        let reason = format!("{size} is not in 1..={}; ask for at most all points", points.len());
        return Err(Error::invalid("size", reason));
    }
    Ok(())
}

fn pick<T: Scalar>(
    points: &Points<T>,
    mut scores: Box<dyn Scores + '_>,
    size: usize,
) -> Result<Picks> {
    for t in 0..size {
        points.check_stop()?;
        if let Some(best) = scores.best(1.0 / (t + 1) as f64)? {
            scores.pick(best.row);
        }
    }
    Ok(scores.into_picks())
}
