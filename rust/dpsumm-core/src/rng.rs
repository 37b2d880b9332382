//! The only source of randomness: ChaCha20, seeded by the operating system or, for tests and
//! experiments, by a number that makes the result repeatable and therefore not private.
//!
//! A generator lives inside one call of one function and is never kept across calls, so a forked
//! process cannot repeat its parent's noise. Its state is zeroed when it is dropped.

use rand::rngs::{ChaCha20Rng, SysRng};
use rand::{Rng, SeedableRng, TryRng};

use crate::error::{Error, Result};

/// A key of 256 bits.
pub type Key = [u8; 32];

/// A stream of random 64-bit words that knows whether it may protect anybody.
///
/// # Examples
/// ```
/// use dpsumm_core::rng::Source;
///
/// let mut secret = Source::system()?;
/// assert!(secret.is_private() && secret.below(6) < 6);
///
/// let draw = |stream| Source::seeded(7, stream).bits();
/// assert_eq!(draw(0), draw(0));
/// assert_ne!(draw(0), draw(1));
/// # Ok::<(), dpsumm_core::Error>(())
/// ```
pub struct Source {
    rng: ChaCha20Rng,
    private: bool,
}

impl Source {
    /// Return a source with a fresh 256-bit key from the operating system.
    pub fn system() -> Result<Self> {
        let mut key = [0u8; 32];
        SysRng.try_fill_bytes(&mut key).map_err(|_| Error::NoEntropy)?;
        Ok(Self { rng: ChaCha20Rng::from_seed(key), private: true })
    }

    /// Return a repeatable source: **not private**, for public randomness, tests and experiments.
    ///
    /// `stream` separates uses of one seed (domain separation), so that for example frequencies
    /// and noise drawn from one seed are independent.
    pub fn seeded(seed: u64, stream: u64) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        rng.set_stream(stream);
        Self { rng, private: false }
    }

    /// Return the words of a key from number `first` on: **not private**, see [`crate::draws`].
    pub fn keyed(key: &Key, stream: u64, first: u64) -> Self {
        let mut rng = ChaCha20Rng::from_seed(*key);
        rng.set_stream(stream);
        rng.set_word_pos(2 * u128::from(first));
        Self { rng, private: false }
    }

    /// A seeded source if a seed is given, the operating system's otherwise.
    pub fn from_option(seed: Option<u64>, stream: u64) -> Result<Self> {
        match seed {
            Some(seed) => Ok(Self::seeded(seed, stream)),
            None => Self::system(),
        }
    }

    /// Whether the key came from the operating system.
    pub fn is_private(&self) -> bool {
        self.private
    }

    /// Return 64 uniform bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.rng.next_u64()
    }

    /// Return a uniform number in `[0, 1)` with 53 bits. For public randomness only: noise that
    /// protects somebody is drawn with integers ([`crate::noise`]).
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Return an exactly uniform integer in `0..bound`, by rejection (`bound >= 1`).
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        debug_assert!(bound >= 1);
        // Lemire 2019: the low word tells the rare draws that would be biased.
        loop {
            let product = u128::from(self.bits()) * u128::from(bound);
            let low = product as u64;
            if low >= bound || low >= bound.wrapping_neg() % bound {
                return (product >> 64) as u64;
            }
        }
    }

    /// Return streams under one fresh key taken from this source, one for each block of parallel
    /// work.
    pub fn streams(&mut self) -> Streams {
        let mut key = [0u8; 32];
        self.rng.fill_bytes(&mut key);
        Streams { root: ChaCha20Rng::from_seed(key), private: self.private }
    }
}

/// Independent streams numbered by block, so that the result does not depend on which thread draws.
pub struct Streams {
    root: ChaCha20Rng,
    private: bool,
}

impl Streams {
    /// Return the source of block `block`: the same one however often and from whatever thread it
    /// is asked for, so a block must be drawn once.
    pub fn source(&self, block: u64) -> Source {
        let mut rng = ChaCha20Rng::from_seed(self.root.get_seed());
        rng.set_stream(block);
        Source { rng, private: self.private }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeded_streams_repeat_and_differ() {
        let draw = |seed, stream| Source::seeded(seed, stream).bits();
        assert_eq!(draw(1, 0), draw(1, 0));
        assert_ne!(draw(1, 0), draw(1, 1));
        assert_ne!(draw(1, 0), draw(2, 0));
        assert!(!Source::seeded(1, 0).is_private());
    }

    #[test]
    fn system_sources_differ() -> Result<()> {
        assert_ne!(Source::system()?.bits(), Source::system()?.bits());
        assert!(Source::system()?.is_private());
        Ok(())
    }

    #[test]
    fn streams_repeat_by_block_and_change_with_every_key() {
        let mut source = Source::seeded(5, 0);
        let (first, second) = (source.streams(), source.streams());
        assert_eq!(first.source(3).bits(), first.source(3).bits());
        assert_ne!(first.source(3).bits(), first.source(4).bits());
        assert_ne!(first.source(3).bits(), second.source(3).bits());
        assert!(!first.source(0).is_private());
    }

    #[test]
    fn below_stays_below_and_reaches_all() {
        let mut source = Source::seeded(3, 0);
        let mut seen = [0u32; 7];
        for _ in 0..7000 {
            seen[source.below(7) as usize] += 1;
        }
        assert!(seen.iter().all(|&n| n > 800 && n < 1200), "{seen:?}");
    }
}
