//! One-time pads: words of ChaCha20 under a key, found again by their position.

use rand::rngs::ChaCha20Rng;
use rand::{Rng, SeedableRng};

/// An element of the ring: unsigned words, whose arithmetic wraps.
pub trait Word: Copy + Send + Sync + PartialEq + std::fmt::Debug + 'static {
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// 32-bit words in one.
    const HALVES: usize;

    /// `self + other`.
    fn plus(self, other: Self) -> Self;
    /// `self - other`.
    fn minus(self, other: Self) -> Self;
    /// `self * other`.
    fn times(self, other: Self) -> Self;
    /// The word of its bytes, lowest first.
    fn read(bytes: &[u8], at: usize) -> Self;
}

macro_rules! word {
    ($word:ty, $halves:literal) => {
        impl Word for $word {
            const ZERO: Self = 0;
            const ONE: Self = 1;
            const HALVES: usize = $halves;

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            #[inline(always)]
            fn read(bytes: &[u8], at: usize) -> Self {
                let words = bytes.as_chunks::<{ 4 * $halves }>().0;
                Self::from_le_bytes(words[at])
            }
        }
    };
}

word!(u32, 1);
word!(u64, 2);

pub use crate::rng::Key;

/// What a key's words are for: two uses share no word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// The matrix that hides one-hot rows.
    Rows = 0,
    /// The matrix that hides one share of the product.
    Share = 1,
}

/// Words generated at a time: a multiple of ChaCha's blocks.
const BATCH: usize = 256;

/// Write the words of a key from position `first` on.
///
/// Word i of a use is the same in whatever pieces it is asked for.
pub fn fill<W: Word>(key: &Key, purpose: Use, first: u64, out: &mut [W]) {
    let mut rng = ChaCha20Rng::from_seed(*key);
    rng.set_stream(purpose as u64);
    rng.set_word_pos(u128::from(first) * W::HALVES as u128);
    let mut bytes = [0u8; BATCH * 8];
    for words in out.chunks_mut(BATCH) {
        let bytes = &mut bytes[..words.len() * 4 * W::HALVES];
        rng.fill_bytes(bytes);
        for (i, word) in words.iter_mut().enumerate() {
            *word = W::read(bytes, i);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words<W: Word>(key: u8, purpose: Use, first: u64, n: usize) -> Vec<W> {
        let mut out = vec![W::ZERO; n];
        fill(&[key; 32], purpose, first, &mut out);
        out
    }

    #[test]
    fn a_word_is_the_same_in_any_piece() {
        let whole: Vec<u32> = words(1, Use::Rows, 0, 3000);
        let wide: Vec<u64> = words(1, Use::Rows, 0, 1500);
        for (first, n) in [(0, 1), (1, 15), (7, 700), (255, 2), (2990, 10)] {
            assert_eq!(words::<u32>(1, Use::Rows, first as u64, n), whole[first..first + n]);
        }
        for (first, n) in [(3, 700), (1499, 1)] {
            assert_eq!(words::<u64>(1, Use::Rows, first as u64, n), wide[first..first + n]);
        }
        assert_eq!(wide[5], u64::from(whole[10]) | u64::from(whole[11]) << 32);
    }

    #[test]
    fn uses_and_keys_share_nothing() {
        let one: Vec<u32> = words(1, Use::Rows, 0, 100);
        for other in [words::<u32>(1, Use::Share, 0, 100), words(2, Use::Rows, 0, 100)] {
            assert!(one.iter().zip(&other).filter(|(a, b)| a == b).count() < 3);
        }
    }

    #[test]
    fn words_are_those_of_chacha20() {
        // RFC 8439, appendix A.1, test vector 1: key, counter and nonce 0.
        assert_eq!(words::<u32>(0, Use::Rows, 0, 2), [0xade0_b876, 0x903d_f1a0]);
    }
}
