//! Exact inner products of 16-bit feature rows with a 64-bit integer direction.
//!
//! The direction is written in balanced digits of base 2^10, so that a digit times a feature, added
//! over a chunk, fits 32 bits. That loop is the multiply-add of 16-bit pairs that every processor
//! has, and several digits of it are faster than 64-bit products. Exact on any hardware: integers
//! only.

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::simd::{Hot, Path, dispatch};

/// Bits of a digit; digits lie in `-2^9 ..= 2^9 - 1`.
const DIGIT_BITS: u32 = 10;
/// Columns added in 32 bits: at most `64 * 2^15 * 2^9 = 2^30` in absolute value.
const CHUNK: usize = 64;
/// Columns of a vector register, in which those past the last chunk are added.
const PIECE: usize = 16;
/// Numbers of features in one unit of parallel work: tens of microseconds.
pub(super) const UNIT: usize = 1 << 18;
/// Largest L1 norm of a direction. A feature is at most `2^15` in absolute value, so by Hölder a
/// score stays below `2^15 * 2^48 = 2^63` and every `i64` sum is exact.
pub(super) const MAX_L1: u64 = (1 << 48) - 1;

/// Refuse a direction that has the wrong length or whose scores could overflow.
pub(super) fn check_direction(
    name: &'static str,
    direction: &[i64],
    n_features: usize,
) -> Result<()> {
    if direction.len() != n_features {
        return Err(Error::invalid(name, format!("needs {n_features} coordinates, one a feature")));
    }
    let l1 = direction.iter().try_fold(0u64, |sum, g| sum.checked_add(g.unsigned_abs()));
    if l1.is_none_or(|l1| l1 > MAX_L1) {
        let reason =
            "the sum of absolute values must stay below 2^48; use fewer grid levels per unit";
        return Err(Error::invalid(name, reason));
    }
    Ok(())
}

/// A direction in balanced digits: coordinate j is the sum over k of digit k of j times `2^(10 k)`.
pub(super) struct Digits {
    digits: Vec<Digit>,
}

/// One digit of all coordinates: chunks, then pieces, the last of which is [`last`]'s.
struct Digit {
    chunks: Vec<[i16; CHUNK]>,
    pieces: Vec<[i16; PIECE]>,
}

impl Digit {
    fn new(values: &[i16]) -> Self {
        let (chunks, rest) = values.as_chunks();
        let (pieces, tail) = rest.as_chunks();
        let mut pieces = pieces.to_vec();
        if !tail.is_empty() {
            let mut last = last(values);
            if values.len() >= PIECE {
                last[..PIECE - tail.len()].fill(0);
            }
            pieces.push(last);
        }
        Self { chunks: chunks.to_vec(), pieces }
    }
}

impl Digits {
    /// Split a direction that passed [`check_direction`].
    pub(super) fn new(direction: &[i64]) -> Self {
        let half = 1i64 << (DIGIT_BITS - 1);
        let mut rest = direction.to_vec();
        let mut digits = Vec::new();
        while rest.iter().any(|&g| g != 0) {
            let digit = |g: &mut i64| {
                let low = ((*g + half) & (2 * half - 1)) - half;
                *g = (*g - low) >> DIGIT_BITS;
                low as i16
            };
            digits.push(Digit::new(&rest.iter_mut().map(digit).collect::<Vec<_>>()));
        }
        Self { digits }
    }

    /// Return the exact inner product with one feature row.
    #[inline(always)]
    fn dot(&self, row: &[i16]) -> i64 {
        let (chunks, rest) = row.as_chunks();
        let pieces = rest.as_chunks().0;
        let last = (!row.len().is_multiple_of(PIECE)).then(|| last(row));
        let mut total = 0i64;
        // From the top digit down. Wrapping: a partial sum may leave 64 bits, the result cannot.
        for digit in self.digits.iter().rev() {
            let mut sum = 0i64;
            for (features, digits) in chunks.iter().zip(&digit.chunks) {
                sum += i64::from(dot_of::<CHUNK, { CHUNK / 2 }>(features, digits));
            }
            for (features, digits) in pieces.iter().chain(&last).zip(&digit.pieces) {
                sum += i64::from(dot_of::<PIECE, { PIECE / 2 }>(features, digits));
            }
            total = total.wrapping_shl(DIGIT_BITS).wrapping_add(sum);
        }
        total
    }

