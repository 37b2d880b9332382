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

#[cfg(test)]
impl LazyUniform {
    /// A number with these digits, to reach the cases that chance does not.
    pub(crate) fn from_digits(digits: &[u64]) -> Self {
        Self { first: digits[0], rest: digits[1..].to_vec() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Result;
    use crate::noise::law::{FALSE_ALARM, p_value_of_counts, test_source};

    const TOP: u64 = u64::MAX;

    #[test]
    fn comparison_goes_on_where_digits_agree() {
        let mut source = Source::seeded(0, 0);
        for (a, b, less) in [
            (&[4][..], &[5][..], true),
            (&[5], &[4], false),
            (&[5, 0, 7], &[5, 0, 8], true),
            (&[5, 1], &[5, 0], false),
            (&[TOP, TOP, 3], &[TOP, TOP, 2], false),
        ] {
            let (mut a, mut b) = (LazyUniform::from_digits(a), LazyUniform::from_digits(b));
            assert_eq!(a.less(&mut b, &mut source), less);
        }
    }

    #[test]
    fn equal_digits_draw_further_ones_and_keep_them() {
        let mut source = Source::seeded(0, 0);
        let (mut a, mut b) = (LazyUniform::from_digits(&[9]), LazyUniform::from_digits(&[9]));
        let less = a.less(&mut b, &mut source);
        assert_eq!((a.rest.len(), b.rest.len()), (1, 1));
        assert_eq!(a.less(&mut b, &mut source), less);
        assert_eq!(b.less(&mut a, &mut source), !less);
    }

    #[test]
    fn comparison_with_a_ratio_is_exact_at_its_digits() {
        let mut source = Source::seeded(0, 0);
        // 1/7 = 0.(a)(b)(c).. in base 2^64, with remainders 2 and 4 after the first two digits
        let [a, b, c] = [1u128, 2, 4].map(|remainder| ((remainder << 64) / 7) as u64);
        for (digits, less) in [
            (&[a - 1][..], true),
            (&[a + 1], false),
            (&[a, b - 1], true),
            (&[a, b + 1], false),
            (&[a, b, c - 1], true),
            (&[a, b, c + 1], false),
        ] {
            let mut u = LazyUniform::from_digits(digits);
            assert_eq!(u.less_than_ratio(1, 7, &mut source), less, "{digits:?}");
        }
        // 1/2 = 0.1000..: any number that starts so is above
        assert!(!LazyUniform::from_digits(&[1 << 63]).less_than_ratio(1, 2, &mut source));
        assert!(LazyUniform::from_digits(&[(1 << 63) - 1]).less_than_ratio(1, 2, &mut source));
        for digit in [0, 1, TOP] {
            assert!(!LazyUniform::from_digits(&[digit]).less_than_ratio(0, TOP, &mut source));
            assert!(LazyUniform::from_digits(&[digit]).less_than_ratio(TOP, TOP, &mut source));
            assert!(LazyUniform::from_digits(&[digit]).less_than_ratio(3, 2, &mut source));
        }
    }

    #[test]
    fn floor_carries_from_the_second_digit() {
        let mut source = Source::seeded(0, 0);
        // 3 * 0.(third)(x) and 3 * 0.(two thirds)(x): the first digit alone leaves the floor open
        let third = TOP / 3;
        for (first, second, floor) in [
            (third, third - 1, 0),
            (third, third + 1, 1),
            (2 * third, 2 * third - 1, 1),
            (2 * third, 2 * third + 1, 2),
        ] {
            let mut u = LazyUniform::from_digits(&[first, second]);
            assert_eq!(u.floor_times(3, &mut source), floor);
        }
        // What two digits say exactly, with n as large as noise parameters get.
        for (i, shift) in (0..60u32).map(|shift| (u64::from(shift), shift)) {
            let n = (1u64 << 60) - (i << 40) - 1;
            // digits close below and above a multiple of 1/n
            let j = u128::from(n >> (shift % 50 + 1));
            let first = ((j << 64) / u128::from(n)) as u64;
            let remainder = (j << 64) - u128::from(first) * u128::from(n);
            let second = ((remainder << 64) / u128::from(n)) as u64;
            for (second, expected) in
                [(second.saturating_sub(1), j - 1), (second.saturating_add(1), j)]
            {
                if second == 0 || second == TOP {
                    continue;
                }
                let mut u = LazyUniform::from_digits(&[first, second]);
                assert_eq!(u128::from(u.floor_times(n, &mut source)), expected, "n {n}, j {j}");
            }
        }
    }

    #[test]
    fn integers_below_a_bound_are_uniform() -> Result<()> {
        let (seed, mut source) = test_source(1)?;
        for bound in [1u128, 2, 7, 1 << 20, (1 << 64) + (1 << 63), u128::MAX] {
            // Seven almost equal parts of the range, or single values.
            let parts = bound.min(7);
            let mut counts = vec![0u64; parts as usize];
            for _ in 0..70_000 {
                let draw = below(bound, &mut source);
                assert!(draw < bound);
                counts[(draw / bound.div_ceil(parts)) as usize] += 1;
            }
            let share = |i: u128| {
                let part = bound.div_ceil(parts);
                (part.min(bound - i * part)) as f64 / bound as f64
            };
            let shares: Vec<f64> = (0..parts).map(share).collect();
            if parts > 1 {
                let p = p_value_of_counts(&counts, &shares);
                assert!(p > FALSE_ALARM, "bound {bound}: p = {p:e}, seed {seed}");
            }
        }
        assert_eq!(below(0, &mut source), 0);
        Ok(())
    }
}
