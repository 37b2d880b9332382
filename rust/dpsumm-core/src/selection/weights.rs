//! Weights of chosen points that bring them closest to a target.

use super::check;
use crate::error::{Error, Result};
use crate::kernel::{PANEL, Packed, kernel_values, origin};
use crate::points::{Points, Scalar};
use crate::simd::{Hot, dispatch};

/// Kernel columns are kept up to so many numbers (256 MiB), and made again beyond.
const KEPT: usize = 1 << 25;
/// Steps for each point, at most: a guard, since the method converges.
const STEPS: usize = 1000;

/// Return the weights w >= 0, of sum 1, that minimise
/// `sum w_i w_j k(x_i, x_j) - 2 sum w_i a_i + ridge sum w_i^2`,
/// which is `MMD^2` to the target, less a constant, and a ridge.
///
/// `attraction` (n,): each point's mean kernel value with the target. Pairwise coordinate descent:
/// the point with the worst gradient of those that have weight gives weight to the one where that
/// helps most (as in support vector machines, Fan, Chen & Lin 2005). The result is at most
/// `tolerance` above the least value: the gradients of all points that have weight lie within half
/// of it above the least gradient.
///
/// # Errors
/// [`Error::InvalidParameter`] if there are no points, `gamma` or `tolerance` is not finite and
/// positive, `ridge` is negative or not finite, lengths do not fit or squared distances overflow,
/// or the steps did not suffice for the tolerance; [`Error::NonFinite`] for `attraction`.
pub fn weights<T: Scalar>(
    points: &Points<T>,
    attraction: &[f64],
    gamma: f64,
    ridge: f64,
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
    let n = points.len();
    let mut kernel = Columns::new(points, gamma)?;
    let mut weights = vec![1.0 / n as f64; n];
    // Half the gradient: K w - a + ridge w.
    let mut slope: Vec<f64> = attraction.iter().map(|a| ridge / n as f64 - a).collect();
    for j in 0..n {
        points.check_stop()?;
        let add = |(slope, k): (&mut f64, &f64)| *slope += k / n as f64;
        slope.iter_mut().zip(kernel.column(j)).for_each(add);
    }
    for step in 0..STEPS.saturating_mul(n) {
        if step % 64 == 0 {
            points.check_stop()?;
        }
        let giver = steepest(&slope, |i| weights[i] > 0.0);
        let least = slope.iter().copied().fold(f64::INFINITY, f64::min);
        if slope[giver] - least <= tolerance / 2.0 {
            return Ok(weights);
        }
        let column = kernel.column(giver).to_vec();
        let curvature = |i: usize| 2.0 * (1.0 - column[i] + ridge).max(f64::EPSILON);
        let gain = |i: usize| {
            let slack = (slope[giver] - slope[i]).max(0.0);
            slack * slack / curvature(i)
        };
        let taker = (0..n).filter(|&i| i != giver).fold(None, |best: Option<(f64, usize)>, i| {
            let gain = gain(i);
            if best.is_none_or(|(most, _)| gain > most) { Some((gain, i)) } else { best }
        });
        let Some((_, taker)) = taker else { return Ok(weights) };
        let wanted = (slope[giver] - slope[taker]) / curvature(taker);
        let moved = wanted.min(weights[giver]);
        // All of it: exactly nothing is left.
        weights[giver] = if moved < weights[giver] { weights[giver] - moved } else { 0.0 };
        weights[taker] += moved;
        let gained = kernel.column(taker).iter().zip(&column);
        slope.iter_mut().zip(gained).for_each(|(slope, (to, from))| *slope += moved * (to - from));
        slope[giver] -= ridge * moved;
        slope[taker] += ridge * moved;
    }
    Err(Error::invalid("tolerance", "is too small for these points; use a larger one or a ridge"))
}

/// Return the first index with the largest value of those allowed; 0 if none is.
fn steepest(values: &[f64], allowed: impl Fn(usize) -> bool) -> usize {
    let best = (0..values.len()).filter(|&i| allowed(i));
    best.fold(None, |best: Option<usize>, i| match best {
        Some(b) if values[b] >= values[i] => best,
        _ => Some(i),
    })
    .unwrap_or(0)
}

/// Columns of the kernel matrix, made when asked for.
struct Columns {
    gamma: f64,
    packed: Packed,
    n: usize,
    kept: Vec<Option<Vec<f64>>>,
    last: Vec<f64>,
}

impl Columns {
    fn new<T: Scalar>(points: &Points<T>, gamma: f64) -> Result<Self> {
        let packed = Packed::new(points, &origin(points), PANEL)?;
        let n = points.len();
        let keep = n.saturating_mul(n) <= KEPT;
        Ok(Self { gamma, packed, n, kept: vec![None; if keep { n } else { 0 }], last: Vec::new() })
    }

    fn column(&mut self, j: usize) -> &[f64] {
        if self.kept.is_empty() {
            self.last = self.made(j);
            return &self.last;
        }
        if self.kept[j].is_none() {
            self.kept[j] = Some(self.made(j));
        }
        self.kept[j].as_deref().unwrap_or(&[])
    }

    fn made(&self, j: usize) -> Vec<f64> {
        let mut row = Packed::empty(self.packed.dim(), 1);
        row.push(0, &self.packed, j);
        let mut out = vec![0.0; self.packed.count() * PANEL];
        dispatch(Column { row: &row, packed: &self.packed, gamma: self.gamma, out: &mut out });
        out.truncate(self.n);
        out
    }
}

struct Column<'a> {
    row: &'a Packed,
    packed: &'a Packed,
    gamma: f64,
    out: &'a mut [f64],
}

impl Hot for Column<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let panels = self.out.as_chunks_mut::<PANEL>().0;
        for (p, out) in panels.iter_mut().enumerate() {
            let out = std::slice::from_mut(out);
            kernel_values::<1>(self.row.group(0), self.packed.group(p), self.gamma, out);
        }
    }
}
