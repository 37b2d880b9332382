//! Real uniform numbers whose digits are drawn when somebody looks at them.
//!
//! A number in (0, 1) has infinitely many digits, but a comparison or a rounding needs only the
//! first few. Drawing the rest on demand makes both exact (Knuth & Yao 1976; Karney 2016).

use crate::rng::Source;

/// A uniform real number in (0, 1), known to as many 64-bit digits as were needed so far.
///
/// Digits that were not looked at are still uniform and independent of all that was decided.
/// It belongs to one [`Source`]: draw all digits from the same one.
pub struct LazyUniform {
    first: u64,
    // Looked at once in 2^64 comparisons, so this almost never allocates.
    rest: Vec<u64>,
}

impl LazyUniform {
    /// Draw a new number, with its first digit.
    #[inline]
    pub fn draw(source: &mut Source) -> Self {
        Self { first: source.bits(), rest: Vec::new() }
    }

    /// Return whether this number is less than `other`.
    #[inline]
    pub fn less(&mut self, other: &mut Self, source: &mut Source) -> bool {
        if self.first != other.first {
            return self.first < other.first;
        }
        self.less_in_rest(other, source)
    }

    /// Return whether this number is less than `a / b`: always if `a >= b`, never if `a = 0`.
    #[inline]
    pub fn less_than_ratio(&mut self, a: u64, b: u64, source: &mut Source) -> bool {
        self.less_than_ratio_from(0, a, b, source)
    }

    /// Return `floor(n u)`, where `u` is this number: uniform in `0..n`.
    #[inline]
    pub fn floor_times(&mut self, n: u64, source: &mut Source) -> u64 {
        // n u = n first / 2^64 + n tail / 2^64 with tail in (0, 1): the second summand, below 1,
        // carries into the integer part unless tail < (2^64 - fraction) / n.
        let product = u128::from(n) * u128::from(self.first);
        let (whole, fraction) = ((product >> 64) as u64, product as u64);
        let room = fraction.wrapping_neg(); // 2^64 - fraction; 0 stands for 2^64, out of reach
        let carries = room != 0 && room < n && !self.less_than_ratio_from(1, room, n, source);
        whole + u64::from(carries)
    }

    #[inline]
    fn less_than_ratio_from(&mut self, start: usize, a: u64, b: u64, source: &mut Source) -> bool {
        let (mut a, mut place) = (a, start);
        loop {
            // u < a/b  <=>  b digit + b tail < a 2^64, with tail in (0, 1).
            let known = u128::from(b) * u128::from(self.digit(place, source));
            let target = u128::from(a) << 64;
            if known >= target {
                return false;
            }
            if target - known >= u128::from(b) {
                return true;
            }
            a = (target - known) as u64; // now tail < a/b decides, and a < b
            place += 1;
        }
    }

    #[cold]
    fn less_in_rest(&mut self, other: &mut Self, source: &mut Source) -> bool {
        let mut place = 1;
        loop {
            let (mine, theirs) = (self.digit(place, source), other.digit(place, source));
            if mine != theirs {
                return mine < theirs;
            }
            place += 1;
        }
    }

    #[inline]
    fn digit(&mut self, place: usize, source: &mut Source) -> u64 {
        if place == 0 {
            return self.first;
        }
        while self.rest.len() < place {
            self.rest.push(source.bits());
        }
        self.rest[place - 1]
    }
}

/// Return an exactly uniform integer in `0..bound`; 0 for `bound` 0.
pub(crate) fn below(bound: u128, source: &mut Source) -> u128 {
    let Some(largest) = bound.checked_sub(1) else { return 0 };
    let mask = u128::MAX.checked_shr(largest.leading_zeros()).unwrap_or(0);
    loop {
        // At least every second draw is accepted.
        let high = if mask >> 64 == 0 { 0 } else { u128::from(source.bits()) << 64 };
        let draw = (high | u128::from(source.bits())) & mask;
        if draw <= largest {
            return draw;
        }
    }
}
