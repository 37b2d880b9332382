//! Weights without a floor, by pairwise coordinate descent: the point with the worst slope of those
//! that have weight gives weight to the one where that helps most (as in support vector machines,
//! Fan, Chen & Lin 2005).

use std::collections::VecDeque;
use std::rc::Rc;

use super::too_small;
use crate::error::Result;
use crate::kernel::{PANEL, Packed, kernel_means, kernel_values, origin};
use crate::points::{Points, Scalar};
use crate::product::TILE;
use crate::simd::{Hot, dispatch};

/// Kernel columns are kept up to so many numbers (512 MiB); beyond, the oldest is made again.
const KEPT: usize = 1 << 26;
/// Steps for each point, at most: a guard, since the method converges.
const STEPS: usize = 1000;

/// Return the best weights to a tolerance; see [`super::weights`].
pub(super) fn weights<T: Scalar>(
    points: &Points<T>,
    attraction: &[f64],
    gamma: f64,
    ridge: f64,
    tolerance: f64,
) -> Result<Vec<f64>> {
    let means = kernel_means(points, points, gamma)?;
    let mut weights = vec![1.0 / points.len() as f64; points.len()];
    let mut pull: Vec<f64> = means.iter().zip(attraction).map(|(mean, a)| mean - a).collect();
    improve(points, (&mut weights, &mut pull), gamma, ridge, tolerance)?;
    Ok(weights)
}

/// Improve weights of sum 1 until they are the best to a tolerance, and keep `pull`, which is
/// `K w - a`, up to date.
pub(super) fn improve<T: Scalar>(
    points: &Points<T>,
    (weights, pull): (&mut [f64], &mut [f64]),
    gamma: f64,
    ridge: f64,
    tolerance: f64,
) -> Result<()> {
    let n = points.len();
    let mut kernel = Columns::new(points, gamma, KEPT)?;
    let mut gains = vec![0.0; n];
    for step in 0..STEPS.saturating_mul(n) {
        if step % 64 == 0 {
            points.check_stop()?;
        }
        let slopes = Slopes::of(pull, weights, ridge);
        if slopes.gap() <= tolerance {
            return Ok(());
        }
        let steepest = slopes.steepest;
        // Of equal slopes the first.
        let slope = |i: usize| pull[i] + ridge * weights[i];
        let Some(giver) = (0..n).find(|&i| weights[i] > 0.0 && slope(i) == steepest) else {
            return Err(too_small()); // no slope is a number
        };
        let column = kernel.column(giver);
        let curvature = |i: usize| 2.0 * (1.0 - column[i] + ridge).max(f64::EPSILON);
        let most =
            dispatch(Gains { pull, weights, column: &column, ridge, steepest, gains: &mut gains });
        let taker = gains.iter().position(|&gain| gain == most).unwrap_or(giver);
        if most <= 0.0 || taker == giver {
            return Ok(()); // all slopes are equal up to rounding
        }
        let wanted = (steepest - pull[taker] - ridge * weights[taker]) / curvature(taker);
        let moved = wanted.min(weights[giver]);
        // All of it: exactly nothing is left.
        weights[giver] = if moved < weights[giver] { weights[giver] - moved } else { 0.0 };
        weights[taker] += moved;
        let to = kernel.column(taker);
        dispatch(Move { pull, from: &column, to: &to, moved });
    }
    Err(too_small())
}

/// Numbers side by side in vector registers.
const LANES: usize = 8;

/// Half the gradient at some weights.
pub(super) struct Slopes {
    /// The largest of points that have weight.
    steepest: f64,
    /// The smallest of all.
    pub(super) least: f64,
    /// Their mean under the weights.
    pub(super) mean: f64,
}

impl Slopes {
    /// From `K w - a`.
    pub(super) fn of(pull: &[f64], weights: &[f64], ridge: f64) -> Self {
        dispatch(Look { pull, weights, ridge })
    }

    /// How far above the least value the weights are, at most.
    pub(super) fn gap(&self) -> f64 {
        2.0 * (self.mean - self.least)
    }
}

struct Look<'a> {
    pull: &'a [f64],
    weights: &'a [f64],
    ridge: f64,
}

impl Hot for Look<'_> {
    type Output = Slopes;

    #[inline(always)]
    fn run(self) -> Slopes {
        let mut steepest = [f64::NEG_INFINITY; LANES];
        let (mut least, mut mean) = ([f64::INFINITY; LANES], [0.0; LANES]);
        for (pulls, weights) in self.pull.chunks(LANES).zip(self.weights.chunks(LANES)) {
            for (j, (pull, &w)) in pulls.iter().zip(weights).enumerate() {
                let slope = pull + self.ridge * w;
                least[j] = if slope < least[j] { slope } else { least[j] };
                mean[j] += w * slope;
                let given = if w > 0.0 { slope } else { f64::NEG_INFINITY };
                steepest[j] = if given > steepest[j] { given } else { steepest[j] };
            }
        }
        Slopes {
            steepest: steepest.into_iter().fold(f64::NEG_INFINITY, f64::max),
            least: least.into_iter().fold(f64::INFINITY, f64::min),
            mean: mean.iter().sum(),
        }
    }
}

/// What a point would gain if it took weight from the giver; returns the most.
struct Gains<'a> {
    pull: &'a [f64],
    weights: &'a [f64],
    column: &'a [f64],
    ridge: f64,
    steepest: f64,
    gains: &'a mut [f64],
}

