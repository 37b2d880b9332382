//! Weights without a floor, by steps between pairs of points (see `descent`) of which most are spared.
//!
//! A step looks at every point that it is made among, and most points of a large table end without
//! weight. So steps are made among active points: those that have weight, and those with a slope below
//! the mean, which would gain from some. Then the slopes of all points are computed anew: they say
//! how far the weights are from the best, and which points are active next.

use rayon::prelude::*;

use super::descent::{self, Slopes};
use crate::error::Result;
use crate::kernel::{BLOCK, PANEL, Packed, kernel_means, kernel_values, origin};
use crate::points::{Points, Scalar};
use crate::product::TILE;
use crate::simd::{Hot, dispatch, turn_by_turn};

/// So few points are all active: what is spared would not make up for slopes computed anew.
pub(super) const FEW: usize = 4096;
/// Points by which the first active ones are guessed.
const SAMPLE: usize = 1000;
/// Steps among active points end when this part of their gap is left.
const LEFT: f64 = 0.1;
/// Points join from this part of the way down from the mean slope to the least: most that are nearer
/// the mean end without weight.
const FAR: f64 = 0.3;
/// Where fewer than one for so many active points are below the mean, all of them join, and steps go
/// on to the tolerance.
const FEWER: usize = 10;
/// Then all points are active: a guard, since a few rounds do.
const ROUNDS: usize = 30;

/// Return the best weights to a tolerance; see [`super::weights`].
pub(super) fn weights<T: Scalar>(
    points: &Points<T>,
    attraction: &[f64],
    gamma: f64,
    ridge: f64,
    tolerance: f64,
) -> Result<Vec<f64>> {
    let n = points.len();
    let Some(mut active) = promising(points, attraction, gamma)? else {
        return descent::weights(points, attraction, gamma, ridge, tolerance);
    };
    let mut weights = vec![0.0; n];
    active.iter().for_each(|&i| weights[i] = 1.0 / active.len() as f64);
    // `K w - a`, half the gradient but for the ridge's part; of points that are not active no more.
    let mut pull = vec![f64::NEG_INFINITY; n];
    pull_of(points, &active, &weights, attraction, gamma, &mut pull)?;
    let mut few = false;
    for round in 1.. {
        let all = active.len() == n;
        let of = |numbers: &[f64]| -> Vec<f64> { active.iter().map(|&i| numbers[i]).collect() };
        let (mut some, mut pulls) = (of(&weights), of(&pull));
        // Some of the tolerance is for what other points would gain.
        let least = if all { tolerance } else { 0.9 * tolerance };
        let left = LEFT * Slopes::of(&pulls, &some, ridge).gap();
        let enough = if all || few { least } else { least.max(left) };
        let rows = gathered(points, &active);
        let given = (&mut some[..], &mut pulls[..]);
        descent::improve(&points.with(&rows), given, gamma, ridge, enough)?;
        let mean = Slopes::of(&pulls, &some, ridge).mean;
        // Kernel values are from 0 to 1, so no pull falls by more than the weight that moved.
        let moved: f64 = active.iter().zip(&some).map(|(&i, w)| (weights[i] - w).max(0.0)).sum();
        pull.iter_mut().for_each(|pull| *pull -= moved);
        for (&i, (w, found)) in active.iter().zip(some.iter().zip(&pulls)) {
            (weights[i], pull[i]) = (*w, *found);
        }
        if all {
            break;
        }
        let mut others = vec![true; n];
        active.iter().for_each(|&i| others[i] = false);
        let others: Vec<usize> = (0..n).filter(|&i| others[i] && pull[i] < mean).collect();
        pull_of(points, &others, &weights, attraction, gamma, &mut pull)?;
        let slopes = Slopes::of(&pull, &weights, ridge);
        if slopes.gap() <= tolerance {
            break;
        }
        let below = others.iter().filter(|&&i| pull[i] < mean).count();
        few = below * FEWER <= active.len();
        let far = mean - if few { 0.0 } else { FAR * (mean - slopes.least) };
        let joins = |i: usize| pull[i] + ridge * weights[i] < far;
        active = (0..n).filter(|&i| weights[i] > 0.0 || joins(i) || round == ROUNDS).collect();
    }
    Ok(weights)
}

/// Rows of some points.
fn gathered<T: Scalar>(points: &Points<T>, some: &[usize]) -> Vec<T> {
    some.iter().flat_map(|&i| points.row(i)).copied().collect()
}

