//! Weights without a floor, by pairwise coordinate descent: the point with the worst slope of those
//! that have weight gives weight to the one where that helps most (as in support vector machines,
//! Fan, Chen & Lin 2005).

use super::too_small;
use crate::error::Result;
use crate::kernel::{PANEL, Packed, kernel_means, kernel_values, origin};
use crate::points::{Points, Scalar};
use crate::simd::{Hot, dispatch};

/// Kernel columns are kept up to so many numbers (256 MiB), and made again beyond.
const KEPT: usize = 1 << 25;
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
    let n = points.len();
    let means = kernel_means(points, points, gamma)?;
    let mut kernel = Columns::new(points, gamma)?;
    let mut weights = vec![1.0 / n as f64; n];
    // `K w - a`, half the gradient but for the ridge's part.
    let mut pull: Vec<f64> = means.iter().zip(attraction).map(|(mean, a)| mean - a).collect();
    for step in 0..STEPS.saturating_mul(n) {
        if step % 64 == 0 {
            points.check_stop()?;
        }
        // Of equal slopes the first.
        let (mut giver, mut steepest) = (0, f64::NEG_INFINITY);
        let (mut least, mut mean) = (f64::INFINITY, 0.0);
        for (i, (pull, &w)) in pull.iter().zip(&weights).enumerate() {
            let slope = pull + ridge * w;
            least = least.min(slope);
            mean += w * slope;
            if w > 0.0 && slope > steepest {
                (giver, steepest) = (i, slope);
            }
        }
        if 2.0 * (mean - least) <= tolerance {
            return Ok(weights);
        }
        let column = kernel.column(giver).to_vec();
        let curvature = |i: usize| 2.0 * (1.0 - column[i] + ridge).max(f64::EPSILON);
        let (mut taker, mut most) = (giver, 0.0);
        for (i, (pull, w)) in pull.iter().zip(&weights).enumerate() {
            let slack = (steepest - pull - ridge * w).max(0.0);
            let gain = slack * slack / curvature(i);
            if gain > most {
                (taker, most) = (i, gain);
            }
        }
        if taker == giver {
            return Ok(weights); // all slopes are equal up to rounding
        }
        let wanted = (steepest - pull[taker] - ridge * weights[taker]) / curvature(taker);
        let moved = wanted.min(weights[giver]);
        // All of it: exactly nothing is left.
        weights[giver] = if moved < weights[giver] { weights[giver] - moved } else { 0.0 };
        weights[taker] += moved;
        let gained = kernel.column(taker).iter().zip(&column);
        pull.iter_mut().zip(gained).for_each(|(pull, (to, from))| *pull += moved * (to - from));
    }
    Err(too_small())
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
