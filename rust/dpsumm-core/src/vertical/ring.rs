//! The product of two owners' one-hot matrices on `Z_{2^32}` or `Z_{2^64}`, which neither sees.
//!
//! A helper deals a pad U to one owner, V to the other, and shares `U^T V = C0 + C1`. The owners
//! exchange `E = X_A - U` and `F = X_B - V`; then `X_A^T F + C0` and `E^T V + C1` add up to
//! `X_A^T X_B`, exactly: `X_A^T X_B - X_A^T V + (X_A - U)^T V + U^T V = X_A^T X_B`.
//!
//! **Claim.** E, F and each summand alone are uniform, whatever the data, for whoever lacks the key
//! that the helper gave to the other owner. **Assumes** ChaCha20 and that a key serves one product
//! of one pair of matrices. **Numerics.** Exact: words that wrap.
//!
//! The sums are over rows, in any order: neither pieces nor threads change a bit.

use rayon::prelude::*;

use super::pad::{Key, Use, Word, fill};
use crate::error::{Error, Result, check_room};
use crate::simd::{Hot, dispatch, turn_by_turn};

/// Rows whose pads are held at a time: with a hundred columns each they fit the first cache.
const BLOCK: usize = 64;

/// One-hot rows: row r has ones at its codes.
#[derive(Debug, Clone, Copy)]
pub struct OneHot<'a> {
    codes: &'a [u32],
    columns: usize,
    width: usize,
}

impl<'a> OneHot<'a> {
    /// Rows of `columns` codes each, below `width`.
    ///
    /// # Errors
    /// A code is not below `width`, or `codes` is not a whole number of rows.
    pub fn new(codes: &'a [u32], columns: usize, width: usize) -> Result<Self> {
        if columns == 0 || !codes.len().is_multiple_of(columns) {
            return Err(Error::invalid("codes", "must be rows of at least 1 column"));
        }
        if codes.iter().any(|&code| code as usize >= width) {
            return Err(Error::invalid("codes", format!("must be below width, {width}")));
        }
        Ok(Self { codes, columns, width })
    }

    /// How many rows.
    pub fn rows(&self) -> usize {
        self.codes.len() / self.columns
    }

    fn row(&self, row: usize) -> &'a [u32] {
        &self.codes[row * self.columns..(row + 1) * self.columns]
    }
}

/// Write `X - U`, where X are rows `first_row..` of the owner's matrix and U is its pad.
///
/// # Errors
/// `out` is not one row of `width` words for each row.
pub fn mask<W: Word>(x: OneHot<'_>, key: &Key, first_row: u64, out: &mut [W]) -> Result<()> {
    if out.len() != x.rows() * x.width {
        return Err(Error::invalid("out", "must have a row for each row of codes"));
    }
    out.par_chunks_mut(BLOCK * x.width).enumerate().for_each(|(block, out)| {
        let start = block * BLOCK;
        fill(key, Use::Rows, (first_row + start as u64) * x.width as u64, out);
        for (i, row) in out.chunks_exact_mut(x.width).enumerate() {
            row.iter_mut().for_each(|word| *word = W::ZERO.minus(*word));
            for &code in x.row(start + i) {
                row[code as usize] = row[code as usize].plus(W::ONE);
            }
        }
    });
    Ok(())
}

/// Return `X^T F`, of `x.width` rows and `width` columns.
///
/// # Errors
/// `right` is not one row of `width` words for each row of `x`, or the result does not fit.
pub fn scatter<W: Word>(x: OneHot<'_>, right: &[W], width: usize) -> Result<Vec<W>> {
    check_rows(right.len(), x.rows(), width, "masked")?;
    sum_over(x.rows(), x.width, width, |rows, sums| {
        for r in rows {
            let values = &right[r * width..(r + 1) * width];
            for &code in x.row(r) {
                let sums = &mut sums[code as usize * width..][..width];
                add(sums, values);
            }
        }
    })
}

