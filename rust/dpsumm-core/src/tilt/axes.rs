//! Principal axes of a sample's features, and where the rows and the goal lie along them.

use nalgebra::DMatrix;

use super::BASIS;
use super::inner::{gram, inner};
use crate::points::Scalar;
use crate::simd::{Hot, dispatch};

/// Eigenvalues below this share of the largest are rounding.
const NEGLIGIBLE: f64 = 1e-6;
/// Rows for one of the basis, and the rows up to which all are in it. With twice as many for a small
/// owner the fit takes three times as long, and the points are no closer to the target.
const SPARE: usize = 4;
const FEW: usize = 64;
/// If the largest is below this, so is all that tells rows apart: they are equal.
const EQUAL: f64 = 1e-12;

/// A sample along axes of feature space, centred at its mean.
pub(super) struct Axes {
    /// Coordinates of the rows, (axes, n): axis after axis.
    pub(super) rows: Vec<f64>,
    /// Their variances.
    pub(super) variances: Vec<f64>,
    /// Coordinates of the goal.
    pub(super) goal: Vec<f64>,
    pub(super) n: usize,
    /// Rows of the basis, centred, (b, d), and what each counts for on each axis, (axes, b).
    basis: Vec<f64>,
    shares: Vec<f64>,
    d: usize,
}

impl Axes {
    /// Features (n, d) and goal (d,). The axes are those of every few rows, the variances of all.
    pub(super) fn of<T: Scalar>(features: &[T], goal: &[f64]) -> Self {
        let d = goal.len();
        let n = features.len() / d;
        let mean = dispatch(Mean { rows: features, d });
        let away: Vec<f64> = goal.iter().zip(&mean).map(|(g, mean)| g - mean).collect();
        let step = n.div_ceil((n / SPARE).clamp(FEW, BASIS));
        let (mut basis, mut others) = (Vec::new(), Vec::new());
        for (i, row) in features.chunks_exact(d).enumerate() {
            if i % step == 0 { basis.push(row) } else { others.push(row) }
        }
        let centred = |k: usize, x: T| x.to_f64() - mean[k];
        let b = basis.len();
        let among = gram(&basis, d, centred);
        let beside = inner(&others, &basis, d, centred);
        let matrix = DMatrix::from_fn(b, b, |i, j| among[i * b + j] / b as f64);
        let eigen = matrix.symmetric_eigen();
        let largest = eigen.eigenvalues.max();
        let mut shares = Vec::new();
        for (vector, &value) in eigen.eigenvectors.column_iter().zip(&eigen.eigenvalues) {
            if largest > EQUAL && value > NEGLIGIBLE * largest {
                shares.extend(vector.iter().map(|x| x / (b as f64 * value).sqrt()));
            }
        }
        let weights: Vec<&[f64]> = shares.chunks_exact(b).collect();
        let (mut among, mut beside) = (among.chunks_exact(b), beside.chunks_exact(b));
        let each = |i| if i % step == 0 { among.next() } else { beside.next() };
        let with_basis: Vec<&[f64]> = (0..n).filter_map(each).collect();
        let rows = inner(&weights, &with_basis, b, |_, x| x);
        let square = |row: &[f64]| row.iter().map(|y| y * y).sum::<f64>() / n as f64;
        let variances = rows.chunks_exact(n).map(square).collect();
        let centred =
            |row: &&[T]| row.iter().zip(&mean).map(|(x, mean)| x.to_f64() - mean).collect();
        let basis = basis.iter().map(centred).collect::<Vec<Vec<f64>>>().concat();
        let each: Vec<&[f64]> = basis.chunks_exact(d).collect();
        let goal = inner(&each, &[&away], d, |_, x| x);
        let goal = inner(&weights, &[&goal], b, |_, x| x);
        Self { rows, variances, goal, n, basis, shares, d }
    }

    /// Return the coordinates of the rows on axis j.
    pub(super) fn along(&self, j: usize) -> &[f64] {
        &self.rows[j * self.n..(j + 1) * self.n]
    }

    /// Return the direction (d,) in feature space of numbers on some axes.
    pub(super) fn direction(&self, chosen: &[usize], theta: &[f64]) -> Vec<f64> {
        let b = self.basis.len() / self.d;
        let mut weights = vec![0.0; b];
        for (&j, theta) in chosen.iter().zip(theta) {
            add(&mut weights, *theta, &self.shares[j * b..(j + 1) * b]);
        }
        let mut direction = vec![0.0; self.d];
        for (weight, row) in weights.iter().zip(self.basis.chunks_exact(self.d)) {
            add(&mut direction, *weight, row);
        }
        direction
    }
}

/// Add `factor * row` to `sum`.
#[inline(always)]
pub(super) fn add(sum: &mut [f64], factor: f64, row: &[f64]) {
    sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += factor * x);
}

/// The mean of rows (n, d).
struct Mean<'a, T> {
    rows: &'a [T],
    d: usize,
}

impl<T: Scalar> Hot for Mean<'_, T> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn run(self) -> Vec<f64> {
        let share = 1.0 / (self.rows.len() / self.d) as f64;
        let mut mean = vec![0.0; self.d];
        for row in self.rows.chunks_exact(self.d) {
            mean.iter_mut().zip(row).for_each(|(mean, x)| *mean += share * x.to_f64());
        }
        mean
    }
}
