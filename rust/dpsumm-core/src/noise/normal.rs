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
/// coordinates: with L2 sensitivity `D` it has the tight guarantee of noise multiplier `std / D`
/// (Balle & Wang 2018), for whatever neighbouring relation `D` was computed for.
/// **Numerics.** Exact. The result is capped at the ends of i64, which is post-processing.
/// **Source.** Karney 2016, Algorithm N; the rounding is ours.
///
/// # Examples
/// ```
/// use dpsumm_core::{noise::RoundedNormal, rng::Source};
///
/// // One record moves the sum by 1 at most: a noise multiplier of 4.
/// let law = RoundedNormal::new(4.0)?;
/// let released = 1203 + law.sample(&mut Source::system()?);
/// assert!((released - 1203).abs() < 80, "20 standard deviations");
/// assert_eq!(law.std(), 4.0);
/// # Ok::<(), dpsumm_core::Error>(())
/// ```
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
        draw(self.units, FRACTION_BITS, source)
    }
}

/// Draw one integer with standard deviation `units / 2^bits`, `bits >= 1`.
#[inline]
fn draw(units: u64, bits: u32, source: &mut Source) -> i64 {
    let (k, mut x) = half_normal(source);
    // floor(units (k + x)), then to nearest; a tie has probability 0.
    let floor = u128::from(units) * u128::from(k) + u128::from(x.floor_times(units, source));
    let nearest = (floor + (1 << (bits - 1))) >> bits;
    let size = i64::try_from(nearest).unwrap_or(i64::MAX);
    if source.bits() >> 63 == 1 { -size } else { size }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::law::{FALSE_ALARM, p_value, rounded_normal_tail, test_source};

    const DRAWS: u32 = 400_000;

    #[test]
    fn follows_its_law_and_no_other_scale() -> Result<()> {
        let (seed, mut source) = test_source(6)?;
        for std in [0.3, 0.5, 3.0, 100.0, 7.8e6, 1e12] {
            let law = RoundedNormal::new(std)?;
            for (factor, fits) in [(1.0, true), (0.9, false), (1.1, false)] {
                let tail = |k| rounded_normal_tail(law.std() * factor, k);
                let p = p_value(DRAWS, tail, || law.sample(&mut source));
                assert_eq!(p > FALSE_ALARM, fits, "{std} * {factor}: p = {p:e}, seed {seed}");
            }
        }
        Ok(())
    }

    #[test]
    fn coarse_units_follow_the_law() -> Result<()> {
        // With a few units to an integer, a rounding off by one unit is no longer too small to see.
        let (seed, mut source) = test_source(12)?;
        for (units, bits) in [(1, 1), (3, 1), (5, 2), (20, 1)] {
            let tail = |k| rounded_normal_tail(units as f64 / f64::from(1 << bits), k);
            let p = p_value(DRAWS, tail, || draw(units, bits, &mut source));
            assert!(p > FALSE_ALARM, "{units} / 2^{bits}: p = {p:e}, seed {seed}");
        }
        Ok(())
    }

    #[test]
    fn the_test_refuses_a_normal_without_tails_and_one_that_truncates() -> Result<()> {
        let (seed, mut source) = test_source(7)?;
        let mut box_muller = || {
            let radius = (-2.0 * (1.0 - source.unit()).ln()).sqrt();
            radius * (std::f64::consts::TAU * source.unit()).cos()
        };
        let fit =
            |draw: &mut dyn FnMut() -> i64| p_value(DRAWS, |k| rounded_normal_tail(30.0, k), draw);
        // Control: in floating point but otherwise right, to this test's eyes.
        let p = fit(&mut || (30.0 * box_muller()).round() as i64);
        assert!(p > FALSE_ALARM, "control: p = {p:e}, seed {seed}");
        let p = fit(&mut || {
            let inside = std::iter::repeat_with(&mut box_muller).find(|z| z.abs() < 3.5);
            (30.0 * inside.unwrap_or(0.0)).round() as i64
        });
        assert!(p < FALSE_ALARM, "cut: p = {p:e}, seed {seed}");
        let p = fit(&mut || (30.0 * box_muller()) as i64);
        assert!(p < FALSE_ALARM, "truncated: p = {p:e}, seed {seed}");
        Ok(())
    }

    #[test]
    fn the_smallest_std_gives_zeros_and_invalid_ones_are_refused() -> Result<()> {
        let mut source = Source::seeded(0, 0);
        let least = RoundedNormal::new(2f64.powi(-20))?;
        assert!((0..1000).all(|_| least.sample(&mut source) == 0));
        assert!(RoundedNormal::new(-1.0).is_err() && RoundedNormal::new(f64::INFINITY).is_err());
        assert_eq!(RoundedNormal::new(0.75)?.std(), 0.75);
        Ok(())
    }
}