    /// Write the inner product with every row of `features` (n x d, row-major), in parallel.
    pub(super) fn scores_into(&self, features: &[i16], n_features: usize, scores: &mut [i64]) {
        let unit = |(rows, scores): (&[i16], &mut [i64])| {
            dispatch(Dense { digits: self, rows, n_features, scores });
        };
        if features.len() <= UNIT {
            return unit((features, scores));
        }
        let rows = (UNIT / n_features).max(1);
        features.par_chunks(rows * n_features).zip(scores.par_chunks_mut(rows)).for_each(unit);
    }
}

/// Scores of a block of rows. Integers: every path gives the same bits.
struct Dense<'a> {
    digits: &'a Digits,
    rows: &'a [i16],
    n_features: usize,
    scores: &'a mut [i64],
}

impl Hot for Dense<'_> {
    type Output = ();
    // With wider ones the compiler shuffles more than it multiplies (bench `bid`).
    const WIDEST: Path = Path::Avx2;

    #[inline(always)]
    fn run(self) {
        for (row, score) in self.rows.chunks_exact(self.n_features).zip(self.scores) {
            *score = self.digits.dot(row);
        }
    }
}

/// Bits of a digit of a change: a digit times a feature is the product of 32-bit numbers that
/// vector registers have.
const CHANGE_BITS: u32 = 31;

/// Add `change * column` to the scores. Wrapping, as a partial sum may leave 64 bits; the result
/// cannot.
pub(super) struct AddColumn<'a> {
    pub(super) change: i64,
    pub(super) column: &'a [i16],
    pub(super) scores: &'a mut [i64],
}

impl Hot for AddColumn<'_> {
    type Output = ();
    const WIDEST: Path = Path::Avx2;

    #[inline(always)]
    fn run(self) {
        let half = 1i64 << (CHANGE_BITS - 1);
        let (mut rest, mut shift) = (self.change, 0);
        while rest != 0 {
            let low = ((rest + half) & (2 * half - 1)) - half;
            rest = (rest - low) >> CHANGE_BITS;
            // In i32, so that the compiler knows the product to be of 32-bit numbers.
            let low = low as i32;
            for (score, &q) in self.scores.iter_mut().zip(self.column) {
                let product = i64::from(i32::from(q)) * i64::from(low);
                *score = score.wrapping_add(product.wrapping_shl(shift));
            }
            shift += CHANGE_BITS;
        }
    }
}

/// The last columns, among them some of the last piece: their digits are 0, so they count once. Of
/// fewer columns than that, all, filled up with zeros. Copies of any length would be calls.
#[inline(always)]
fn last(row: &[i16]) -> [i16; PIECE] {
    row.last_chunk().copied().unwrap_or_else(|| {
        let mut piece = [0; PIECE];
        piece[..row.len()].copy_from_slice(row);
        piece
    })
}

