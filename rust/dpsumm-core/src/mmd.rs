//! Exact maximum mean discrepancy of two samples with the Gaussian kernel, in blocks.

use std::ops::Range;

use rayon::prelude::*;

use crate::error::Result;
use crate::kernel::{
    BLOCK, PANEL, Packed, Sums, check_gamma, check_pair, check_some, origin, shared_rows,
};
use crate::points::{Points, Scalar};
use crate::product::TILE;

/// Return `MMD^2(a, b) = mean k(a, a') - 2 mean k(a, b) + mean k(b, b')`, the V-statistic
/// (Gretton et al. 2012): pairs of a point with itself are included, so it is never negative.
///
/// Time grows with `(len a + len b)^2`, memory with the lengths. The three means are near-equal
/// numbers, each with an absolute error as small as in [`crate::kernel::kernel_means`], also for
/// large samples. Bits do not depend on the number of threads.
///
/// # Errors
/// [`crate::Error::InvalidParameter`] if `gamma` is not finite and positive, a sample is empty,
/// the dimensions differ, or squared distances overflow.
///
/// # Examples
/// ```
/// use dpsumm_core::{mmd::mmd2, points::Points};
///
/// let a = Points::new("a", &[0.0, 1.0], 1)?;
/// let b = Points::new("b", &[0.0, 3.0], 1)?;
/// assert_eq!(mmd2(&a, &a, 1.0)?, 0.0);
/// assert!(mmd2(&a, &b, 1.0)? > 0.1);
/// # Ok::<(), dpsumm_core::Error>(())
/// ```
pub fn mmd2<T: Scalar>(a: &Points<T>, b: &Points<T>, gamma: f64) -> Result<f64> {
    check_pair(a, b, gamma)?;
    let mixed = mean_kernel(a, b, gamma)?;
    let within = mean_kernel_self(a, gamma)? + mean_kernel_self(b, gamma)?;
    // Equal samples may leave a rounding error below zero.
    Ok((within - 2.0 * mixed).max(0.0))
}

/// Return the mean of `k(x, y)` over all rows x of `a` and y of `b`. Errors as [`mmd2`].
pub fn mean_kernel<T: Scalar>(a: &Points<T>, b: &Points<T>, gamma: f64) -> Result<f64> {
    check_pair(a, b, gamma)?;
    check_some(a)?;
    check_some(b)?;
    let origin = origin(b);
    let columns = Packed::new(b, &origin, PANEL)?;
    let total = sum_of_blocks(a, |range| {
        let rows = Packed::from_rows(a, range.clone(), &origin, TILE)?;
        let mut sums = Sums::new(&rows, &columns, gamma);
        sums.add(0..columns.count());
        Ok(of_blocks(&sums, range.len()))
    })?;
    Ok(total / a.len() as f64 / b.len() as f64)
}

/// Return the mean of `k(x, x')` over all pairs of rows of `a`, each row with itself included.
/// Computes each unordered pair of blocks once. Errors as [`mmd2`].
pub fn mean_kernel_self<T: Scalar>(a: &Points<T>, gamma: f64) -> Result<f64> {
    check_gamma(gamma)?;
    check_some(a)?;
    let origin = origin(a);
    let columns = Packed::new(a, &origin, PANEL)?;
    let total = sum_of_blocks(a, |range| {
        let rows = Packed::from_rows(a, range.clone(), &origin, TILE)?;
        let sums = || Sums::new(&rows, &columns, gamma);
        let (mut diagonal, mut beyond) = (sums(), sums());
        // A block is whole panels, so the square on the diagonal ends where a panel does.
        let past = range.end.div_ceil(PANEL);
        for first in (0..range.len()).step_by(BLOCK) {
            let rows = first..rows.norms.len().min(first + BLOCK);
            let from = (range.start + first) / PANEL;
            let to = past.min(from + BLOCK / PANEL);
            diagonal.add_to(rows.clone(), from..to);
            beyond.add_to(rows, to..past);
        }
        beyond.add(past..columns.count());
        let [diagonal, beyond] = [diagonal, beyond].map(|sums| of_blocks(&sums, range.len()));
        Ok(diagonal.into_iter().zip(beyond).map(|(one, twice)| one + 2.0 * twice).collect())
    })?;
    Ok(total / (a.len() as f64).powi(2))
}

/// The sum of each block of rows, of `len` in all.
fn of_blocks(sums: &Sums, len: usize) -> Vec<f64> {
    sums.of_rows()[..len].chunks(BLOCK).map(|sums| sums.iter().sum()).collect()
}

