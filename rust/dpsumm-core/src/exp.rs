//! The exponential of numbers that are not positive, in vector registers and with the same bits
//! everywhere.

/// Below this the result is 0; the true value is under 3.4e-308.
const UNDERFLOW: f64 = -708.0;
/// Adding 1.5 * 2^52 rounds to an integer and leaves it in the low bits.
const ROUND: f64 = 6_755_399_441_055_744.0;
const LN_2_HIGH: f64 = std::f64::consts::LN_2;
const LN_2_LOW: f64 = 2.319_046_813_846_299_6e-17;
/// (exp(r) - 1 - r) / r^2 on [-ln(2)/2, ln(2)/2], highest power first: weighted minimax fit, which
/// leaves a relative error of 3.7e-18 in exp(r).
const TAIL: [f64; 10] = [
    2.500_007_750_907_668_8e-8,
    2.763_025_044_937_028e-7,
    2.755_758_633_499_806_3e-6,
    2.480_149_309_271_966_6e-5,
    1.984_126_950_660_437_5e-4,
    1.388_888_894_363_650_4e-3,
    8.333_333_333_494_461e-3,
    4.166_666_666_653_013_5e-2,
    0.166_666_666_666_664_13,
    0.500_000_000_000_001_1,
];

/// Return `exp(x)` for `x <= 0` (also minus infinity), exactly 1 at 0.
///
/// Relative error below 4.6e-16, tested against `libm`, except that results below 3.4e-308 become 0.
#[inline(always)]
pub(crate) fn exp_nonpositive(x: f64) -> f64 {
    // x = n ln 2 + r. The first fused operation is exact, as in `trig`.
    let shifted = x.mul_add(std::f64::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = (-n).mul_add(LN_2_LOW, (-n).mul_add(LN_2_HIGH, x));
    let tail = TAIL[1..].iter().fold(TAIL[0], |sum, &c| r.mul_add(sum, c));
    let e = r.mul_add(r.mul_add(tail, 1.0), 1.0);
    // Add n to the exponent. Nothing is subnormal above the underflow limit.
    let scaled = f64::from_bits(e.to_bits().wrapping_add(shifted.to_bits() << 52));
    if x >= UNDERFLOW { scaled } else { 0.0 }
}

/// Return `2^y` for `y <= 0`, exactly 1 at 0 and 0 below -126. Relative error below 3e-7 above.
#[inline(always)]
pub(crate) fn exp2_nonpositive(y: f32) -> f32 {
    /// Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits.
    const ROUND: f32 = 12_582_912.0;
    /// `2^r` on [-1/2, 1/2], highest power first, without the 1: minimax fit within 1.1e-7.
    #[expect(clippy::approx_constant, reason = "the fit's coefficient, not ln 2")]
    const POWERS: [f32; 5] =
        [0.001_326_472_7, 0.009_671_513, 0.055_507_336, 0.240_222_42, 0.693_147];
    let shifted = y + ROUND;
    let r = y - (shifted - ROUND);
    let e = POWERS[1..].iter().fold(POWERS[0], |sum, &c| r.mul_add(sum, c)).mul_add(r, 1.0);
    let scaled = f32::from_bits(e.to_bits().wrapping_add(shifted.to_bits() << 23));
    if y >= -126.0 { scaled } else { 0.0 }
}

/// Return `exp(x)` for `x <= 0` (also minus infinity), exactly 1 at 0. Relative error below 1e-5, and
/// below `4e-7 + 1e-7 |x|`.
#[inline(always)]
pub(crate) fn exp_nonpositive_f32(x: f32) -> f32 {
    exp2_nonpositive(x * std::f32::consts::LOG2_E)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stays_within_its_relative_error() {
        let mut worst: f64 = 0.0;
        for i in 0..2_000_000 {
            let x = -(f64::from(i) / 2_000_000.0).powi(3) * 707.9;
            let exact = libm::exp(x);
            worst = worst.max(((exp_nonpositive(x) - exact) / exact).abs());
        }
        assert!(worst < 4.6e-16, "{worst:e}");
    }

    #[test]
    fn matches_known_values() {
        assert_eq!(exp_nonpositive(0.0), 1.0);
        assert_eq!(exp_nonpositive(-0.0), 1.0);
        assert_eq!(exp_nonpositive(-f64::MIN_POSITIVE), 1.0);
        for x in [-708.01, -1e5, -1e300, f64::MIN, f64::NEG_INFINITY] {
            assert_eq!(exp_nonpositive(x), 0.0);
        }
        assert!(exp_nonpositive(-707.99) > 0.0);
    }
}
