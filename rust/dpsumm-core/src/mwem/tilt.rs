//! Mean of an exponentially tilted uniform law on the grid `S = {-1, -1 + eta, .., 1}`.
//!
//! With `P(s) ~ exp(theta s)`, `a = 1 + eta/2` and `b = eta/2`, the mean is
//! `a coth(a theta) - b coth(b theta)`: the log-derivative of a geometric sum, which is
//! `sinh(a theta) / sinh(b theta)`. Both terms hold `1/theta`; taking it out of each leaves
//! `a L(a theta) - b L(b theta)` with Langevin's function `L(z) = coth z - 1/z`, and nothing that
//! cancels near zero.

/// Depth of the continued fraction: on `[0, 1]` the rest is below `1e-18` of the value.
const DEPTH: u32 = 9;

/// Return the mean, in `[-1, 1]`, for a grid of `steps + 1` points (`eta = 2 / steps`).
///
/// Odd and increasing in `theta`, exact to a few units in the last place, and the same bits on
/// every machine: basic operations and the portable `expm1` of `libm` only. Infinite `theta` gives
/// the end.
pub(super) fn mean(theta: f64, steps: u32) -> f64 {
    let b = 1.0 / f64::from(steps);
    let a = 1.0 + b;
    let size = theta.abs();
    let mean = a * langevin(a * size) - b * langevin(b * size);
    mean.clamp(0.0, 1.0).copysign(theta)
}

/// `coth z - 1/z` for `z >= 0`.
fn langevin(z: f64) -> f64 {
    if z <= 1.0 {
        // Lambert's fraction z/(3 + z^2/(5 + z^2/(7 + ..))): positive terms only.
        let square = z * z;
        let tail = (1..DEPTH)
            .rev()
            .fold(f64::from(2 * DEPTH + 1), |rest, k| f64::from(2 * k + 1) + square / rest);
        z / tail
    } else {
        // expm1 overflows to infinity for large z, where coth is 1.
        1.0 + 2.0 / libm::expm1(2.0 * z) - 1.0 / z
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition, with weights relative to the largest.
    fn slow(theta: f64, steps: u32) -> f64 {
        let value = |j: u32| (2.0 * f64::from(j) - f64::from(steps)) / f64::from(steps);
        let weight = |j: u32| (theta * value(j) - theta.abs()).exp();
        // Pairs of opposite values first, so that the sum of a nearly even law does not cancel.
        let moment: f64 = (0..=steps)
            .map(|j| value(j) * (theta * value(j)).exp_m1() * (-theta.abs()).exp())
            .sum();
        moment / (0..=steps).map(weight).sum::<f64>()
    }

    #[test]
    fn mean_equals_the_direct_sum() {
        for steps in [1, 2, 3, 4, 7, 10, 64, 1000] {
            for exponent in -60..40 {
                for sign in [-1.0, 1.0] {
                    let theta = sign * 1.5f64.powi(exponent);
                    if theta.abs() > 300.0 {
                        continue; // exp(2 theta) of the slow twin would overflow
                    }
                    let (fast, slow) = (mean(theta, steps), slow(theta, steps));
                    let error = (fast - slow).abs() / slow.abs();
                    assert!(error < 4e-14, "theta {theta} steps {steps}: {fast} {slow}");
                }
            }
        }
    }

    #[test]
    fn two_points_give_the_hyperbolic_tangent() {
        for k in -400..400 {
            let theta = f64::from(k) * 0.037;
            assert!((mean(theta, 1) - theta.tanh()).abs() < 4e-16, "{theta}");
        }
    }

    #[test]
    fn the_ends_are_reached_and_not_passed() {
        for steps in [1, 5, 1 << 20] {
            for theta in [800.0, 1e9, 1e300, f64::INFINITY] {
                let end = mean(theta, steps);
                assert!(end <= 1.0 && end > 1.0 - 1.1 / 800.0);
                assert_eq!(mean(-theta, steps), -end);
            }
            assert!((mean(f64::INFINITY, steps) - 1.0).abs() < 1e-15);
            assert_eq!(mean(0.0, steps), 0.0);
        }
    }

    #[test]
    fn the_mean_increases_across_the_seam() {
        for steps in [1, 8, 256] {
            let mut last = -1.0;
            for k in -40_000..40_000 {
                let now = mean(f64::from(k) * 1e-4, steps);
                assert!(now > last, "{k}");
                last = now;
            }
        }
    }
}
