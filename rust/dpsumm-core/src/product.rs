//! Dot products of a tile of rows with a panel of columns, held in registers: the inner loop of
//! features, kernels and MMD.
//!
//! Each dot product is one chain of fused multiply-adds over the coordinates in order, so its bits
//! do not depend on the tile, the panel or the lane it was computed in.

use std::fmt::Debug;

use crate::simd::turn_by_turn;
use crate::{exp, trig};

/// Rows in a tile. Six rows times two vectors are twelve of AVX2's sixteen registers.
pub(crate) const TILE: usize = 6;

/// Arithmetic of an element type, and how many of it make a panel.
pub trait Real: Copy {
    /// One number for each column of a panel: two AVX2 vectors.
    type Lanes: Lanes<Self>;

    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;

    /// `self * a + b` with one rounding.
    fn fused(self, a: Self, b: Self) -> Self;

    /// Replace angles by their cosines and fill `sines`; false if an angle is NaN or infinite.
    fn sincos(angles: &mut [Self::Lanes], sines: &mut [Self::Lanes]) -> bool;

    /// Replace products of points by their kernel `exp(-|x - y|^2)`, given the squared norms of rows
    /// and of columns.
    fn kernel(products: &mut [Self::Lanes], rows: &[Self], columns: &Self::Lanes);

    /// The table in this precision.
    fn of(table: &Both) -> &[Self];
}

/// A table rounded to both element types.
#[derive(Debug, Clone)]
pub struct Both {
    pub(crate) single: Vec<f32>,
    pub(crate) double: Vec<f64>,
}

/// A row of `WIDTH` numbers that live in vector registers.
pub trait Lanes<R>: Copy + PartialEq + Send + Sync + Debug {
    /// How many.
    const WIDTH: usize;
    /// All zero.
    const ZERO: Self;

    /// View a packed panel as its rows; a remainder is left out.
    fn split(packed: &[R]) -> &[Self];

    /// Add `x * weights`, lane by lane, each with one rounding.
    fn add_product(&mut self, x: R, weights: &Self);

    /// The numbers.
    fn values(&self) -> &[R];

    /// Write as many of the numbers as `out` has room for.
    fn store(&self, out: &mut [R]);
}

macro_rules! real {
    ($real:ty, $width:literal, $sincos:path, $exp:path, $field:ident) => {
        impl Real for $real {
            type Lanes = [$real; $width];
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;

            #[inline(always)]
            fn fused(self, a: Self, b: Self) -> Self {
                self.mul_add(a, b)
            }

            #[inline(always)]
            fn sincos(angles: &mut [Self::Lanes], sines: &mut [Self::Lanes]) -> bool {
                $sincos(angles.as_flattened_mut(), sines.as_flattened_mut())
            }

            #[inline(always)]
            fn kernel(products: &mut [Self::Lanes], rows: &[Self], columns: &Self::Lanes) {
                for (values, &row) in products.iter_mut().zip(rows) {
                    turn_by_turn();
                    let products = *values;
                    *values = std::array::from_fn(|j| {
                        let square = products[j].mul_add(-2.0, row + columns[j]);
                        // Rounding may leave a negative square.
                        -if square > 0.0 { square } else { 0.0 }
                    });
                }
                products.as_flattened_mut().iter_mut().for_each(|value| *value = $exp(*value));
            }

            fn of(table: &Both) -> &[Self] {
                &table.$field
            }
        }

        impl Lanes<$real> for [$real; $width] {
            const WIDTH: usize = $width;
            const ZERO: Self = [0.0; $width];

            #[inline(always)]
            fn split(packed: &[$real]) -> &[Self] {
                packed.as_chunks().0
            }

            #[inline(always)]
            fn add_product(&mut self, x: $real, weights: &Self) {
                for (sum, &w) in self.iter_mut().zip(weights) {
                    *sum = x.mul_add(w, *sum);
                }
            }

            #[inline(always)]
            fn values(&self) -> &[$real] {
                self
            }

            #[inline(always)]
            fn store(&self, out: &mut [$real]) {
                // A constant length is a vector store; a variable one is a loop or a call.
                match out.first_chunk_mut() {
                    Some(out) => *out = *self,
                    None => out.iter_mut().zip(self).for_each(|(out, x)| *out = *x),
                }
            }
        }
    };
}