/// Pairs first, `HALF` of them, over a fixed length: in this form the compiler finds `pmaddwd` and
/// uses all its lanes. The plain loop takes several times as long (bench `bid`).
#[inline(always)]
fn dot_of<const N: usize, const HALF: usize>(features: &[i16; N], digits: &[i16; N]) -> i32 {
    let product = |i: usize| i32::from(features[i]) * i32::from(digits[i]);
    let mut pairs = [0i32; HALF];
    for (i, pair) in pairs.iter_mut().enumerate() {
        *pair = product(2 * i) + product(2 * i + 1);
    }
    pairs.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Source;

    #[test]
    fn a_changed_column_adds_its_exact_products() {
        let mut source = Source::seeded(5, 0);
        let column: Vec<i16> = (0..301).map(|_| source.bits() as i16).collect();
        let limit = 1i64 << 47;
        for change in
            [1, -1, (1 << 30) - 1, 1 << 30, -(1 << 30), 1 << 31, limit, -limit, 987_654_321_012]
        {
            let start: Vec<i64> = (0..301).map(|i| i * 1_000_003).collect();
            let wanted: Vec<i64> =
                start.iter().zip(&column).map(|(s, &q)| s + i64::from(q) * change).collect();
            let found = crate::simd::tests::same_every_way(|| {
                let mut scores = start.clone();
                dispatch(AddColumn { change, column: &column, scores: &mut scores });
                scores
            });
            assert_eq!(found, wanted);
        }
    }

    fn slow(row: &[i16], direction: &[i64]) -> i128 {
        row.iter().zip(direction).map(|(&q, &g)| i128::from(q) * i128::from(g)).sum()
    }

    #[test]
    fn digits_rebuild_the_direction_and_stay_in_range() {
        let direction = [0, 1, -1, 511, 512, -512, -513, (1 << 47), -(1 << 47), 987_654_321];
        // Of a chunk, a piece and a rest of ten; the last piece begins with six that count before.
        let direction: Vec<i64> = direction.into_iter().cycle().take(90).collect();
        let split = Digits::new(&direction);
        let rebuilt = |at: &dyn Fn(&Digit) -> i16| {
            split.digits.iter().rev().fold(0i64, |v, digit| (v << 10) + i64::from(at(digit)))
        };
        for (j, &g) in direction.iter().enumerate() {
            let value = match j {
                0..64 => rebuilt(&|digit| digit.chunks[0][j]),
                64..80 => rebuilt(&|digit| digit.pieces[0][j - 64]),
                _ => rebuilt(&|digit| digit.pieces[1][j - 74]),
            };
            assert_eq!(value, g);
        }
        for digit in &split.digits {
            let all = digit.chunks.as_flattened().iter().chain(digit.pieces.as_flattened());
            assert!(all.into_iter().all(|&l| (-512..512).contains(&l)));
            assert_eq!((digit.chunks.len(), digit.pieces.len()), (1, 2));
            assert!(digit.pieces[1][..6].iter().all(|&l| l == 0));
        }
    }

    #[test]
    fn extreme_rows_and_directions_are_exact() -> Result<()> {
        for d in [1usize, 15, 16, 17, 63, 64, 65, 79, 80, 81, 130, 512] {
            let share = MAX_L1 as i64 / d as i64;
            // A digit of -512 against features of -32768 is the worst 32-bit sum.
            for g in [share, -share, 512, -512, -512 - 512 * 1024, 1] {
                let direction = vec![g; d];
                check_direction("direction", &direction, d)?;
                for q in [i16::MIN, i16::MAX, -1] {
                    let row = vec![q; d];
                    assert_eq!(
                        i128::from(Digits::new(&direction).dot(&row)),
                        slow(&row, &direction)
                    );
                }
            }
        }
        Ok(())
    }

    #[test]
    fn random_rows_are_exact() {
        let mut source = Source::seeded(11, 0);
        for (d, bits) in
            [(1usize, 60), (7, 20), (16, 20), (90, 22), (140, 22), (512, 25), (1000, 30)]
        {
            let rows: Vec<i16> = (0..300 * d).map(|_| source.bits() as i16).collect();
            let direction: Vec<i64> = (0..d).map(|_| source.bits() as i64 >> bits).collect();
            let mut scores = vec![0; 300];
            Digits::new(&direction).scores_into(&rows, d, &mut scores);
            for (row, &score) in rows.chunks(d).zip(&scores) {
                assert_eq!(i128::from(score), slow(row, &direction));
            }
        }
    }

    #[test]
    fn directions_that_could_overflow_are_refused() {
        let limit = MAX_L1 as i64;
        assert!(check_direction("direction", &[limit, 0], 2).is_ok());
        assert!(check_direction("direction", &[limit, -1], 2).is_err());
        assert!(check_direction("direction", &[i64::MIN, i64::MIN], 2).is_err());
        assert!(check_direction("direction", &[1, 2, 3], 2).is_err());
    }
}
