//! Nearest rows of another table, exact, by brute force in blocks.
//!
//! A row's squares and places depend on that row and the other table alone: not on the rows beside
//! it, the number of threads or the processor.

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::kernel::{PANEL, Packed, check_columns, origin, shared_rows};
use crate::points::{Points, Scalar};
use crate::product::{TILE, products};
use crate::simd::{Hot, dispatch, turn_by_turn};

/// Return, for each row of `points`, the places among `others` and squared distances of the `count`
/// nearest, nearest first, equal ones in their order.
///
/// Computed in f64 as `|x|^2 + |y|^2 - 2 x . y` about the middle of `others`: equal rows have
/// distance exactly 0.
///
/// # Errors
/// [`Error::InvalidParameter`] if `count` is 0 or more than `others` has, the dimensions differ, or
/// squared distances overflow.
///
/// # Examples
/// ```
/// use dpsumm_core::{nearest::nearest, points::Points};
///
/// let points = Points::new("points", &[0.0], 1)?;
/// let others = Points::new("others", &[3.0, -1.0, 0.0], 1)?;
/// assert_eq!(nearest(&points, &others, 2)?, (vec![2, 1], vec![0.0, 1.0]));
/// # Ok::<(), dpsumm_core::Error>(())
/// ```
pub fn nearest<T: Scalar>(
    points: &Points<T>,
    others: &Points<T>,
    count: usize,
) -> Result<(Vec<i64>, Vec<f64>)> {
    check_columns(points, others)?;
    if count == 0 || count > others.len() {
        let reason = format!("must be from 1 to {}, the rows of {}", others.len(), others.name());
        return Err(Error::invalid("count", reason));
    }
    let origin = origin(others);
    let columns = Packed::new(others, &origin, PANEL)?;
    let size = shared_rows(points.dim());
    let mut places = vec![0; points.len() * count];
    let mut squares = vec![f64::INFINITY; points.len() * count];
    let tasks = places.par_chunks_mut(size * count).zip(squares.par_chunks_mut(size * count));
    tasks.enumerate().try_for_each(|(task, (places, squares))| {
        points.check_stop()?;
        let first = task * size;
        let rows = Packed::from_rows(points, first..first + places.len() / count, &origin, TILE)?;
        dispatch(Scan { rows: &rows, columns: &columns, count, places, squares });
        Ok(())
    })?;
    Ok((places, squares))
}

/// Rows in tiles, all panels of columns, and the nearest so far of each row, in order.
struct Scan<'a> {
    rows: &'a Packed,
    columns: &'a Packed,
    count: usize,
    places: &'a mut [i64],
    squares: &'a mut [f64],
}

impl Hot for Scan<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for p in 0..self.columns.count() {
            let (panel, norms) = self.columns.group(p);
            let Some(norms) = norms.first_chunk::<PANEL>() else { return };
            let found = self.places.chunks_mut(TILE * self.count);
            let found = found.zip(self.squares.chunks_mut(TILE * self.count));
            for (t, (places, squares)) in found.enumerate() {
                let (tile, row_norms) = self.rows.group(t);
                let mut dots = [[0.0; PANEL]; TILE];
                products::<f64, TILE>(tile, panel, &mut dots);
                let rows = places.chunks_mut(self.count).zip(squares.chunks_mut(self.count));
                for ((dots, &norm), (places, squares)) in dots.iter().zip(row_norms).zip(rows) {
                    turn_by_turn();
                    let away: [f64; PANEL] = std::array::from_fn(|j| {
                        let square = dots[j].mul_add(-2.0, norm + norms[j]);
                        // Rounding may leave a negative square.
                        if square > 0.0 { square } else { 0.0 }
                    });
                    let worst = squares[self.count - 1];
                    if away.iter().any(|&square| square < worst) {
                        for (j, &square) in away.iter().enumerate() {
                            insert(square, (p * PANEL + j) as i64, places, squares);
                        }
                    }
                }
            }
        }
    }
}

/// Keep a column if it is nearer than the farthest that is kept.
#[inline(always)]
fn insert(square: f64, place: i64, places: &mut [i64], squares: &mut [f64]) {
    let mut at = squares.len() - 1;
    if square >= squares[at] {
        return;
    }
    while at > 0 && square < squares[at - 1] {
        (squares[at], places[at]) = (squares[at - 1], places[at - 1]);
        at -= 1;
    }
    (squares[at], places[at]) = (square, place);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::tests::{at_threads, normals};
    use crate::simd::tests::same_every_way;

    fn points(data: &[f64], dim: usize) -> Points<'_, f64> {
        Points::new("points", data, dim).expect("finite numbers")
    }

    fn found(a: &[f64], b: &[f64], dim: usize, count: usize) -> (Vec<i64>, Vec<f64>) {
        nearest(&points(a, dim), &points(b, dim), count).expect("what fits")
    }

    #[test]
    fn it_finds_what_sorting_all_distances_finds() {
        for (n, m, dim, count) in [(1, 1, 1, 1), (50, 9, 3, 9), (7, 200, 5, 10), (100, 49, 2, 4)] {
            let (a, b) = (normals(n * dim, 1), normals(m * dim, 2));
            let (places, squares) = found(&a, &b, dim, count);
            for (i, x) in a.chunks(dim).enumerate() {
                let square = |y: &[f64]| x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum::<f64>();
                let mut all: Vec<(f64, i64)> =
                    b.chunks(dim).zip(0..).map(|(y, j)| (square(y), j)).collect();
                all.sort_by(|a, b| a.0.total_cmp(&b.0));
                for (k, &(wanted, place)) in all[..count].iter().enumerate() {
                    assert_eq!(places[i * count + k], place);
                    assert!((squares[i * count + k] - wanted).abs() < 1e-12);
                }
            }
        }
    }

    #[test]
    fn equal_rows_come_first_in_their_order() {
        let others = [3.0, 1.0, 2.0, 1.0, 1.0];
        let (places, squares) = found(&[1.0], &others, 1, 4);
        assert_eq!(places, [1, 3, 4, 2]);
        assert_eq!(squares, [0.0, 0.0, 0.0, 1.0]);
    }

    #[test]
    fn a_row_has_the_same_bits_alone_on_every_path_and_at_any_number_of_threads() {
        let (a, b) = (normals(97 * 4, 3), normals(130 * 4, 4));
        let whole = same_every_way(|| found(&a, &b, 4, 3));
        assert_eq!(at_threads(1, || found(&a, &b, 4, 3)), whole);
        for (i, row) in a.chunks(4).enumerate() {
            let (places, squares) = found(row, &b, 4, 3);
            assert_eq!(places, whole.0[3 * i..3 * i + 3]);
            assert_eq!(squares, whole.1[3 * i..3 * i + 3]);
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let (a, b) = ([0.0, 1.0], [0.0, 1.0, 2.0]);
        for count in [0, 4] {
            assert!(nearest(&points(&a, 1), &points(&b, 1), count).is_err());
        }
        assert!(nearest(&points(&a, 2), &points(&b, 1), 1).is_err());
        assert!(nearest(&points(&a, 1), &points(&[1e200], 1), 1).is_err());
        assert_eq!(found(&[], &b, 1, 2).0.len(), 0);
    }
}
