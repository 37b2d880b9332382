//! Coins with exact probabilities: `a/b`, `exp(-x)`, `exp(-x^2/2)`, `2^-f`.
//!
//! The exponentials come from descending chains (von Neumann 1951, Forsythe 1972): for uniform
//! `z_1, z_2, ..` the chain `x > z_1 > z_2 > .. > z_n` holds with probability `x^n / n!`, so its
//! full length is even with probability `1 - x + x^2/2! - .. = exp(-x)`.

use super::uniform::LazyUniform;
use crate::rng::Source;

/// Return true with probability `min(1, a / b)` (`b >= 1`).
#[inline]
pub fn ratio(a: u64, b: u64, source: &mut Source) -> bool {
    LazyUniform::draw(source).less_than_ratio(a, b, source)
}

/// Return true with probability `exp(-a / b)` for `0 <= a <= b`, `b >= 1`.
#[inline]
pub fn exp_minus_ratio(a: u64, b: u64, source: &mut Source) -> bool {
    let mut z = LazyUniform::draw(source);
    !z.less_than_ratio(a, b, source) || !is_even_below(z, source)
}

/// Return true with probability `exp(-x)`. `x` keeps its law given the answer: look at it again.
#[inline]
pub fn exp_minus(x: &mut LazyUniform, source: &mut Source) -> bool {
    let mut z = LazyUniform::draw(source);
    !z.less(x, source) || !is_even_below(z, source)
}

/// Return true with probability `exp(-x^2 / 2)`.
///
/// Each link of the chain also needs a fresh uniform below `x` and a fair coin, so a chain of n
/// links has probability `(x^2 / 2)^n / n!` (Karney 2016, section 3).
#[inline]
pub fn exp_minus_half_square(x: &mut LazyUniform, source: &mut Source) -> bool {
    let mut last: Option<LazyUniform> = None;
    let mut even = true;
    loop {
        if source.bits() >> 63 == 0 || !LazyUniform::draw(source).less(x, source) {
            return even;
        }
        let mut z = LazyUniform::draw(source);
        if !z.less(last.as_mut().unwrap_or(x), source) {
            return even;
        }
        last = Some(z);
        even = !even;
    }
}

/// Return true with probability `2^-f`, where `f = numerator / 2^bits` is in `[0, 1]`, `bits < 64`.
///
/// Round i ends true on a fair coin, else false with probability `f / i`: the false ones add up to
/// `sum_i 2^-i (f/i) (1 - f/1) .. (1 - f/(i-1)) = 1 - (1 - 1/2)^f`, the binomial series (Mendo 2019).
pub(crate) fn half_to_the(numerator: u64, bits: u32, source: &mut Source) -> bool {
    let mut i = 1;
    loop {
        if source.bits() >> 63 == 0 {
            return true;
        }
        if ratio(numerator, 1 << bits, source) && ratio(1, i, source) {
            return false;
        }
        i += 1;
    }
}

/// Return true with probability `2^-n`.
pub(crate) fn all_heads(n: u128, source: &mut Source) -> bool {
    let mut left = n;
    while left >= 64 {
        if source.bits() != 0 {
            return false;
        }
        left -= 64;
    }
    left == 0 || source.bits() >> (64 - left as u32) == 0
}

/// Return whether the chain `z > z_1 > z_2 > ..` has even length.
#[inline]
fn is_even_below(z: LazyUniform, source: &mut Source) -> bool {
    let mut last = z;
    let mut even = true;
    loop {
        let mut next = LazyUniform::draw(source);
        if !next.less(&mut last, source) {
            return even;
        }
        last = next;
        even = !even;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Result;
    use crate::noise::law::{FALSE_ALARM, p_value_of_counts, test_source};

    /// Return the p-value of 200,000 coins against a probability.
    fn p_value(probability: f64, mut coin: impl FnMut() -> bool) -> f64 {
        let n = 200_000u64;
        let heads = (0..n).filter(|_| coin()).count() as u64;
        p_value_of_counts(&[heads, n - heads], &[probability, 1.0 - probability])
    }

    #[test]
    fn coins_have_their_probabilities() -> Result<()> {
        let (seed, mut source) = test_source(2)?;
        let mut check = |what: &str, probability: f64, coin: &dyn Fn(&mut Source) -> bool| {
            let p = p_value(probability, || coin(&mut source));
            assert!(p > FALSE_ALARM, "{what}: p = {p:e}, seed {seed}");
        };
        let huge = u64::MAX;
        check("1/3", 1.0 / 3.0, &|s| ratio(1, 3, s));
        check("large ratio", 0.25, &|s| ratio(huge / 4, huge, s));
        for (a, b) in [(1u64, 1u64), (1, 2), (2, 3), (huge / 8, huge)] {
            let x = a as f64 / b as f64;
            check("exp(-a/b)", (-x).exp(), &|s| exp_minus_ratio(a, b, s));
        }
        for x in [0.1, 0.5, 0.97] {
            let digit = (x * 2f64.powi(64)) as u64;
            let real = || LazyUniform::from_digits(&[digit]);
            check("exp(-x)", (-x).exp(), &|s| exp_minus(&mut real(), s));
            check("exp(-x^2/2)", (-x * x / 2.0).exp(), &|s| exp_minus_half_square(&mut real(), s));
        }
        for f in [0.001, 0.3, 0.5, 0.9] {
            let numerator = (f * 2f64.powi(52)) as u64;
            check("2^-f", (-f).exp2(), &|s| half_to_the(numerator, 52, s));
        }
        for n in [1u8, 3, 5] {
            check("2^-n", 0.5f64.powi(n.into()), &|s| all_heads(n.into(), s));
        }
        Ok(())
    }

    #[test]
    fn certain_coins_are_certain() {
        let mut source = Source::seeded(0, 0);
        for _ in 0..1000 {
            assert!(exp_minus_ratio(0, 5, &mut source));
            assert!(half_to_the(0, 52, &mut source));
            assert!(all_heads(0, &mut source));
            assert!(!all_heads(u128::MAX, &mut source));
            assert!(!ratio(0, 1, &mut source) && ratio(1, 1, &mut source));
        }
    }

    #[test]
    fn a_real_that_was_looked_at_keeps_its_law() -> Result<()> {
        // x given that coins of exp(-x) fell heads twice has density ~ exp(-2x) on (0, 1).
        let (seed, mut source) = test_source(3)?;
        let mut counts = [0u64; 10];
        while counts.iter().sum::<u64>() < 200_000 {
            let mut x = LazyUniform::draw(&mut source);
            if exp_minus(&mut x, &mut source) && exp_minus(&mut x, &mut source) {
                counts[x.floor_times(10, &mut source) as usize] += 1;
            }
        }
        let mass = |a: f64, b: f64| ((-2.0 * a).exp() - (-2.0 * b).exp()) / (1.0 - f64::exp(-2.0));
        let shares: Vec<f64> =
            (0..10).map(|i| mass(f64::from(i) / 10.0, f64::from(i + 1) / 10.0)).collect();
        let p = p_value_of_counts(&counts, &shares);
        assert!(p > FALSE_ALARM, "p = {p:e}, seed {seed}");
        assert!(p_value_of_counts(&counts, &[0.1; 10]) < FALSE_ALARM);
        Ok(())
    }
}
