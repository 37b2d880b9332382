//! The tilt along the axes: how much signal there is, and the ridge fit.

use nalgebra::{DMatrix, DVector};

use super::axes::{Axes, add};
use super::inner::gram;
use crate::exp::exp_nonpositive;
use crate::simd::{Hot, dispatch};

/// The ridge is so many times noise over signal, and an axis counts if its variance is above a
/// share of the ridge.
pub const PENALTY: f64 = 3.0;
const COUNTS: f64 = 0.1;
/// An axis can tell something if its variance is above this share of the noise's.
const VISIBLE: f64 = 0.02;
/// Strengths of the signal that are tried: `exp(-9)` to `exp(9)`, in steps of `exp(1/8)`.
const STRENGTHS: std::ops::RangeInclusive<i32> = -72..=72;
/// Newton's steps at most, halvings of one, and the decrease that ends them.
const STEPS: usize = 25;
const HALVINGS: usize = 20;
const DONE: f64 = 1e-8;
/// Halvings of the interval of factors in which the longest tilt allowed is looked for.
const BISECTIONS: usize = 30;

/// A tilt: numbers on some of the axes.
pub(super) struct Tilt {
    pub(super) axes: Vec<usize>,
    pub(super) theta: Vec<f64>,
}

/// Return the ridge fit of the exponential family to the goal, of which each coordinate has noise of
/// variance `noise`.
pub(super) fn fit(axes: &Axes, noise: f64) -> Tilt {
    // The sample's mean is not exact either, so the noise is never 0.
    let noise = |j: usize| noise + axes.variances[j] / axes.n as f64;
    let all = 0..axes.variances.len();
    let mut used: Vec<usize> = all.filter(|&j| axes.variances[j] > VISIBLE * noise(j)).collect();
    let strength = strength(axes, &used, noise);
    let ridge = |j: usize| PENALTY * noise(j) / strength;
    let widest = |&i: &usize, &j: &usize| axes.variances[i].total_cmp(&axes.variances[j]);
    let most = used.iter().copied().max_by(widest);
    used.retain(|&j| axes.variances[j] > COUNTS * ridge(j) || Some(j) == most);
    let ridge = used.iter().map(|&j| ridge(j)).collect();
    let theta = newton(&Family::new(axes, &used, ridge));
    Tilt { axes: used, theta }
}

/// Return the strength `t` under which the goal's coordinates are likeliest, if they are normal
/// with variances `t v_j + noise(j)` on axes of variance `v_j`.
fn strength(axes: &Axes, visible: &[usize], noise: impl Fn(usize) -> f64) -> f64 {
    let minus_likelihood = |strength: f64| {
        let terms = visible.iter().map(|&j| {
            let (variance, goal) = (axes.variances[j], axes.goal[j]);
            let total = strength * variance + noise(j);
            libm::log(total) + goal * goal / total
        });
        terms.sum::<f64>()
    };
    let tried = STRENGTHS.map(|step| libm::exp(f64::from(step) / 8.0));
    let scored = tried.map(|strength| (minus_likelihood(strength), strength));
    scored.min_by(|a, b| a.0.total_cmp(&b.0)).map_or(1.0, |(_, strength)| strength)
}

/// The rows on the axes used, and the function that the fit minimises:
/// `log mean exp(theta . y) - theta . goal + sum of ridge theta^2 / 2`.
struct Family<'a> {
    rows: Vec<&'a [f64]>,
    goal: Vec<f64>,
    ridge: Vec<f64>,
    n: usize,
}

impl<'a> Family<'a> {
    fn new(axes: &'a Axes, used: &[usize], ridge: Vec<f64>) -> Self {
        let rows = used.iter().map(|&j| axes.along(j)).collect();
        Self { rows, goal: used.iter().map(|&j| axes.goal[j]).collect(), ridge, n: axes.n }
    }

    /// Return the rows' ratios at `theta`, of sum 1, and the function's value.
    fn at(&self, theta: &[f64]) -> (Vec<f64>, f64) {
        let (mut ratios, largest, sum) = ratios(&self.rows, theta, 1.0, self.n);
        ratios.iter_mut().for_each(|r| *r /= sum);
        let square: f64 = theta.iter().zip(&self.ridge).map(|(x, ridge)| ridge * x * x).sum();
        let away: f64 = theta.iter().zip(&self.goal).map(|(x, goal)| x * goal).sum();
        let value = largest + libm::log(sum / self.n as f64) - away + square / 2.0;
        (ratios, value)
    }

