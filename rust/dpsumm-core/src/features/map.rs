//! What selection and releases need of a feature map, whichever it is.

use rayon::prelude::*;

use super::TASK;
use crate::error::{Error, Result, check_room};
use crate::points::{Points, Scalar};

/// A public map h of points to features whose inner products are about the kernel.
///
/// Bits depend neither on the number of threads nor on the instruction set, and a row's features
/// on that row alone.
pub trait FeatureMap: Sync {
    /// Coordinates of a point.
    fn dim(&self) -> usize;

    /// Length d of `h(x)`.
    fn n_features(&self) -> usize;

    /// Write `h(x)` for each of a few rows (n, dim) into `out` (n, d), on this thread.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] if the lengths do not fit or the points are too far for the map.
    fn transform_block<T: Scalar>(&self, rows: &[T], out: &mut [T]) -> Result<()>;

    /// Return `h(x) . direction` for every row and direction, (n, r), in one parallel pass that
    /// stores no features.
    ///
    /// `directions` holds r of them one after the other, (r, d), r at least 1. A product's bits do
    /// not depend on the other directions.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] if the dimensions differ, `directions` does not have r times d
    /// numbers, the points are too far for the map or a product overflows; [`Error::NonFinite`] for
    /// `directions`; [`Error::NoMemory`].
    fn project<T: Scalar>(&self, points: &Points<T>, directions: &[f64]) -> Result<Vec<f64>>;

    /// Write `h(x)` for every row to `out`, row-major (n, d), in parallel.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] if dimensions or the length of `out` do not fit, or the points
    /// are too far for the map.
    fn transform_into<T: Scalar>(&self, points: &Points<T>, out: &mut [T]) -> Result<()> {
        check_dim(self, points)?;
        let d = self.n_features();
        if out.len() != points.len() * d {
            let reason = format!("has {} numbers, needs {} x {d}", out.len(), points.len());
            return Err(Error::invalid("out", reason));
        }
        let rows = points.rows(0..points.len());
        rows.par_chunks(TASK * self.dim())
            .zip(out.par_chunks_mut(TASK * d))
            .try_for_each(|(rows, out)| self.transform_block(rows, out))
    }

    /// Return `h(x)` for every row, row-major (n, d), in parallel.
    ///
    /// # Errors
    /// As [`FeatureMap::transform_into`]; [`Error::NoMemory`].
    fn transform<T: Scalar>(&self, points: &Points<T>) -> Result<Vec<T>> {
        check_room::<T>(points.name(), points.len(), self.n_features())?;
        let mut out = vec![T::default(); points.len() * self.n_features()];
        self.transform_into(points, &mut out)?;
        Ok(out)
    }
}

/// Refuse points of another width than the map's.
pub(crate) fn check_dim<T: Scalar>(
    map: &(impl FeatureMap + ?Sized),
    points: &Points<T>,
) -> Result<()> {
    if points.dim() != map.dim() {
        let reason = format!("has {} columns, the features take {}", points.dim(), map.dim());
        return Err(Error::invalid(points.name(), reason));
    }
    Ok(())
}

/// Refuse directions of another length than the map's, and return how many there are.
pub(crate) fn check_directions(
    map: &(impl FeatureMap + ?Sized),
    directions: &[f64],
) -> Result<usize> {
    let d = map.n_features();
    if directions.is_empty() || !directions.len().is_multiple_of(d) {
        let reason = format!("has {} numbers, needs {d} a direction", directions.len());
        return Err(Error::invalid("direction", reason));
    }
    if !directions.iter().all(|g| g.is_finite()) {
        return Err(Error::NonFinite { name: "direction" });
    }
    Ok(directions.len() / d)
}
