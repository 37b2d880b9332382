//! Products with the kernel matrix of some points.

use rayon::prelude::*;

use crate::error::{Result, check_room};
use crate::kernel::{PANEL, Packed, kernel_values, origin};
use crate::points::{Points, Scalar};
use crate::simd::{Hot, dispatch};

/// Rows of a group.
const ROWS: usize = PANEL / 2;
/// Kernel values are kept up to so many numbers (512 MiB: 11,000 points), and made again beyond.
const KEPT: usize = 1 << 26;

/// The kernel matrix, a triangle of it: groups of rows, each up to the panel of its diagonal.
pub(super) struct Gram<'a, T> {
    points: &'a Points<'a, T>,
    gamma: f64,
    rows: Packed,
    columns: Packed,
    kept: Vec<Vec<Lanes>>,
}

type Lanes = [[f64; PANEL]; ROWS];

impl<'a, T: Scalar> Gram<'a, T> {
    pub(super) fn new(points: &'a Points<'a, T>, gamma: f64) -> Result<Self> {
        let origin = origin(points);
        let rows = Packed::new(points, &origin, ROWS)?;
        let columns = Packed::new(points, &origin, PANEL)?;
        let mut gram = Self { points, gamma, rows, columns, kept: Vec::new() };
        let n = points.len();
        if n.saturating_mul(n) / 2 <= KEPT {
            check_room::<f64>(points.name(), n, n.div_ceil(2))?;
            let kept = (0..gram.rows.count()).into_par_iter().map(|g| {
                points.check_stop()?;
                Ok(gram.made(g))
            });
            gram.kept = kept.collect::<Result<_>>()?;
        }
        Ok(gram)
    }

    /// Kernel values of a group's rows with the panels up to its diagonal.
    fn made(&self, group: usize) -> Vec<Lanes> {
        let mut out = vec![[[0.0; PANEL]; ROWS]; group / 2 + 1];
        dispatch(Values { gram: self, group, out: &mut out });
        out
    }

    /// The matrix times `v`. Sums are in one order, whatever the number of threads.
    pub(super) fn times(&self, v: &[f64]) -> Result<Vec<f64>> {
        let mut padded = vec![[0.0; PANEL]; self.columns.count()];
        padded.as_flattened_mut().iter_mut().zip(v).for_each(|(to, from)| *to = *from);
        let mut out = vec![[0.0; PANEL]; padded.len()];
        for group in 0..self.rows.count() {
            if group % 64 == 0 {
                self.points.check_stop()?;
            }
            let again;
            let values = match self.kept.get(group) {
                Some(values) => values,
                None => {
                    again = self.made(group);
                    &again
                }
            };
            dispatch(Product { values, group, v: &padded, out: &mut out });
        }
        let mut out = out.into_flattened();
        out.truncate(v.len());
        Ok(out)
    }
}

struct Values<'a, T> {
    gram: &'a Gram<'a, T>,
    group: usize,
    out: &'a mut [Lanes],
}

impl<T> Hot for Values<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Gram { rows, columns, gamma, .. } = self.gram;
        for (p, out) in self.out.iter_mut().enumerate() {
            kernel_values::<ROWS>(rows.group(self.group), columns.group(p), *gamma, out);
        }
    }
}

/// Adds a group's part of the product: its values left of the diagonal's panel stand for those above
/// the diagonal, too.
struct Product<'a> {
    values: &'a [Lanes],
    group: usize,
    v: &'a [[f64; PANEL]],
    out: &'a mut [[f64; PANEL]],
}

impl Hot for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Some((diagonal, left)) = self.values.split_last() else { return };
        let last = self.values.len() - 1;
        let first = self.group % 2 * ROWS;
        let mine: [f64; ROWS] = std::array::from_fn(|r| self.v[last][first + r]);
        let mut sums = [[0.0; PANEL]; ROWS];
        for ((values, v), out) in left.iter().zip(self.v).zip(&mut *self.out) {
            for ((sums, values), mine) in sums.iter_mut().zip(values).zip(mine) {
                *sums = std::array::from_fn(|j| values[j].mul_add(v[j], sums[j]));
                *out = std::array::from_fn(|j| values[j].mul_add(mine, out[j]));
            }
        }
        for (sums, values) in sums.iter_mut().zip(diagonal) {
            *sums = std::array::from_fn(|j| values[j].mul_add(self.v[last][j], sums[j]));
        }
        let out = &mut self.out[last][first..first + ROWS];
        out.iter_mut().zip(&sums).for_each(|(out, sums)| *out += sums.iter().sum::<f64>());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::tests::{normals, plain_means};
    use crate::simd::tests::same_every_way;

    #[test]
    fn products_are_the_plain_ones_kept_or_made_again_on_every_path() -> Result<()> {
        for n in [1, 3, 4, 8, 13, 50] {
            let (table, v) = (normals(n * 3, 1), normals(n, 2));
            let points = Points::new("points", &table, 3)?;
            let gram = Gram::new(&points, 0.3)?;
            let found = same_every_way(|| gram.times(&v))?;
            let again = Gram { kept: Vec::new(), ..Gram::new(&points, 0.3)? };
            assert_eq!(found, again.times(&v)?);
            for (i, found) in found.iter().enumerate() {
                let kernel = |j: usize| plain_means(points.row(i), points.row(j), 3, 0.3)[0];
                let plain: f64 = (0..n).map(|j| v[j] * kernel(j)).sum();
                assert!((found - plain).abs() < 1e-12);
            }
        }
        Ok(())
    }
}