    /// Return gradient and curvature at `theta`, where the rows have `ratios`.
    fn slope(&self, theta: &[f64], ratios: &[f64]) -> (DVector<f64>, DMatrix<f64>) {
        let roots: Vec<f64> = ratios.iter().map(|r| r.sqrt()).collect();
        let means = dispatch(Means { rows: &self.rows, ratios });
        let mut scaled = Vec::with_capacity(self.rows.len() * self.n);
        for (row, mean) in self.rows.iter().zip(&means) {
            scaled.extend(row.iter().zip(&roots).map(|(y, root)| (y - mean) * root));
        }
        let scaled: Vec<&[f64]> = scaled.chunks_exact(self.n).collect();
        let covariance = gram(&scaled, self.n, |_, x| x);
        let k = means.len();
        let mut curvature = DMatrix::from_vec(k, k, covariance);
        self.ridge.iter().enumerate().for_each(|(j, ridge)| curvature[(j, j)] += ridge);
        let slope = |j: usize| means[j] - self.goal[j] + self.ridge[j] * theta[j];
        (DVector::from_fn(k, |j, _| slope(j)), curvature)
    }
}

/// Minimise by Newton's method with step halving, from 0.
fn newton(family: &Family) -> Vec<f64> {
    let mut theta = vec![0.0; family.rows.len()];
    let (mut ratios, mut value) = family.at(&theta);
    for _ in 0..STEPS {
        let (slope, curvature) = family.slope(&theta, &ratios);
        // Rounding may hide a tiny ridge: what is reached by then is a tilt as well.
        let Some(factor) = curvature.cholesky() else { break };
        let step = factor.solve(&slope);
        let decrease = slope.dot(&step);
        let mut length = 1.0;
        let next = (0..HALVINGS).find_map(|_| {
            let mut tried = theta.clone();
            add(&mut tried, -length, step.as_slice());
            let (ratios, found) = family.at(&tried);
            length /= 2.0;
            (found < value - 1e-4 * length * decrease).then_some((tried, ratios, found))
        });
        let Some(next) = next else { break };
        (theta, ratios, value) = next;
        if decrease < DONE {
            break;
        }
    }
    theta
}

/// Shorten a tilt until its ratios' effective sample size is the share `least` of the rows or more.
pub(super) fn shortened(axes: &Axes, tilt: &mut Tilt, least: f64) {
    let rows: Vec<&[f64]> = tilt.axes.iter().map(|&j| axes.along(j)).collect();
    let share = |factor: f64| {
        let (ratios, _, sum) = ratios(&rows, &tilt.theta, factor, axes.n);
        sum * sum / (axes.n as f64 * ratios.iter().map(|r| r * r).sum::<f64>())
    };
    if share(1.0) >= least {
        return;
    }
    let (mut good, mut bad) = (0.0, 1.0);
    for _ in 0..BISECTIONS {
        let middle = (good + bad) / 2.0;
        if share(middle) >= least { good = middle } else { bad = middle }
    }
    tilt.theta.iter_mut().for_each(|x| *x *= good);
}

/// Return `exp(factor theta . y - largest)` of all rows, that largest exponent, and the sum.
fn ratios(rows: &[&[f64]], theta: &[f64], factor: f64, n: usize) -> (Vec<f64>, f64, f64) {
    dispatch(Ratios { rows, theta, factor, n })
}

struct Ratios<'a> {
    rows: &'a [&'a [f64]],
    theta: &'a [f64],
    factor: f64,
    n: usize,
}

impl Hot for Ratios<'_> {
    type Output = (Vec<f64>, f64, f64);

    #[inline(always)]
    fn run(self) -> Self::Output {
        let mut exponents = vec![0.0; self.n];
        for (row, theta) in self.rows.iter().zip(self.theta) {
            add(&mut exponents, self.factor * theta, row);
        }
        let largest = exponents.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        exponents.iter_mut().for_each(|x| *x = exp_nonpositive(*x - largest));
        let sum = exponents.iter().sum();
        (exponents, largest, sum)
    }
}

/// Products of rows with one other, each the plain sum in order. A sum waits for each of its
/// additions, so several go on at once.
struct Means<'a> {
    rows: &'a [&'a [f64]],
    ratios: &'a [f64],
}

impl Hot for Means<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn run(self) -> Vec<f64> {
        const SUMS: usize = 8;
        let mut means = Vec::with_capacity(self.rows.len());
        for some in self.rows.chunks(SUMS) {
            let row = |i: usize| &some[i.min(some.len() - 1)][..self.ratios.len()];
            let rows: [&[f64]; SUMS] = std::array::from_fn(row);
            let mut sums = [-0.0; SUMS];
            for (i, ratio) in self.ratios.iter().enumerate() {
                sums = std::array::from_fn(|j| sums[j] + rows[j][i] * ratio);
            }
            means.extend_from_slice(&sums[..some.len()]);
        }
        means
    }
}
