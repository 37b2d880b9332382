//! A borrowed table of points: what every kernel of this crate reads.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};
use crate::product::Real;

/// The element types the kernels take: `f32` and `f64`. Sealed.
pub trait Scalar: Real + Copy + Send + Sync + PartialOrd + Debug + Default + 'static {
    /// Widen without loss.
    fn to_f64(self) -> f64;
    /// Round to the nearest value of this type.
    fn from_f64(value: f64) -> Self;
}

impl Scalar for f32 {
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value as f32
    }
}

impl Scalar for f64 {
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value
    }
}

/// Rows of `dim` finite numbers, stored one after the other (row-major). There may be none.
///
/// # Examples
/// ```
/// use dpsumm_core::{Error, points::Points};
///
/// let points = Points::new("points", &[0.0, 1.0, 2.0, 3.0], 2)?;
/// assert_eq!((points.len(), points.dim(), points.row(1)), (2, 2, &[2.0, 3.0][..]));
///
/// let unknown = Points::new("points", &[0.0, f64::NAN], 2);
/// assert_eq!(unknown.unwrap_err(), Error::NonFinite { name: "points" });
/// # Ok::<(), dpsumm_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Points<'a, T> {
    name: &'static str,
    data: &'a [T],
    dim: usize,
    stop: Option<&'a AtomicBool>,
}

impl<'a, T: Scalar> Points<'a, T> {
    /// Borrow `data` as rows of `dim` numbers. `name` is the caller's name of it in errors.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] if `dim` is 0 or does not divide the length;
    /// [`Error::NonFinite`] if there is a NaN or an infinity.
    pub fn new(name: &'static str, data: &'a [T], dim: usize) -> Result<Self> {
        if dim == 0 {
            return Err(Error::invalid(name, "has no columns; at least one is needed"));
        }
        if !data.len().is_multiple_of(dim) {
            let reason = format!("{} numbers are not whole rows of {dim}", data.len());
            return Err(Error::invalid(name, reason));
        }
        // No early exit inside a chunk, so that the test runs in vector registers.
        let finite = |chunk: &[T]| chunk.iter().fold(true, |ok, x| ok & x.to_f64().is_finite());
        if !data.chunks(4096).all(finite) {
            return Err(Error::NonFinite { name });
        }
        Ok(Self { name, data, dim, stop: None })
    }

    /// The same points; kernels that may run for long return [`Error::Stopped`] soon after `stop` is
    /// set.
    pub fn until(self, stop: &'a AtomicBool) -> Self {
        Self { stop: Some(stop), ..self }
    }

    /// Other rows under the same name, stopped by the same.
    pub(crate) fn with<'b>(&self, data: &'b [T]) -> Points<'b, T>
    where
        'a: 'b,
    {
        Points { data, ..*self }
    }

    /// Asked between blocks of work.
    pub(crate) fn check_stop(&self) -> Result<()> {
        match self.stop {
            Some(stop) if stop.load(Ordering::Relaxed) => Err(Error::Stopped),
            _ => Ok(()),
        }
    }

    /// Name of the table in errors.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.data.len() / self.dim
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// Numbers in a row.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Row `i`; panics if `i >= len()`, as slices do.
    pub fn row(&self, i: usize) -> &'a [T] {
        &self.data[i * self.dim..(i + 1) * self.dim]
    }

    /// A run of rows, `range.len() * dim()` numbers; panics outside `0..len()`, as slices do.
    pub fn rows(&self, range: Range<usize>) -> &'a [T] {
        &self.data[range.start * self.dim..range.end * self.dim]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_row_major() -> Result<()> {
        let points = Points::new("points", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2)?;
        assert_eq!((points.len(), points.dim(), points.is_empty()), (3, 2, false));
        assert_eq!(points.row(1), &[3.0, 4.0]);
        assert_eq!(points.rows(1..3), &[3.0, 4.0, 5.0, 6.0]);
        assert!(Points::<f32>::new("points", &[], 3)?.is_empty());
        Ok(())
    }

    #[test]
    fn refuses_ragged_and_non_finite_tables() {
        let refused = |data: &[f64], dim| Points::new("target", data, dim).err();
        let invalid =
            |e: Option<Error>| matches!(e, Some(Error::InvalidParameter { name: "target", .. }));
        assert!(invalid(refused(&[1.0, 2.0], 0)));
        assert!(invalid(refused(&[1.0, 2.0, 3.0], 2)));
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let mut data = vec![0.0; 10_000];
            data[9_999] = bad;
            assert_eq!(refused(&data, 2), Some(Error::NonFinite { name: "target" }));
        }
    }
}
