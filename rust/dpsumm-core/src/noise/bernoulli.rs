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
