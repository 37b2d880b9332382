//! Weights under a floor, by accelerated projected gradients with restarts (Nesterov 1983; Beck &
//! Teboulle 2009; O'Donoghue & Candes 2015). The floor bends the set of weights as a ridge would, so
//! a few dozen steps do where it is reached.

use super::gram::Gram;
use super::nearest::{nearest, steepest};
use super::too_small;
use crate::error::Result;
use crate::points::{Points, Scalar};

/// Steps, at most: a guard, since the method converges.
const STEPS: usize = 100_000;

/// By what the curvature that steps go by grows where it is too small.
const STEEPER: f64 = 1.5;
/// And falls after each step, since the loss bends less along the last steps than along the first.
const FLATTER: f64 = 0.95;

/// Weights, and half the gradient there.
#[derive(Clone)]
struct Place {
    weights: Vec<f64>,
    slopes: Vec<f64>,
}

/// Return the best weights of an effective size of at least `floor`, from above 1 to below n, to a
/// tolerance; see [`super::weights`].
pub(super) fn weights<T: Scalar>(
    points: &Points<T>,
    attraction: &[f64],
    gamma: f64,
    ridge: f64,
    floor: f64,
    tolerance: f64,
) -> Result<Vec<f64>> {
    let gram = Gram::new(points, gamma)?;
    let place = |weights: Vec<f64>| -> Result<Place> {
        let mut slopes = gram.times(&weights)?;
        let given = attraction.iter().zip(&weights);
        slopes.iter_mut().zip(given).for_each(|(slope, (a, w))| *slope += ridge * w - a);
        Ok(Place { weights, slopes })
    };
    let mut at = place(vec![1.0 / points.len() as f64; points.len()])?;
    let (mut ahead, mut momentum) = (at.clone(), 1.0);
    let mut curvature = first_curvature(&gram, &at, ridge)?;
    for _ in 0..STEPS {
        if at.gap(floor) <= tolerance {
            return Ok(at.weights);
        }
        let new = loop {
            let new = place(nearest(&ahead.stepped(curvature), floor))?;
            let (square, bent) = ahead.bend(&new);
            // The kernel matrix bends by no more than the number of points.
            if bent <= curvature * square || curvature > points.len() as f64 + ridge {
                break new;
            }
            curvature *= STEEPER;
        };
        curvature *= FLATTER;
        // Momentum that leads uphill is lost, and the step done again without it.
        if momentum > 1.0 && ahead.slope_along(&at, &new) > 0.0 {
            (ahead, momentum) = (at.clone(), 1.0);
            continue;
        }
        let next = (1.0 + f64::sqrt(1.0 + 4.0 * momentum * momentum)) / 2.0;
        ahead = at.beyond(&new, (momentum - 1.0) / next);
        (at, momentum) = (new, next);
    }
    Err(too_small())
}

/// How much the loss bends along the slopes at a place: no more than it bends anywhere.
fn first_curvature<T: Scalar>(gram: &Gram<T>, at: &Place, ridge: f64) -> Result<f64> {
    let mean = at.slopes.iter().sum::<f64>() / at.slopes.len() as f64;
    let along: Vec<f64> = at.slopes.iter().map(|slope| slope - mean).collect();
    let square: f64 = along.iter().map(|x| x * x).sum();
    let bent: f64 = gram.times(&along)?.iter().zip(&along).map(|(a, b)| a * b).sum();
    let found = bent / square + ridge;
    Ok(if found.is_finite() && found > 0.0 { found } else { 1.0 })
}

impl Place {
    /// How far above the least value these weights are, at most (Frank & Wolfe 1956).
    fn gap(&self, floor: f64) -> f64 {
        let down: Vec<f64> = self.slopes.iter().map(|slope| -slope).collect();
        let best = steepest(&down, floor);
        let parts = self.weights.iter().zip(&best).zip(&self.slopes);
        2.0 * parts.map(|((w, best), slope)| slope * (w - best)).sum::<f64>()
    }

    /// These weights less the slopes over the curvature: not weights.
    fn stepped(&self, curvature: f64) -> Vec<f64> {
        self.weights.iter().zip(&self.slopes).map(|(w, slope)| w - slope / curvature).collect()
    }

    /// The square of the way to `other`, and how much the slopes change along it.
    fn bend(&self, other: &Self) -> (f64, f64) {
        let (mut square, mut bent) = (0.0, 0.0);
        for i in 0..self.weights.len() {
            let way = other.weights[i] - self.weights[i];
            square += way * way;
            bent += way * (other.slopes[i] - self.slopes[i]);
        }
        (square, bent)
    }

    /// The slope here along the way from one place to another.
    fn slope_along(&self, from: &Self, to: &Self) -> f64 {
        let ways = to.weights.iter().zip(&from.weights).map(|(to, from)| to - from);
        self.slopes.iter().zip(ways).map(|(slope, way)| slope * way).sum()
    }

    /// `share` of the way to `other` beyond it: slopes are linear.
    fn beyond(&self, other: &Self, share: f64) -> Self {
        let go = |a: &[f64], b: &[f64]| -> Vec<f64> {
            a.iter().zip(b).map(|(a, b)| b + share * (b - a)).collect()
        };
        Self { weights: go(&self.weights, &other.weights), slopes: go(&self.slopes, &other.slopes) }
    }
}
