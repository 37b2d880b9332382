//! Public random frequencies `w ~ N(0, 2 gamma I)` and phases of random Fourier features.
//!
//! Drawn with IEEE basic operations and the pure-Rust `libm` only, so that one seed gives the same
//! bits on every machine: all parties must hold the same frequencies.

use std::f64::consts::TAU;

use crate::rng::Source;

/// A residual shorter than this is drawn again: dividing by it would spoil the orthogonality.
const SHORTEST: f64 = 1e-6;

/// Return `count` frequencies, row-major (count, dim), each marginally `N(0, 2 gamma I)`.
///
/// Orthogonal ones come in blocks of up to `dim` orthogonal directions, each with the length of an
/// independent Gaussian vector (Yu et al. 2016): the same marginal law, a smaller error.
pub(crate) fn draw(
    source: &mut Source,
    orthogonal: bool,
    gamma: f64,
    dim: usize,
    count: usize,
) -> Vec<f64> {
    let mut omega = vec![0.0; count * dim];
    if orthogonal {
        omega.chunks_mut(dim * dim).for_each(|block| fill_orthogonal(source, block, dim));
    } else {
        fill_normal(source, &mut omega);
    }
    let scale = (2.0 * gamma).sqrt();
    omega.iter_mut().for_each(|w| *w *= scale);
    omega
}

/// Return `count` phases, uniform in `[0, 2 pi)`.
pub(crate) fn draw_phases(source: &mut Source, count: usize) -> Vec<f64> {
    (0..count).map(|_| source.unit() * TAU).collect()
}

/// Fill with standard normal numbers (Box and Muller 1958).
fn fill_normal(source: &mut Source, out: &mut [f64]) {
    for pair in out.chunks_mut(2) {
        // 1 - unit is in (0, 1], so the logarithm is finite.
        let radius = (-2.0 * libm::log(1.0 - source.unit())).sqrt();
        let (sine, cosine) = libm::sincos(TAU * source.unit());
        for (slot, value) in pair.iter_mut().zip([cosine, sine]) {
            *slot = radius * value;
        }
    }
}

/// Fill with at most `dim` orthogonal rows: Gram-Schmidt on Gaussian rows, then independent lengths.
fn fill_orthogonal(source: &mut Source, block: &mut [f64], dim: usize) {
    for i in 0..block.len() / dim {
        let (done, rest) = block.split_at_mut(i * dim);
        let row = &mut rest[..dim];
        let mut residual = 0.0;
        // The direction of a residual does not depend on its length, so drawing again is unbiased.
        while residual < SHORTEST {
            fill_normal(source, row);
            // Twice is enough for orthogonality to working precision.
            for _ in 0..2 {
                for direction in done.chunks_exact(dim) {
                    let along = dot(direction, row);
                    row.iter_mut().zip(direction).for_each(|(x, d)| *x -= along * d);
                }
            }
            residual = dot(row, row).sqrt();
        }
        row.iter_mut().for_each(|x| *x /= residual);
    }
    let mut gaussian = vec![0.0; dim];
    for row in block.chunks_exact_mut(dim) {
        fill_normal(source, &mut gaussian);
        let length = dot(&gaussian, &gaussian).sqrt();
        row.iter_mut().for_each(|x| *x *= length);
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kolmogorov-Smirnov distance to N(0, variance), times the root of the sample size.
    fn ks(mut sample: Vec<f64>, variance: f64) -> f64 {
        sample.sort_by(f64::total_cmp);
        let n = sample.len() as f64;
        let cdf = |x: f64| 0.5 * libm::erfc(-x / (2.0 * variance).sqrt());
        let gap = |(i, &x): (usize, &f64)| {
            (cdf(x) - i as f64 / n).abs().max((cdf(x) - (i + 1) as f64 / n).abs())
        };
        n.sqrt() * sample.iter().enumerate().map(gap).fold(0.0, f64::max)
    }

    /// Asymptotic KS quantile at false alarm 1e-6: sqrt(ln(2e6) / 2).
    const QUANTILE: f64 = 2.694;

    /// The first coordinate of the last frequency of each of many draws: independent numbers.
    fn coordinates(orthogonal: bool, dim: usize) -> Vec<f64> {
        let mut source = Source::seeded(5, 77);
        (0..20_000).map(|_| draw(&mut source, orthogonal, 0.3, dim, dim)[dim * (dim - 1)]).collect()
    }

    #[test]
    fn coordinates_are_normal_with_variance_two_gamma() {
        for orthogonal in [false, true] {
            for dim in [1, 3, 8] {
                let sample = coordinates(orthogonal, dim);
                assert!(ks(sample.clone(), 0.6) < QUANTILE, "{orthogonal} {dim}");
                assert!(ks(sample.clone(), 0.6 * 1.33) > QUANTILE);
                assert!(ks(sample, 0.6 / 1.33) > QUANTILE);
            }
        }
    }

    #[test]
    fn lengths_of_orthogonal_frequencies_vary_as_gaussian_ones() {
        // |w|^2 / (2 gamma) is chi-square: mean dim, variance 2 dim; six standard errors.
        let (dim, n) = (16, 4096);
        let omega = draw(&mut Source::seeded(9, 0), true, 0.5, dim, n);
        let squares: Vec<f64> = omega.chunks(dim).map(|w| dot(w, w)).collect();
        let mean = squares.iter().sum::<f64>() / n as f64;
        let variance = squares.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / n as f64;
        assert!((mean - 16.0).abs() < 6.0 * (32.0f64 / n as f64).sqrt(), "{mean}");
        assert!((variance / 32.0 - 1.0).abs() < 0.2, "{variance}");
    }

    #[test]
    fn blocks_are_orthogonal_also_when_cut_short() {
        for (dim, count) in [(1, 5), (7, 7), (64, 150), (300, 20)] {
            let omega = draw(&mut Source::seeded(1, 0), true, 1.0, dim, count);
            for block in omega.chunks(dim * dim) {
                let rows: Vec<&[f64]> = block.chunks(dim).collect();
                for (i, a) in rows.iter().enumerate() {
                    for b in &rows[..i] {
                        let cosine = dot(a, b) / (dot(a, a) * dot(b, b)).sqrt();
                        assert!(cosine.abs() < 1e-13, "{cosine}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_seed_gives_these_frequencies_on_every_machine() {
        let omega = draw(&mut Source::seeded(2024, 1), true, 0.5, 3, 3);
        let bits: Vec<u64> = omega.iter().map(|w| w.to_bits()).collect();
        let expected: [u64; 9] = [
            0xbfe8_8e44_70c6_6899,
            0x3ff1_39c2_b04e_35e8,
            0x3fbe_0863_a84d_96a5,
            0xbff0_0c9a_5667_4ce2,
            0xbfe4_7d38_5c41_0b52,
            0xbfe5_ede4_387b_6546,
            0x3fe4_7948_37a2_7163,
            0x3fe3_e206_c79a_99b0,
            0xbff8_45c8_5b5f_d263,
        ];
        assert_eq!(bits, expected);
    }
}