/// Return `E^T V`, where E are rows `first_row..` of a masked matrix and V is the pad of `key`.
///
/// # Errors
/// `masked` is not whole rows of `left` words, or the result does not fit.
pub fn times_pad<W: Word>(
    masked: &[W],
    left: usize,
    key: &Key,
    right: usize,
    first_row: u64,
) -> Result<Vec<W>> {
    if left == 0 || !masked.len().is_multiple_of(left) {
        return Err(Error::invalid("masked", "must be rows of at least 1 column"));
    }
    sum_over(masked.len() / left, left, right, |rows, sums| {
        let mut pad = vec![W::ZERO; BLOCK * right];
        for start in rows.clone().step_by(BLOCK) {
            let end = (start + BLOCK).min(rows.end);
            let pad = &mut pad[..(end - start) * right];
            fill(key, Use::Rows, (first_row + start as u64) * right as u64, pad);
            dispatch(Gram {
                left: &masked[start * left..end * left],
                right: pad,
                left_width: left,
                sums,
            });
        }
    })
}

/// Return `U^T V` of two keys' pads, less the share that the left key hides: what the helper deals
/// to the right owner.
///
/// # Errors
/// The result does not fit.
///
/// # Examples
/// ```
/// use dpsumm_core::vertical::ring::{OneHot, correction, mask, scatter, times_pad};
/// use dpsumm_core::vertical::pad::{Use, fill};
///
/// // Three records: one owner has their first column, of 2 levels, the other one of 3.
/// let left = OneHot::new(&[0, 1, 1], 1, 2)?;
/// let right = OneHot::new(&[2, 0, 2], 1, 3)?;
/// let (mine, theirs) = ([1; 32], [2; 32]); // keys that the helper deals
///
/// let (mut e, mut f) = (vec![0u32; 3 * 2], vec![0u32; 3 * 3]);
/// mask(left, &mine, 0, &mut e)?;
/// mask(right, &theirs, 0, &mut f)?;
/// let mut one = scatter(left, &f, 3)?;
/// let mut share = vec![0u32; 6];
/// fill(&mine, Use::Share, 0, &mut share);
/// one.iter_mut().zip(&share).for_each(|(sum, c)| *sum = sum.wrapping_add(*c));
/// let dealt = correction::<u32>(3, &mine, 2, &theirs, 3)?;
/// let other = times_pad(&e, 2, &theirs, 3, 0)?;
///
/// let table: Vec<u32> = one.iter().zip(other.iter().zip(&dealt))
///     .map(|(a, (b, c))| a.wrapping_add(*b).wrapping_add(*c))
///     .collect();
/// assert_eq!(table, [0, 0, 1, 1, 0, 1], "how often each two levels occur together");
/// # Ok::<(), dpsumm_core::Error>(())
/// ```
pub fn correction<W: Word>(
    rows: usize,
    left_key: &Key,
    left: usize,
    right_key: &Key,
    right: usize,
) -> Result<Vec<W>> {
    let mut product = sum_over(rows, left, right, |rows, sums: &mut [W]| {
        let (mut u, mut v) = (vec![W::ZERO; BLOCK * left], vec![W::ZERO; BLOCK * right]);
        for start in rows.clone().step_by(BLOCK) {
            let n = (start + BLOCK).min(rows.end) - start;
            fill(left_key, Use::Rows, (start * left) as u64, &mut u[..n * left]);
            fill(right_key, Use::Rows, (start * right) as u64, &mut v[..n * right]);
            dispatch(Gram { left: &u[..n * left], right: &v[..n * right], left_width: left, sums });
        }
    })?;
    let mut share = vec![W::ZERO; product.len()];
    fill(left_key, Use::Share, 0, &mut share);
    product.iter_mut().zip(share).for_each(|(sum, c)| *sum = sum.minus(c));
    Ok(product)
}

/// Return how often each two codes occur in one row, `(width, width)`; the upper half is filled.
///
/// # Errors
/// The result does not fit.
pub fn pair_counts(x: OneHot<'_>) -> Result<Vec<u64>> {
    sum_over(x.rows(), x.width, x.width, |rows, sums: &mut [u64]| {
        for r in rows {
            let row = x.row(r);
            for (i, &a) in row.iter().enumerate() {
                let sums = &mut sums[a as usize * x.width..][..x.width];
                row[i + 1..].iter().for_each(|&b| sums[b as usize] += 1);
            }
        }
    })
}

