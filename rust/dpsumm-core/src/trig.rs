//! Sines and cosines of many angles, in vector registers and with the same bits everywhere.
//!
//! An angle is reduced by the nearest multiple of pi/2, held in two parts (Cody and Waite 1980):
//! with a fused multiply-add the first subtraction is exact, so what remains is the rounding of
//! the second. Polynomials on [-pi/4, pi/4] as in fdlibm (f64) and Cephes (f32).
//!
//! Absolute error of sine and cosine: below 3e-16 (f64) and 1.2e-7 (f32), tested against `libm` in
//! f64. Angles beyond the reach of the reduction go through `libm`, which reduces with as many
//! digits of pi as needed. Which of the two an angle takes depends on that angle alone: one record
//! must not change the bits of another, or sums would move by more than their sensitivity.

macro_rules! sincos {
    ($name:ident, $real:ident, $bits:ty, $shift:literal, reach: $reach:literal, round: $round:literal,
     half_pi_low: $low:literal, sine: [$($s:literal)+], cosine: [$($c:literal)+]) => {
        /// Replace angles by their cosines and fill `sines` (same length); false if an angle is
        /// NaN or infinite.
        #[inline(always)]
        pub(crate) fn $name(angles: &mut [$real], sines: &mut [$real]) -> bool {
            // NaN is not within reach. A mask as wide as the angles needs no packing.
            let mask = |x: &$real| <$bits>::from(x.abs() <= $reach);
            let near = angles.iter().fold(1, |near, x| near & mask(x)) == 1;
            let Some(exact) = (if near { Some(Vec::new()) } else { far(angles) }) else {
                return false;
            };
            // All angles, so that no register waits for a far one; the far are then put right.
            for (angle, sine) in angles.iter_mut().zip(sines.iter_mut()) {
                let x = *angle;
                // Adding 1.5 * 2^(mantissa bits) rounds to an integer and leaves it in the low bits.
                let shifted = x.mul_add(std::$real::consts::FRAC_2_PI, $round);
                let turns = shifted - $round;
                let quadrant = shifted.to_bits();
                let r = (-turns).mul_add($low, (-turns).mul_add(std::$real::consts::FRAC_PI_2, x));
                let z = r * r;
                let s = horner(z, &[$($s),+]);
                let s = (r * z).mul_add(s, r);
                let c = (z * z).mul_add(horner(z, &[$($c),+]), z.mul_add(-0.5, 1.0));
                // Odd quadrants swap sine and cosine: a mask, for a branch would leave the registers.
                let (s, c) = (s.to_bits(), c.to_bits());
                let swap = (s ^ c) & (quadrant & 1).wrapping_neg();
                *sine = $real::from_bits(s ^ swap ^ ((quadrant & 2) << $shift));
                *angle = $real::from_bits(c ^ swap ^ ((quadrant.wrapping_add(1) & 2) << $shift));
            }
            for (i, sine, cosine) in exact {
                (sines[i], angles[i]) = (sine, cosine);
            }
            return true;

            #[inline(always)]
            fn horner(z: $real, coefficients: &[$real]) -> $real {
                coefficients[1..].iter().fold(coefficients[0], |sum, &c| z.mul_add(sum, c))
            }

            /// Places, sines and cosines of the angles out of reach; none if one is not finite.
            #[cold]
            #[inline(never)]
            fn far(angles: &[$real]) -> Option<Vec<(usize, $real, $real)>> {
                let out_of_reach = angles.iter().enumerate().filter(|(_, x)| x.abs() > $reach || x.is_nan());
                let exact = out_of_reach.map(|(i, &x)| {
                    let (s, c) = libm::sincos(f64::from(x));
                    x.is_finite().then_some((i, s as $real, c as $real))
                });
                exact.collect()
            }
        }
    };
}

sincos!(sincos_f32, f32, u32, 30, reach: 1e5, round: 12_582_912.0,
    half_pi_low: -4.371_139e-8,
    sine: [-1.951_529_6e-4 8.332_161e-3 -1.666_665_5e-1],
    cosine: [2.443_315_7e-5 -1.388_731_6e-3 4.166_664_6e-2]);

sincos!(sincos_f64, f64, u64, 62, reach: 1e9, round: 6_755_399_441_055_744.0,
    half_pi_low: 6.123_233_995_736_766e-17,
    sine: [1.589_690_995_211_55e-10 -2.505_076_025_340_686_3e-8 2.755_731_370_707_006_8e-6
        -1.984_126_982_985_795e-4 8.333_333_333_322_49e-3 -1.666_666_666_666_663_2e-1],
    cosine: [-1.135_964_755_778_819_5e-11 2.087_572_321_298_175e-9 -2.755_731_435_139_066_3e-7
        2.480_158_728_947_673e-5 -1.388_888_888_887_411e-3 4.166_666_666_666_66e-2]);

