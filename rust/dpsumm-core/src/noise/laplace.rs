//! Discrete Laplace noise.

use super::bernoulli::exp_minus_ratio;
use super::fixed::{FRACTION_BITS, to_f64, units_up};
use crate::error::Result;
use crate::rng::Source;

/// Integers with `P(k) = (1 - q) / (1 + q) * q^|k|`, `q = exp(-1 / scale)`.
///
/// **Claim.** Adding a draw to an integer that moves by at most `D` between neighbours (in each
/// of several coordinates: by at most `D` in the L1 norm) is `D / scale`-DP, pure, for whatever
/// neighbouring relation `D` was computed for.
/// **Numerics.** Exact. The result is capped at the ends of i64, which is post-processing.
/// **Source.** Canonne, Kamath & Steinke 2020, Algorithm 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiscreteLaplace {
    units: u64,
}

impl DiscreteLaplace {
    /// A law with this scale, rounded up to a multiple of `2^-20`.
    ///
    /// Errors: `scale` is NaN or outside `[2^-20, 2^40]`.
    pub fn new(scale: f64) -> Result<Self> {
        Ok(Self { units: units_up("scale", scale)? })
    }

    /// Return the scale used, exactly: what the ledger charges.
    pub fn scale(&self) -> f64 {
        to_f64(self.units)
    }

    /// Draw one integer.
    pub fn sample(&self, source: &mut Source) -> i64 {
        loop {
            // u + units v is geometric with ratio exp(-1/units): u the remainder, v the quotient.
            let u = source.below(self.units);
            if !exp_minus_ratio(u, self.units, source) {
                continue;
            }
            let mut v = 0u64;
            while exp_minus_ratio(1, 1, source) {
                v += 1;
            }
            // A block of 2^20 geometric steps is one step of the ratio exp(-1/scale).
            let steps = u128::from(u) + u128::from(self.units) * u128::from(v);
            let size = i64::try_from(steps >> FRACTION_BITS).unwrap_or(i64::MAX);
            let negative = source.bits() >> 63 == 1;
            if negative && size == 0 {
                continue; // zero has one sign, else it would be drawn twice as often
            }
            return if negative { -size } else { size };
        }
    }
}
