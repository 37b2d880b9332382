//! Draws that protect no record and repeat by their key: on any machine, in any version.
//!
//! An owner that is asked the same question again gives the same answer, so what it draws is a
//! function of the question. Each number has its place in ChaCha20's stream, so rows that are read
//! in pieces, in whatever order, get the numbers of the whole.

use crate::error::{Error, Result, check_room};
use crate::rng::{Key, Source};

/// Streams of a key, one for each kind of draw.
const UNITS: u64 = 0;
const SUBSET: u64 = 1;

/// Return numbers `first` to `first + count` of a key, uniform in `[0, 1)`.
///
/// # Examples
/// ```
/// use dpsumm_core::draws::units;
///
/// let key = [7; 32];
/// assert_eq!(units(&key, 0, 10)?[4..], units(&key, 4, 6)?);
/// # Ok::<(), dpsumm_core::Error>(())
/// ```
///
/// # Errors
/// No room for `count` numbers.
pub fn units(key: &Key, first: u64, count: usize) -> Result<Vec<f64>> {
    check_room::<f64>("count", count, 1)?;
    let mut source = Source::keyed(key, UNITS, first);
    Ok((0..count).map(|_| source.unit()).collect())
}

/// Return `count` different whole numbers below `total`, ascending. All such sets are equally
/// likely (Floyd's algorithm in Bentley 1987, one draw for each number).
///
/// # Examples
/// ```
/// use dpsumm_core::draws::subset;
///
/// let drawn = subset(&[7; 32], 1 << 40, 3)?;
/// assert_eq!(drawn, subset(&[7; 32], 1 << 40, 3)?);
/// assert!(drawn.is_sorted_by(|a, b| a < b));
/// # Ok::<(), dpsumm_core::Error>(())
/// ```
///
/// # Errors
/// `count` is above `total`, or there is no room.
pub fn subset(key: &Key, total: u64, count: usize) -> Result<Vec<u64>> {
    if count as u64 > total {
        return Err(Error::invalid("count", "must be at most total"));
    }
    check_room::<u64>("count", count, 4)?;
    let mut source = Source::keyed(key, SUBSET, 0);
    let mut drawn = std::collections::BTreeSet::new();
    for last in total - count as u64..total {
        if !drawn.insert(source.below(last + 1)) {
            drawn.insert(last);
        }
    }
    Ok(drawn.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_is_equally_likely() -> Result<()> {
        let mut seen = std::collections::HashMap::new();
        for i in 0..10_000u32 {
            let mut key = [0; 32];
            key[..4].copy_from_slice(&i.to_le_bytes());
            *seen.entry(subset(&key, 5, 3)?).or_insert(0u32) += 1;
        }
        // Ten sets, each 1,000 times in the mean, with a standard deviation of 30.
        assert_eq!(seen.len(), 10);
        assert!(seen.values().all(|&n| n > 820 && n < 1180), "{seen:?}");
        Ok(())
    }

    #[test]
    fn all_of_them_are_drawn_if_all_are_wanted() -> Result<()> {
        assert_eq!(subset(&[1; 32], 4, 4)?, [0, 1, 2, 3]);
        assert_eq!(subset(&[1; 32], 0, 0)?, [0; 0]);
        assert!(subset(&[1; 32], 3, 4).is_err());
        Ok(())
    }

    #[test]
    fn the_numbers_of_a_key_stay_the_same() -> Result<()> {
        // ChaCha20 of the zero key begins with 76 b8 e0 ad a0 f1 3d 90 (RFC 7539, A.1).
        let word = u64::from_le_bytes([0x76, 0xb8, 0xe0, 0xad, 0xa0, 0xf1, 0x3d, 0x90]);
        let unit = (word >> 11) as f64 / (1u64 << 53) as f64;
        assert_eq!(units(&[0; 32], 0, 1)?, [unit]);
        assert_eq!(subset(&[0; 32], 1000, 5)?, [195, 237, 499, 671, 978]);
        Ok(())
    }
}
