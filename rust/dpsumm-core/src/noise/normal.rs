//! Normal noise, rounded to integers.

use super::bernoulli::{exp_minus, exp_minus_half_square, exp_minus_ratio};
use super::fixed::{FRACTION_BITS, to_f64, units_up};
use super::uniform::LazyUniform;
use crate::error::Result;
use crate::rng::Source;

/// The nearest integer to `std * N(0, 1)`.
///
/// **Claim.** Adding a draw to an integer x and rounding `x + std * N(0, 1)` give the same law, so
/// the release is post-processing of the continuous Gaussian mechanism, in any number of
/// coordinates: with L2 sensitivity `D` it has exactly the guarantee of noise multiplier
/// `std / D` (Balle & Wang 2018), for whatever neighbouring relation `D` was computed for.
/// **Numerics.** Exact. The result is capped at the ends of i64, which is post-processing.
/// **Source.** Karney 2016, Algorithm N; the rounding is ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundedNormal {
    units: u64,
}

impl RoundedNormal {
    /// A law with this standard deviation before rounding, rounded up to a multiple of `2^-20`.
    ///
    /// Errors: `std` is NaN or outside `[2^-20, 2^40]`.
    pub fn new(std: f64) -> Result<Self> {
        Ok(Self { units: units_up("noise_std", std)? })
    }

    /// Return the standard deviation used, exactly: what the ledger charges.
    pub fn std(&self) -> f64 {
        to_f64(self.units)
    }

    /// Draw one integer.
    pub fn sample(&self, source: &mut Source) -> i64 {
        let (k, mut x) = half_normal(source);
        // floor(units (k + x)), then to nearest; a tie has probability 0.
        let units = u128::from(self.units);
        let floor = units * u128::from(k) + u128::from(x.floor_times(self.units, source));
        let nearest = (floor + (1 << (FRACTION_BITS - 1))) >> FRACTION_BITS;
        let size = i64::try_from(nearest).unwrap_or(i64::MAX);
        if source.bits() >> 63 == 1 { -size } else { size }
    }
}

/// Draw `k + x` with the law of `|N(0, 1)|`.
#[inline]
fn half_normal(source: &mut Source) -> (u64, LazyUniform) {
    loop {
        // exp(-(k + x)^2 / 2) = exp(-k/2) * exp(-1)^(k(k-1)/2) * exp(-x)^k * exp(-x^2/2)
        let mut k = 0u64;
        while exp_minus_ratio(1, 2, source) {
            k += 1;
        }
        let pairs = k.saturating_mul(k.saturating_sub(1)) / 2;
        if !(0..pairs).all(|_| exp_minus_ratio(1, 1, source)) {
            continue;
        }
        let mut x = LazyUniform::draw(source);
        if (0..k).all(|_| exp_minus(&mut x, source)) && exp_minus_half_square(&mut x, source) {
            return (k, x);
        }
    }
}