/// Points that would gain from weight if all had the same, guessed from some of them; none if most
/// would.
fn promising<T: Scalar>(
    points: &Points<T>,
    attraction: &[f64],
    gamma: f64,
) -> Result<Option<Vec<usize>>> {
    let n = points.len();
    let some: Vec<usize> = (0..SAMPLE).map(|i| i * n / SAMPLE).collect();
    let means = kernel_means(points, &points.with(&gathered(points, &some)), gamma)?;
    let slopes: Vec<f64> = means.iter().zip(attraction).map(|(mean, a)| mean - a).collect();
    let mean = slopes.iter().sum::<f64>() / n as f64;
    let below: Vec<usize> = (0..n).filter(|&i| slopes[i] < mean).collect();
    Ok((!below.is_empty() && below.len() <= n * 3 / 5).then_some(below))
}

/// Write `K w - a` for some points.
fn pull_of<T: Scalar>(
    points: &Points<T>,
    some: &[usize],
    weights: &[f64],
    attraction: &[f64],
    gamma: f64,
    pull: &mut [f64],
) -> Result<()> {
    let with: Vec<usize> = (0..points.len()).filter(|&i| weights[i] > 0.0).collect();
    let origin = origin(points);
    let columns = Packed::new(&points.with(&gathered(points, &with)), &origin, PANEL)?;
    let mut padded = vec![[0.0; PANEL]; columns.count()];
    padded.as_flattened_mut().iter_mut().zip(&with).for_each(|(to, &i)| *to = weights[i]);
    let block = |some: &[usize]| -> Result<Vec<f64>> {
        points.check_stop()?;
        let rows = gathered(points, some);
        let rows = Packed::new(&points.with(&rows), &origin, TILE)?;
        let mut sums = [[0.0; PANEL]; BLOCK];
        let (weights, columns) = (&padded, &columns);
        dispatch(Weighted { rows: &rows, columns, weights, gamma, sums: &mut sums });
        Ok(some
            .iter()
            .zip(&sums)
            .map(|(&i, sums)| sums.iter().sum::<f64>() - attraction[i])
            .collect())
    };
    let found = some.par_chunks(BLOCK).map(block).collect::<Result<Vec<_>>>()?;
    some.iter().zip(found.into_iter().flatten()).for_each(|(&i, found)| pull[i] = found);
    Ok(())
}

/// Adds up the weighted kernel values of a block of rows with all columns, lane by lane.
struct Weighted<'a> {
    rows: &'a Packed,
    columns: &'a Packed,
    weights: &'a [[f64; PANEL]],
    gamma: f64,
    sums: &'a mut [[f64; PANEL]; BLOCK],
}

impl Hot for Weighted<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let mut values = [[0.0; PANEL]; BLOCK];
        let values = &mut values[..self.rows.count() * TILE];
        for (p, weights) in self.weights.iter().enumerate() {
            kernel_values::<TILE>(self.rows.all(), self.columns.group(p), self.gamma, values);
            for (sums, values) in self.sums.iter_mut().zip(&*values) {
                turn_by_turn();
                *sums = std::array::from_fn(|j| values[j].mul_add(weights[j], sums[j]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::tests::{at_threads, normals};
    use crate::simd::tests::same_every_way;

    #[test]
    fn weights_are_those_of_steps_among_all_points() -> Result<()> {
        let (n, dim, gamma, ridge) = (1100, 4, 0.1, 0.01);
        let data = normals(n * dim, 5);
        let points = Points::new("points", &data, dim)?;
        let target: Vec<f64> = normals(40 * dim, 6).iter().map(|x| 0.7 * x + 0.3).collect();
        let target = Points::new("target", &target, dim)?;
        let attraction = kernel_means(&points, &target, gamma)?;
        assert!(promising(&points, &attraction, gamma)?.is_some_and(|some| some.len() < n));
        let found = same_every_way(|| weights(&points, &attraction, gamma, ridge, 1e-12));
        assert_eq!(at_threads(2, || weights(&points, &attraction, gamma, ridge, 1e-12)), found);
        let (found, plain) = (found?, descent::weights(&points, &attraction, gamma, ridge, 1e-12)?);
        let loss = |w: &[f64]| -> Result<f64> {
            let (all, mut pull): (Vec<usize>, _) = ((0..n).collect(), vec![0.0; n]);
            pull_of(&points, &all, w, &attraction, gamma, &mut pull)?;
            let parts = w.iter().zip(&pull).zip(&attraction);
            Ok(parts.map(|((w, pull), a)| w * (pull - a + ridge * w)).sum())
        };
        assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(found.iter().all(|&w| w >= 0.0));
        assert!((loss(&found)? - loss(&plain)?).abs() < 3e-12);
        Ok(())
    }
}