real!(f32, 16, trig::sincos_f32, exp::exp_nonpositive_f32, single);
real!(f64, 8, trig::sincos_f64, exp::exp_nonpositive, double);

/// Write the dot products of `M` rows with the columns of a panel to `out`, a row of lanes each.
///
/// `tile` holds coordinate after coordinate, each for `M` rows; `panel` the same for
/// `Lanes::WIDTH` columns.
#[inline(always)]
pub(crate) fn products<R: Real, const M: usize>(tile: &[R], panel: &[R], out: &mut [R::Lanes; M]) {
    *out = [R::Lanes::ZERO; M];
    add_products(tile, panel, out);
}

/// Go on with dot products of which `out` has the coordinates so far; see [`products`].
#[inline(always)]
pub(crate) fn add_products<R: Real, const M: usize>(
    tile: &[R],
    panel: &[R],
    out: &mut [R::Lanes; M],
) {
    let mut sums = *out;
    for (rows, columns) in tile.as_chunks::<M>().0.iter().zip(R::Lanes::split(panel)) {
        for (sum, &x) in sums.iter_mut().zip(rows) {
            sum.add_product(x, columns);
        }
    }
    *out = sums;
}

/// Write `row` into lane `lane` of a panel or tile of `width` lanes, each number through `convert`
/// (which also gets its coordinate).
pub(crate) fn pack_row<T: Copy, R>(
    panel: &mut [R],
    width: usize,
    lane: usize,
    row: &[T],
    convert: impl Fn(usize, T) -> R,
) {
    for ((k, &x), lanes) in row.iter().enumerate().zip(panel.chunks_exact_mut(width)) {
        lanes[lane] = convert(k, x);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Hot, dispatch, tests::same_every_way};

    struct Products<'a, R>(&'a [R], &'a [R]);

    impl<R: Real> Hot for Products<'_, R> {
        type Output = [R::Lanes; TILE];

        #[inline(always)]
        fn run(self) -> Self::Output {
            let mut out = [R::Lanes::ZERO; TILE];
            products(self.0, self.1, &mut out);
            out
        }
    }

    /// Bits of the products on a grid of awkward numbers, and of a plain chain of `fused`.
    fn compare<R: Real + PartialEq + Debug>(dim: usize, number: impl Fn(usize) -> R, zero: R) {
        let width = R::Lanes::WIDTH;
        let rows: Vec<Vec<R>> =
            (0..TILE).map(|i| (0..dim).map(|k| number(i * 31 + k * 7 + 1)).collect()).collect();
        let columns: Vec<Vec<R>> =
            (0..width).map(|j| (0..dim).map(|k| number(j * 17 + k * 3 + 5)).collect()).collect();
        let (mut tile, mut panel) = (vec![zero; TILE * dim], vec![zero; width * dim]);
        for (i, row) in rows.iter().enumerate() {
            pack_row(&mut tile, TILE, i, row, |_, x| x);
        }
        for (j, column) in columns.iter().enumerate() {
            pack_row(&mut panel, width, j, column, |_, x| x);
        }
        let found = same_every_way(|| dispatch(Products(&tile, &panel)));
        for (i, row) in rows.iter().enumerate() {
            for (j, column) in columns.iter().enumerate() {
                let chain = row.iter().zip(column).fold(zero, |sum, (&x, &w)| x.fused(w, sum));
                assert_eq!(found[i].values()[j], chain);
            }
        }
    }

    #[test]
    fn products_are_chains_of_fused_operations_on_every_path() {
        for dim in [1, 2, 7, 64, 131] {
            compare(dim, |i| ((i * 2_654_435_761) as f32).sin(), 0.0f32);
            compare(dim, |i| ((i * 2_654_435_761) as f64).sin(), 0.0f64);
        }
    }
}
