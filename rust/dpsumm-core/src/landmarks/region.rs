//! The public region of the kernel's space that records lie in: a product of simplices.

use crate::error::{Error, Result};

/// One part of the region: coordinates that are at least 0 and add up to `limit` at the most. One
/// coordinate is an interval; the cells of a category, of which one is set, are a corner each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Simplex {
    /// How many coordinates, at least 1.
    pub cells: usize,
    /// What they add up to, at the most: finite and positive.
    pub limit: f64,
}

/// Room for coordinates that were rounded to `f32`, and for the sums in [`Region::put_inside`].
const SLACK: f64 = 1e-6;

/// A product of simplices.
#[derive(Debug, Clone, PartialEq)]
pub struct Region(Vec<Simplex>);

impl Region {
    /// Errors: no part, a part without cells, or a limit that is not finite and positive.
    pub fn new(parts: Vec<Simplex>) -> Result<Self> {
        let fits = |part: &Simplex| part.cells > 0 && part.limit.is_finite() && part.limit > 0.0;
        if parts.is_empty() || !parts.iter().all(fits) {
            let reason = "needs parts of at least one cell each, with finite limits above 0";
            return Err(Error::invalid("region", reason));
        }
        Ok(Self(parts))
    }

    /// Number of coordinates.
    pub fn dim(&self) -> usize {
        self.0.iter().map(|part| part.cells).sum()
    }

    /// An upper bound of the squared distance of two rows that `put_inside` has left.
    ///
    /// An interval has its own length, a simplex that of an edge between two corners other than 0.
    pub fn squared_diameter(&self) -> f64 {
        let corners = |part: &Simplex| if part.cells == 1 { 1.0 } else { 2.0 };
        let square = |part: &Simplex| corners(part) * part.limit * part.limit;
        self.0.iter().map(square).sum::<f64>() * (1.0 + 10.0 * SLACK)
    }

    /// Move a row of finite numbers into the region; rows of the schema are in it and stay as they
    /// are. Where a row goes depends on that row alone.
    pub(super) fn put_inside(&self, row: &mut [f64]) {
        let mut rest = row;
        for part in &self.0 {
            let (cells, others) = rest.split_at_mut(part.cells);
            let most = part.limit * (1.0 + SLACK);
            cells.iter_mut().for_each(|x| *x = x.clamp(0.0, most));
            let sum: f64 = cells.iter().sum();
            if sum > most {
                cells.iter_mut().for_each(|x| *x *= part.limit / sum);
            }
            rest = others;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Source;

    fn region(parts: &[(usize, f64)]) -> Result<Region> {
        Region::new(parts.iter().map(|&(cells, limit)| Simplex { cells, limit }).collect())
    }

    #[test]
    fn corners_reach_the_diameter_and_no_row_goes_beyond() -> Result<()> {
        let parts = [(1, 2.0), (3, 0.5), (1, 1.0), (2, 4.0)];
        let region = region(&parts)?;
        let square =
            |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum() };
        let (a, b) = ([0.0, 0.5, 0.0, 0.0, 1.0, 4.0, 0.0], [2.0, 0.0, 0.0, 0.5, 0.0, 0.0, 4.0]);
        let largest = region.squared_diameter();
        assert!(square(&a, &b) <= largest && square(&a, &b) > largest * (1.0 - 2e-5));
        let mut source = Source::seeded(1, 0);
        let mut row = || {
            let far = [1.0, 3.0, 1e3, 1e300][source.below(4) as usize];
            let mut row: Vec<f64> = (0..7).map(|_| far * (2.0 * source.unit() - 0.7)).collect();
            region.put_inside(&mut row);
            row
        };
        for _ in 0..5000 {
            let (x, y) = (row(), row());
            assert!(square(&x, &y) <= largest, "{x:?} {y:?}");
            let mut rest = &x[..];
            for (cells, limit) in parts {
                assert!(rest[..cells].iter().all(|&x| x >= 0.0));
                assert!(rest[..cells].iter().sum::<f64>() <= limit * (1.0 + 2.0 * SLACK));
                rest = &rest[cells..];
            }
        }
        Ok(())
    }

    #[test]
    fn rows_of_the_region_stay_as_they_are() -> Result<()> {
        let half = 1.0 / 2f64.sqrt();
        let region = region(&[(3, half), (1, 1.0), (2, 0.1)])?;
        let mut source = Source::seeded(2, 0);
        for _ in 0..1000 {
            let mut row = [0.0; 6];
            row[source.below(3) as usize] = half;
            row[3] = source.unit();
            row[4 + source.below(2) as usize] = 0.1;
            for mut row in [row, row.map(|x| f64::from(x as f32))] {
                let before = row;
                region.put_inside(&mut row);
                assert_eq!(row, before);
            }
        }
        Ok(())
    }

    #[test]
    fn what_is_no_region_is_refused() {
        for parts in [&[][..], &[(0, 1.0)], &[(1, 0.0)], &[(2, f64::NAN)], &[(1, f64::INFINITY)]] {
            assert!(region(parts).is_err());
        }
    }
}