fn check_rows(len: usize, rows: usize, width: usize, name: &'static str) -> Result<()> {
    match rows.checked_mul(width) {
        Some(wanted) if wanted == len => Ok(()),
        _ => Err(Error::invalid(name, "must have as many rows as codes")),
    }
}

/// Add up what `work` does for the rows of each thread; at most one matrix for each thread.
fn sum_over<W: Word>(
    rows: usize,
    left: usize,
    right: usize,
    work: impl Fn(std::ops::Range<usize>, &mut [W]) + Sync,
) -> Result<Vec<W>> {
    check_room::<W>("width", left, right)?;
    let threads = rayon::current_num_threads().max(1);
    let each = rows.div_ceil(threads).next_multiple_of(BLOCK);
    let parts: Vec<_> = (0..rows).step_by(each.max(1)).collect();
    let sums = parts.into_par_iter().map(|start| {
        let mut sums = vec![W::ZERO; left * right];
        work(start..(start + each).min(rows), &mut sums);
        sums
    });
    Ok(sums
        .reduce_with(|mut sums, other| {
            add(&mut sums, &other);
            sums
        })
        .unwrap_or_else(|| vec![W::ZERO; left * right]))
}

#[inline(always)]
fn add<W: Word>(sums: &mut [W], values: &[W]) {
    sums.iter_mut().zip(values).for_each(|(sum, &x)| *sum = sum.plus(x));
}

/// Sums that stay in registers while a block's rows pass: `DOWN` by `ACROSS`.
const DOWN: usize = 4;
const ACROSS: usize = 32;

/// `sums += left^T right` for a block of rows.
struct Gram<'a, W> {
    left: &'a [W],
    right: &'a [W],
    left_width: usize,
    sums: &'a mut [W],
}

impl<W: Word> Hot for Gram<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let rows = self.left.len() / self.left_width;
        if rows == 0 || self.right.is_empty() {
            return;
        }
        let width = self.right.len() / rows;
        let (mut left, mut right) = ([[W::ZERO; DOWN]; BLOCK], [[W::ZERO; ACROSS]; BLOCK]);
        for j in (0..width).step_by(ACROSS) {
            pack(&mut right[..rows], self.right, width, j);
            for (i, sums) in self.sums.chunks_mut(DOWN * width).enumerate() {
                pack(&mut left[..rows], self.left, self.left_width, i * DOWN);
                let tile = tile(&left[..rows], &right[..rows]);
                for (sums, tile) in sums.chunks_exact_mut(width).zip(&tile) {
                    add(&mut sums[j..(j + ACROSS).min(width)], tile);
                }
            }
        }
    }
}

/// Copy the columns from `first` on, as many as there are, of rows of `width` words.
#[inline(always)]
fn pack<W: Word, const N: usize>(out: &mut [[W; N]], from: &[W], width: usize, first: usize) {
    for (out, row) in out.iter_mut().zip(from.chunks_exact(width)) {
        let row = &row[first..];
        match row.first_chunk() {
            Some(whole) => *out = *whole,
            None => out[..row.len()].copy_from_slice(row),
        }
    }
}

