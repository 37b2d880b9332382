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
///
/// # Examples
/// ```
/// use dpsumm_core::{noise::DiscreteLaplace, rng::Source};
///
/// // A count, of which one record is 1: epsilon is 1 / scale.
/// let law = DiscreteLaplace::new(2.0)?;
/// let released = 40 + law.sample(&mut Source::system()?);
/// assert!((released - 40).abs() < 100);
/// # Ok::<(), dpsumm_core::Error>(())
/// ```
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
        draw(self.units, FRACTION_BITS, source)
    }
}

/// Draw one integer with scale `units / 2^bits`.
#[inline]
fn draw(units: u64, bits: u32, source: &mut Source) -> i64 {
    loop {
        // u + units v is geometric with ratio exp(-1/units): u the remainder, v the quotient.
        let u = source.below(units);
        if !exp_minus_ratio(u, units, source) {
            continue;
        }
        let mut v = 0u64;
        while exp_minus_ratio(1, 1, source) {
            v += 1;
        }
        // A block of 2^bits geometric steps is one step of the ratio exp(-1/scale).
        let steps = u128::from(u) + u128::from(units) * u128::from(v);
        let size = i64::try_from(steps >> bits).unwrap_or(i64::MAX);
        let negative = source.bits() >> 63 == 1;
        if negative && size == 0 {
            continue; // zero has one sign, else it would be drawn twice as often
        }
        return if negative { -size } else { size };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::law::{FALSE_ALARM, laplace_tail, p_value, test_source};

    const DRAWS: u32 = 400_000;

    #[test]
    fn follows_its_law_and_no_other_scale() -> Result<()> {
        let (seed, mut source) = test_source(4)?;
        for scale in [0.25, 0.5, 3.0, 100.0, 7.8e6, 1e12] {
            let law = DiscreteLaplace::new(scale)?;
            for (factor, fits) in [(1.0, true), (0.9, false), (1.1, false)] {
                let tail = |k| laplace_tail(law.scale() * factor, k);
                let p = p_value(DRAWS, tail, || law.sample(&mut source));
                assert_eq!(p > FALSE_ALARM, fits, "{scale} * {factor}: p = {p:e}, seed {seed}");
            }
        }
        Ok(())
    }

    #[test]
    fn coarse_units_follow_the_law() -> Result<()> {
        // With two units to an integer, a rounding off by one unit is no longer too small to see.
        let (seed, mut source) = test_source(11)?;
        for units in [1, 3, 20] {
            let tail = |k| laplace_tail(units as f64 / 2.0, k);
            let p = p_value(DRAWS, tail, || draw(units, 1, &mut source));
            assert!(p > FALSE_ALARM, "{units}: p = {p:e}, seed {seed}");
        }
        Ok(())
    }

    #[test]
    fn the_test_refuses_a_zero_with_two_signs() -> Result<()> {
        let (seed, mut source) = test_source(5)?;
        // A geometric size by floating point and a random sign, as in many home-made samplers:
        // minus zero is zero once more.
        let wrong = || {
            let size = (-3.0 * (1.0 - source.unit()).ln()) as i64;
            if source.bits() >> 63 == 1 { -size } else { size }
        };
        let p = p_value(DRAWS, |k| laplace_tail(3.0, k), wrong);
        assert!(p < FALSE_ALARM, "p = {p:e}, seed {seed}");
        Ok(())
    }

    #[test]
    fn the_smallest_scale_gives_zeros_and_invalid_ones_are_refused() -> Result<()> {
        let mut source = Source::seeded(0, 0);
        let least = DiscreteLaplace::new(2f64.powi(-20))?;
        assert!((0..1000).all(|_| least.sample(&mut source) == 0));
        assert!(DiscreteLaplace::new(0.0).is_err() && DiscreteLaplace::new(f64::NAN).is_err());
        assert_eq!(DiscreteLaplace::new(0.75)?.scale(), 0.75);
        Ok(())
    }
}