impl Hot for Gains<'_> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        let given = self.pull.iter().zip(self.weights).zip(self.column);
        for (gain, ((pull, w), value)) in self.gains.iter_mut().zip(given) {
            let slack = self.steepest - pull - self.ridge * w;
            let slack = if slack > 0.0 { slack } else { 0.0 };
            let curvature = 1.0 - value + self.ridge;
            let curvature = if curvature > f64::EPSILON { curvature } else { f64::EPSILON };
            *gain = slack * slack / (2.0 * curvature);
        }
        let mut most = [0.0; LANES];
        for gains in self.gains.chunks(LANES) {
            for (most, &gain) in most.iter_mut().zip(gains) {
                *most = if gain > *most { gain } else { *most };
            }
        }
        most.into_iter().fold(0.0, f64::max)
    }
}

struct Move<'a> {
    pull: &'a mut [f64],
    from: &'a [f64],
    to: &'a [f64],
    moved: f64,
}

impl Hot for Move<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (pull, (to, from)) in self.pull.iter_mut().zip(self.to.iter().zip(self.from)) {
            *pull += self.moved * (to - from);
        }
    }
}

/// Columns of the kernel matrix, made when asked for: the first time with their neighbours, as the
/// first steps ask for nearly all, and again alone.
struct Columns {
    gamma: f64,
    len: usize,
    /// Numbers that are kept, at most.
    room: usize,
    packed: Packed,
    tiles: Packed,
    made: Vec<bool>,
    kept: Vec<Option<Rc<[f64]>>>,
    /// Those that are kept, the oldest first.
    order: VecDeque<usize>,
}

impl Columns {
    fn new<T: Scalar>(points: &Points<T>, gamma: f64, room: usize) -> Result<Self> {
        let (origin, len) = (origin(points), points.len());
        let packed = Packed::new(points, &origin, PANEL)?;
        let tiles = Packed::new(points, &origin, TILE)?;
        let made = vec![false; tiles.count()];
        let (kept, order) = (vec![None; len], VecDeque::new());
        Ok(Self { gamma, len, room, packed, tiles, made, kept, order })
    }

    fn column(&mut self, j: usize) -> Rc<[f64]> {
        if let Some(kept) = &self.kept[j] {
            return kept.clone();
        }
        if std::mem::replace(&mut self.made[j / TILE], true) {
            let mut row = Packed::empty(self.packed.dim(), 1);
            row.push(0, &self.packed, j);
            let [column] = self.values(row.group(0));
            return self.keep(j, column);
        }
        let first = j / TILE * TILE;
        let columns: [_; TILE] = self.values(self.tiles.group(j / TILE));
        let mut wanted = Rc::default();
        for (i, column) in columns.into_iter().enumerate().take(self.len - first) {
            let kept = self.keep(first + i, column);
            if first + i == j {
                wanted = kept;
            }
        }
        wanted
    }

    fn keep(&mut self, j: usize, column: Vec<f64>) -> Rc<[f64]> {
        if (self.order.len() + 1).saturating_mul(self.len) > self.room
            && let Some(oldest) = self.order.pop_front()
        {
            self.kept[oldest] = None;
        }
        let column: Rc<[f64]> = column.into();
        self.kept[j] = Some(column.clone());
        self.order.push_back(j);
        column
    }

    /// Kernel values of `M` packed rows with all points.
    fn values<const M: usize>(&self, rows: (&[f64], &[f64])) -> [Vec<f64>; M] {
        let mut out = std::array::from_fn(|_| vec![0.0; self.len]);
        dispatch(Values { rows, packed: &self.packed, gamma: self.gamma, out: &mut out });
        out
    }
}

struct Values<'a, const M: usize> {
    rows: (&'a [f64], &'a [f64]),
    packed: &'a Packed,
    gamma: f64,
    out: &'a mut [Vec<f64>; M],
}

impl<const M: usize> Hot for Values<'_, M> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let mut values = [[0.0; PANEL]; M];
        for p in 0..self.packed.count() {
            kernel_values::<M>(self.rows, self.packed.group(p), self.gamma, &mut values);
            for (column, values) in self.out.iter_mut().zip(&values) {
                let out = &mut column[p * PANEL..];
                match out.first_chunk_mut() {
                    Some(out) => *out = *values,
                    None => out.iter_mut().zip(values).for_each(|(out, value)| *out = *value),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::tests::{normals, plain_means};

    #[test]
    fn columns_are_the_same_when_most_are_made_again() -> Result<()> {
        let table = normals(13 * 3, 1);
        let points = Points::new("points", &table, 3)?;
        let mut roomy = Columns::new(&points, 0.3, KEPT)?;
        let mut small = Columns::new(&points, 0.3, 2 * 13)?;
        for j in [0, 5, 12, 0, 7, 12, 0, 3, 4, 5, 12] {
            let column = small.column(j);
            assert_eq!(column, roomy.column(j));
            assert!(small.kept.iter().flatten().count() <= 2);
            for (i, value) in column.iter().enumerate() {
                let plain = plain_means(points.row(i), points.row(j), 3, 0.3)[0];
                assert!((value - plain).abs() < 1e-14);
            }
        }
        Ok(())
    }
}