/// Add the sums of blocks of rows: computed in parallel, `partial(rows)` of some blocks at a time,
/// and added in their order.
fn sum_of_blocks<T: Scalar>(
    points: &Points<T>,
    partial: impl Fn(Range<usize>) -> Result<Vec<f64>> + Sync,
) -> Result<f64> {
    let (len, size) = (points.len(), shared_rows(points.dim()));
    let task = |task: usize| {
        points.check_stop()?;
        partial(task * size..len.min((task + 1) * size))
    };
    let parts: Vec<Vec<f64>> =
        (0..len.div_ceil(size)).into_par_iter().map(task).collect::<Result<_>>()?;
    // Neumaier 1974: the sum of many blocks as if in twice the precision.
    let (sum, lost) = parts.iter().flatten().fold((0.0, 0.0), |(sum, lost), &part| {
        let next: f64 = sum + part;
        (next, lost + ((sum - next) + part))
    });
    Ok(sum + lost)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::tests::{at_threads, normals, plain_means};
    use crate::simd::tests::same_every_way;

    fn plain(a: &[f64], b: &[f64], dim: usize, gamma: f64) -> f64 {
        let mean = |a: &[f64], b: &[f64]| {
            plain_means(a, b, dim, gamma).iter().sum::<f64>() / (a.len() / dim) as f64
        };
        mean(a, a) - 2.0 * mean(a, b) + mean(b, b)
    }

    #[test]
    fn equals_plain_loops() -> Result<()> {
        for (n, m, dim) in [(1, 1, 1), (1, 50, 2), (47, 48, 3), (49, 97, 1), (200, 145, 17)] {
            let a = normals(n * dim, 1);
            let b: Vec<f64> = normals(m * dim, 2).iter().map(|x| x * 1.2 + 0.3).collect();
            let gamma = 0.6 / dim as f64;
            let found = mmd2(&Points::new("a", &a, dim)?, &Points::new("b", &b, dim)?, gamma)?;
            assert!((found - plain(&a, &b, dim, gamma)).abs() < 1e-14, "{n} {m} {dim}");
        }
        Ok(())
    }

    #[test]
    fn keeps_its_accuracy_on_large_equal_laws() -> Result<()> {
        // Two points, each many times: the means are known, and near-equal.
        let table = |ones: usize| {
            (0..20_000)
                .map(|i| if i * 7919 % 20_000 < ones { 1.0 } else { 0.0 })
                .collect::<Vec<f64>>()
        };
        let (a, b) = (table(10_000), table(10_010));
        let found = mmd2(&Points::new("a", &a, 1)?, &Points::new("b", &b, 1)?, 1.0)?;
        // Weights differ by 0.0005 on both points: 2 (1 - k) 0.0005^2.
        let exact = 2.0 * (1.0 - (-1.0f64).exp()) * 0.0005f64.powi(2);
        assert!((found - exact).abs() < 1e-13, "{found} {exact}");
        Ok(())
    }

    #[test]
    fn is_zero_for_equal_samples_and_two_for_far_ones() -> Result<()> {
        let a = normals(301, 3);
        let far: Vec<f64> = (0..301).map(|i| 1e6 * i as f64 + 1e9).collect();
        let (a, far) = (Points::new("a", &a, 301)?, Points::new("far", &far, 301)?);
        assert_eq!(mmd2(&a, &a, 0.5)?, 0.0);
        assert_eq!(mmd2(&a, &far, 0.5)?, 2.0);
        Ok(())
    }

    #[test]
    fn same_bits_for_any_number_of_threads_and_on_every_path() -> Result<()> {
        let (a, b) = (normals(500 * 4, 4), normals(333 * 4, 5));
        let (a, b) = (Points::new("a", &a, 4)?, Points::new("b", &b, 4)?);
        let run = || mmd2(&a, &b, 0.2).map(f64::to_bits);
        assert_eq!(at_threads(1, run)?, at_threads(3, run)?);
        same_every_way(run)?;
        Ok(())
    }

    #[test]
    fn refuses_empty_samples() -> Result<()> {
        let some = Points::new("some", &[1.0], 1)?;
        let none = Points::<f64>::new("none", &[], 1)?;
        assert!(mmd2(&some, &none, 1.0).is_err() && mmd2(&none, &some, 1.0).is_err());
        assert!(mean_kernel_self(&some, -1.0).is_err());
        Ok(())
    }
}
