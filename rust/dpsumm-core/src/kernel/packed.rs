//! Rows laid out for the inner loop of kernels.

use rayon::prelude::*;

use super::BLOCK;
use crate::error::{Error, Result};
use crate::points::{Points, Scalar};
use crate::product::pack_row;
use crate::simd::{Hot, dispatch};

/// Rows moved to an origin and packed in groups of `width`, coordinate after coordinate. The last
/// group is filled up with rows at infinite distance, whose kernel is 0.
pub(crate) struct Packed {
    width: usize,
    dim: usize,
    pub(super) values: Vec<f64>,
    /// Squared L2 norms.
    pub(crate) norms: Vec<f64>,
}

impl Packed {
    /// Pack all rows, in parallel.
    pub(crate) fn new<T: Scalar>(points: &Points<T>, origin: &[f64], width: usize) -> Result<Self> {
        Self::from_rows(points, 0..points.len(), origin, width)
    }

    /// Pack a run of rows.
    pub(crate) fn from_rows<T: Scalar>(
        points: &Points<T>,
        range: std::ops::Range<usize>,
        origin: &[f64],
        width: usize,
    ) -> Result<Self> {
        let dim = points.dim();
        let groups = range.len().div_ceil(width);
        let mut packed = Self {
            width,
            dim,
            values: vec![0.0; groups * width * dim],
            norms: vec![f64::INFINITY; groups * width],
        };
        let group = |(g, (values, norms)): (usize, (&mut [f64], &mut [f64]))| {
            let first = range.start + g * width;
            let rows = points.rows(first..range.end.min(first + width));
            fill(values, norms, rows, origin)
        };
        let values = packed.values.par_chunks_mut(width * dim).with_min_len(BLOCK);
        let ok = values.zip(packed.norms.par_chunks_mut(width)).enumerate().all(group);
        if !ok {
            let reason = "squared distances overflow; scale the points down";
            return Err(Error::invalid(points.name(), reason));
        }
        Ok(packed)
    }

    /// Pack one row of points that were packed before, so that nothing can overflow: a group of its
    /// own.
    pub(crate) fn one<T: Scalar>(points: &Points<T>, row: usize, origin: &[f64]) -> Self {
        let (mut values, mut norms) = (vec![0.0; points.dim()], vec![0.0]);
        fill(&mut values, &mut norms, points.row(row), origin);
        Self { width: 1, dim: points.dim(), values, norms }
    }

    /// Number of coordinates of a row.
    pub(crate) fn dim(&self) -> usize {
        self.dim
    }

    /// Number of groups.
    pub(crate) fn count(&self) -> usize {
        self.norms.len() / self.width
    }

    /// Packed coordinates and norms of a group.
    #[inline(always)]
    pub(crate) fn group(&self, g: usize) -> (&[f64], &[f64]) {
        let size = self.width * self.dim;
        (&self.values[g * size..][..size], &self.norms[g * self.width..][..self.width])
    }

    /// Packed coordinates and norms of all groups.
    #[inline(always)]
    pub(crate) fn all(&self) -> (&[f64], &[f64]) {
        (&self.values, &self.norms)
    }

    /// Copy row `i` of `other` behind the `len` rows held so far.
    pub(crate) fn push(&mut self, len: usize, other: &Self, i: usize) {
        let lane = len % self.width;
        if lane == 0 {
            self.values.resize(self.values.len() + self.width * self.dim, 0.0);
            self.norms.resize(self.norms.len() + self.width, f64::INFINITY);
        }
        let group = len - lane;
        let (values, norms) = other.group(i / other.width);
        let row = values.iter().skip(i % other.width).step_by(other.width);
        let group = self.values[group * self.dim..].iter_mut().skip(lane).step_by(self.width);
        group.zip(row).for_each(|(to, from)| *to = *from);
        self.norms[len] = norms[i % other.width];
    }

    /// No rows yet.
    pub(crate) fn empty(dim: usize, width: usize) -> Self {
        Self { width, dim, values: Vec::new(), norms: Vec::new() }
    }
}

/// Pack the rows of one group; whether their squared norms are far from overflow.
fn fill<T: Scalar>(values: &mut [f64], norms: &mut [f64], rows: &[T], origin: &[f64]) -> bool {
    /// Sums of a few squared norms stay finite.
    const LARGEST: f64 = 1e300;
    let width = norms.len();
    let count = rows.len() / origin.len();
    for (lane, row) in rows.chunks_exact(origin.len()).enumerate() {
        pack_row(values, width, lane, row, |k, x| x.to_f64() - origin[k]);
    }
    let norms = &mut norms[..count];
    dispatch(Norms { values, width, norms });
    norms.iter().all(|&norm| norm < LARGEST)
}

/// Squared norms of packed rows, as the same chain of operations as their products.
struct Norms<'a> {
    values: &'a [f64],
    width: usize,
    norms: &'a mut [f64],
}

impl Hot for Norms<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.norms.fill(0.0);
        for lanes in self.values.chunks_exact(self.width) {
            for (norm, &x) in self.norms.iter_mut().zip(lanes) {
                *norm = x.mul_add(x, *norm);
            }
        }
    }
}