/// Return `left^T right`.
#[inline(always)]
fn tile<W: Word>(left: &[[W; DOWN]], right: &[[W; ACROSS]]) -> [[W; ACROSS]; DOWN] {
    let mut sums = [[W::ZERO; ACROSS]; DOWN];
    for (left, &right) in left.iter().zip(right) {
        for (sums, &x) in sums.iter_mut().zip(left) {
            turn_by_turn();
            let old = *sums;
            *sums = std::array::from_fn(|j| old[j].plus(x.times(right[j])));
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Source;
    use crate::simd::tests::same_every_way;

    fn dense<W: Word>(x: OneHot<'_>) -> Vec<W> {
        let mut out = vec![W::ZERO; x.rows() * x.width];
        for r in 0..x.rows() {
            for &code in x.row(r) {
                out[r * x.width + code as usize] = W::ONE;
            }
        }
        out
    }

    fn plain<W: Word>(rows: usize, left: &[W], right: &[W]) -> Vec<W> {
        let (a, b) = (left.len() / rows, right.len() / rows);
        let mut out = vec![W::ZERO; a * b];
        for r in 0..rows {
            for i in 0..a {
                for j in 0..b {
                    out[i * b + j] = out[i * b + j].plus(left[r * a + i].times(right[r * b + j]));
                }
            }
        }
        out
    }

    fn codes(source: &mut Source, rows: usize, sizes: &[u64]) -> Vec<u32> {
        (0..rows)
            .flat_map(|_| {
                let mut offset = 0;
                let mut row = Vec::new();
                for &size in sizes {
                    row.push((offset + source.below(size)) as u32);
                    offset += size;
                }
                row
            })
            .collect()
    }

    fn product<W: Word>(rows: usize, piece: usize) -> Result<()> {
        let mut source = Source::seeded(rows as u64, 1);
        let (a, b) = (codes(&mut source, rows, &[3, 5]), codes(&mut source, rows, &[4, 2, 7]));
        let (ka, kb) = ([3u8; 32], [4u8; 32]);
        let (xa, xb) = (OneHot::new(&a, 2, 8)?, OneHot::new(&b, 3, 13)?);
        let mut shares = correction::<W>(rows, &ka, 8, &kb, 13)?;
        let mut c0 = vec![W::ZERO; 8 * 13];
        fill(&ka, Use::Share, 0, &mut c0);
        add(&mut shares, &c0);
        for start in (0..rows).step_by(piece) {
            let end = (start + piece).min(rows);
            let part_a = OneHot::new(&a[start * 2..end * 2], 2, 8)?;
            let part_b = OneHot::new(&b[start * 3..end * 3], 3, 13)?;
            let (mut e, mut f) =
                (vec![W::ZERO; (end - start) * 8], vec![W::ZERO; (end - start) * 13]);
            mask(part_a, &ka, start as u64, &mut e)?;
            mask(part_b, &kb, start as u64, &mut f)?;
            add(&mut shares, &scatter(part_a, &f, 13)?);
            add(&mut shares, &times_pad(&e, 8, &kb, 13, start as u64)?);
        }
        assert_eq!(shares, plain(rows, &dense::<W>(xa), &dense(xb)));
        Ok(())
    }

    #[test]
    fn shares_add_up_to_the_plain_product_in_any_pieces() -> Result<()> {
        for (rows, piece) in [(1, 1), (63, 10), (64, 64), (200, 199), (1000, 77)] {
            product::<u32>(rows, piece)?;
            product::<u64>(rows, piece)?;
        }
        Ok(())
    }

    #[test]
    fn every_instruction_set_gives_the_same_words() -> Result<()> {
        let mut masked = vec![0u32; 300 * 9];
        fill(&[9; 32], Use::Rows, 0, &mut masked);
        let found = same_every_way(|| times_pad(&masked, 9, &[8; 32], 21, 5))?;
        let mut pad = vec![0u32; 300 * 21];
        fill(&[8; 32], Use::Rows, 5 * 21, &mut pad);
        assert_eq!(found, plain(300, &masked, &pad));
        Ok(())
    }

    #[test]
    fn pairs_are_counted() -> Result<()> {
        let codes = [0, 2, 5, 0, 3, 5, 1, 2, 4, 0, 2, 5];
        let counts = pair_counts(OneHot::new(&codes, 3, 6)?)?;
        let at = |i: usize, j: usize| counts[i * 6 + j];
        assert_eq!((at(0, 2), at(0, 3), at(1, 2), at(1, 3)), (2, 1, 1, 0));
        assert_eq!((at(0, 5), at(2, 5), at(2, 4), at(5, 2)), (3, 2, 1, 0));
        assert_eq!(counts.iter().sum::<u64>(), 4 * 3);
        Ok(())
    }

    #[test]
    fn what_does_not_fit_is_refused() -> Result<()> {
        assert!(OneHot::new(&[0, 5], 2, 5).is_err());
        assert!(OneHot::new(&[0, 1, 2], 2, 5).is_err());
        assert!(OneHot::new(&[], 0, 5).is_err());
        let x = OneHot::new(&[0, 1], 1, 2)?;
        assert!(scatter(x, &[1u32; 7], 3).is_err());
        assert!(times_pad(&[1u32; 7], 3, &[0; 32], 2, 0).is_err());
        assert!(mask(x, &[0; 32], 0, &mut [0u32; 3]).is_err());
        Ok(())
    }
}