#[cfg(test)]
mod tests {
    use super::*;

    /// Angles of all sizes up to `reach`, both signs, and some next to multiples of pi/2.
    fn angles(reach: f64) -> Vec<f64> {
        let spread = (0..1_000_000).map(|i| (f64::from(i) / 1e6).powi(6) * reach);
        let near = (0..50_000).map(|i| f64::from(i) * std::f64::consts::FRAC_PI_2);
        let all: Vec<f64> = spread.chain(near).filter(|x| *x <= reach).collect();
        all.iter().map(|x| -x).chain(all.iter().copied()).collect()
    }

    #[test]
    fn f64_stays_within_its_error() {
        let x = angles(1e9);
        let (mut cos, mut sin) = (x.clone(), vec![0.0; x.len()]);
        assert!(sincos_f64(&mut cos, &mut sin));
        let errors = x.iter().zip(cos.iter().zip(&sin)).map(|(&x, (cos, sin))| {
            let (s, c) = libm::sincos(x);
            (cos - c).abs().max((sin - s).abs())
        });
        let worst = errors.fold(0.0, f64::max);
        assert!(worst < 3e-16, "{worst:e}");
        assert!(cos.iter().chain(&sin).all(|x| x.abs() <= 1.0));
    }

    #[test]
    fn f32_stays_within_its_error() {
        let x: Vec<f32> = angles(99_999.0).iter().map(|&x| x as f32).collect();
        let (mut cos, mut sin) = (x.clone(), vec![0.0; x.len()]);
        assert!(sincos_f32(&mut cos, &mut sin));
        let errors = x.iter().zip(cos.iter().zip(&sin)).map(|(&x, (&cos, &sin))| {
            let (s, c) = libm::sincos(f64::from(x));
            (f64::from(cos) - c).abs().max((f64::from(sin) - s).abs())
        });
        let worst = errors.fold(0.0, f64::max);
        assert!(worst < 1.2e-7, "{worst:e}");
        assert!(cos.iter().chain(&sin).all(|x| x.abs() <= 1.0));
    }

    #[test]
    fn far_angles_are_reduced_exactly_and_endless_ones_refused() {
        let (mut cos, mut sin) = ([1e22, -3e300], [0.0; 2]);
        assert!(sincos_f64(&mut cos, &mut sin));
        assert!((sin[0] + 0.852_200_849_767_188_8).abs() < 1e-15);
        assert_eq!((sin[1], cos[1]), libm::sincos(-3e300));
        let (mut cos, mut sin) = ([3e30f32, 0.5], [0.0; 2]);
        assert!(sincos_f32(&mut cos, &mut sin));
        assert_eq!(sin[0], libm::sin(f64::from(3e30f32)) as f32);
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(!sincos_f64(&mut [1.0, bad], &mut [0.0; 2]));
            assert!(!sincos_f32(&mut [1.0, bad as f32], &mut [0.0; 2]));
        }
    }

    /// Whether every angle of a block has the bits that it has alone, far ones among near ones at
    /// every place of the block, up to the edge of the reach.
    macro_rules! alone {
        ($sincos:ident, $real:ident, $reach:literal) => {{
            let bits = |x: &[$real]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            let edge = <$real>::next_up($reach);
            let far = [edge, 3.0 * $reach, 1e30, -edge, $real::MAX];
            for n in 1..70 {
                let near = |i: usize| ((i * 37 + n) as $real).sin() * (i as $real + 0.3);
                let mut angles: Vec<$real> = (0..n).map(near).collect();
                angles[n / 2] = $reach;
                for place in 0..n {
                    let mut block = angles.clone();
                    block[place] = far[place % far.len()];
                    let mut single = block.clone();
                    let (mut sines, mut sine) = (vec![0.0; n], vec![0.0; n]);
                    assert!($sincos(&mut block, &mut sines));
                    for (angle, sine) in single.chunks_mut(1).zip(sine.chunks_mut(1)) {
                        assert!($sincos(angle, sine));
                    }
                    assert_eq!((bits(&block), bits(&sines)), (bits(&single), bits(&sine)));
                }
            }
        }};
    }

    #[test]
    fn no_angle_changes_another() {
        alone!(sincos_f32, f32, 1e5);
        alone!(sincos_f64, f64, 1e9);
    }
}
