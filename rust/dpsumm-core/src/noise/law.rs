//! Goodness of fit for tests: does a sampler follow a law on the integers?
//!
//! Pearson's chi-square against exact bin probabilities. Bins are symmetric, the outermost two are the
//! open tails, and every bin expects at least [`LEAST_EXPECTED`] draws. A p-value below [`FALSE_ALARM`]
//! is a failure, so a correct sampler passes for any seed.

use std::f64::consts::{PI, SQRT_2};

use crate::error::Result;
use crate::rng::Source;

/// Probability that a correct sampler fails one test.
pub const FALSE_ALARM: f64 = 1e-6;
/// More than the usual 5: at 5 the discreteness of the counts already shows at one in a million.
const LEAST_EXPECTED: f64 = 20.0;
/// No bin outside the centre holds more than this share unless it is a single integer.
const LARGEST_SHARE: f64 = 1.0 / 64.0;

/// Return a seed and its source: `DPSUMM_TEST_SEED` if set, else new. Print the seed on failure.
pub fn test_source(stream: u64) -> Result<(u64, Source)> {
    let seed = match std::env::var("DPSUMM_TEST_SEED") {
        Ok(text) => text.parse().expect("DPSUMM_TEST_SEED is an integer below 2^64"),
        Err(_) => Source::system()?.bits(),
    };
    Ok((seed, Source::seeded(seed, stream)))
}

/// Return the p-value of `n` draws against the symmetric law with `tail(k) = P(X >= k)` for `k >= 1`.
pub fn p_value(n: u32, tail: impl Fn(i64) -> f64, mut draw: impl FnMut() -> i64) -> f64 {
    let edges = edges(f64::from(n), &tail);
    let m = edges.len();
    // Bins: [-inf, -e_m], .., (-e_2, -e_1], (-e_1, e_1), [e_1, e_2), .., [e_m, inf)
    let mut counts = vec![0u64; 2 * m + 1];
    for _ in 0..n {
        let k = draw();
        let ring = edges.partition_point(|&e| e <= k.saturating_abs());
        counts[if k < 0 { m - ring } else { m + ring }] += 1;
    }
    let ring_share = |r: usize| match r {
        0 => 1.0 - 2.0 * tail(edges[0]),
        r if r == m => tail(edges[m - 1]),
        r => tail(edges[r - 1]) - tail(edges[r]),
    };
    let shares: Vec<f64> = (0..=2 * m).map(|i| ring_share(i.abs_diff(m))).collect();
    p_value_of_counts(&counts, &shares)
}

/// Return the p-value of counts against the probabilities of their bins. Bins with too few
/// expected are put together.
pub fn p_value_of_counts(counts: &[u64], shares: &[f64]) -> f64 {
    assert_eq!(counts.len(), shares.len());
    let n = counts.iter().sum::<u64>() as f64;
    let (mut statistic, mut bins, mut rare) = (0.0, 0u32, (0.0, 0.0));
    let mut add = |count: f64, expected: f64| {
        statistic += (count - expected).powi(2) / expected;
        bins += 1;
    };
    for (&count, share) in counts.iter().zip(shares) {
        let (count, expected) = (count as f64, share * n);
        if expected >= LEAST_EXPECTED {
            add(count, expected);
        } else {
            rare = (rare.0 + count, rare.1 + expected);
        }
    }
    if rare.1 > 0.0 {
        add(rare.0, rare.1);
    }
    assert!(bins >= 2, "one bin tells nothing: draw more");
    chi_square_tail(bins - 1, statistic)
}

/// Return ascending `e_1 < .. < e_m`, from the far tail inwards.
fn edges(n: f64, tail: &impl Fn(i64) -> f64) -> Vec<i64> {
    let mut edges: Vec<i64> = Vec::new();
    let mut outer: f64 = 0.0;
    loop {
        // Bins grow from the tail to the middle, so that the tail is seen in detail.
        let wanted = f64::min(0.3 * outer, LARGEST_SHARE).max(LEAST_EXPECTED / n);
        let below = edges.last().copied().unwrap_or(i64::MAX);
        let Some(edge) = last_where(below, |k| tail(k) - outer >= wanted) else { break };
        outer = tail(edge);
        edges.push(edge);
    }
    edges.reverse();
    if !edges.is_empty() && (1.0 - 2.0 * tail(edges[0])) * n < LEAST_EXPECTED {
        edges.remove(0); // the centre would be too small
    }
    assert!(!edges.is_empty(), "too few draws to see anything but the centre");
    edges
}

/// Return the largest `k` in `1..below` with `holds(k)`, which is true up to some k and false above.
fn last_where(below: i64, holds: impl Fn(i64) -> bool) -> Option<i64> {
    let (mut low, mut high) = (0, below);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if holds(middle) { low = middle } else { high = middle }
    }
    (low > 0).then_some(low)
}

/// Return `P(X >= k)` of the discrete Laplace law, `k >= 1`.
pub fn laplace_tail(scale: f64, k: i64) -> f64 {
    (-(k as f64) / scale).exp() / (1.0 + (-1.0 / scale).exp())
}

/// Return `P(X >= k)` of the rounded normal law.
pub fn rounded_normal_tail(std: f64, k: i64) -> f64 {
    0.5 * erfc((k as f64 - 0.5) / (std * SQRT_2))
}

/// Return the complementary error function, to about 1e-12 relative.
pub fn erfc(x: f64) -> f64 {
    let bell = (-x * x).exp() / PI.sqrt();
    if x < 2.0 {
        // erf x = 2 bell (x + 2 x^3/3 + 4 x^5/15 + ..): all terms of one sign
        let (mut term, mut sum, mut n) = (x, x, 1.0);
        while f64::abs(term) > 1e-18 * f64::abs(sum) {
            term *= 2.0 * x * x / (2.0 * n + 1.0);
            sum += term;
            n += 1.0;
        }
        1.0 - 2.0 * bell * sum
    } else {
        // Laplace's continued fraction, from the inside
        bell / (1..=200).rev().fold(x, |rest, n| x + 0.5 * f64::from(n) / rest)
    }
}

/// Return the probability that a chi-square variable with `df` degrees of freedom exceeds `x`.
///
/// Closed form: `Q(a + 1, y) = Q(a, y) + y^a exp(-y) / gamma(a + 1)`, from a = 0 or 1/2.
pub fn chi_square_tail(df: u32, x: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    let y = x / 2.0;
    let (mut a, mut sum, mut term) = if df.is_multiple_of(2) {
        (1.0, (-y).exp(), (-y).exp())
    } else {
        (0.5, erfc(y.sqrt()), (-y).exp() / (PI * y).sqrt())
    };
    while a < f64::from(df) / 2.0 {
        term *= y / a;
        sum += term;
        a += 1.0;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::DiscreteLaplace;

    fn close(a: f64, b: f64) -> bool {
        f64::abs(a - b) <= 1e-11 * f64::abs(b)
    }

    #[test]
    fn special_functions_agree_with_mpmath() {
        for (x, value) in [
            (-1.0, 1.8427007929497),
            (0.0, 1.0),
            (0.3, 0.67137324054087),
            (1.0, 0.15729920705028),
            (2.4999, 0.00040716990033345),
            (5.5, 7.3578479179743e-15),
            (8.0, 1.1224297172982e-29),
        ] {
            assert!(close(erfc(x), value), "erfc({x}) = {}", erfc(x));
        }
        for (df, x, value) in [
            (1, 23.9, 1.0147176145441e-6),
            (2, 27.6, 1.0156314710024e-6),
            (3, 30.0, 1.3800570312932e-6),
            (10, 50.0, 2.6690834249044e-7),
            (90, 170.0, 7.2637185857150e-7),
            (91, 100.0, 0.24341264511002),
        ] {
            assert!(close(chi_square_tail(df, x), value), "df {df}, x {x}");
        }
    }

    #[test]
    fn tails_are_those_of_probabilities_that_add_up_to_one() {
        // 1 = P(0) + 2 P(X >= 1), with P(0) in its own closed form.
        for scale in [0.3_f64, 1.0, 20.0] {
            let zero = (1.0 / (2.0 * scale)).tanh();
            assert!(close(zero + 2.0 * laplace_tail(scale, 1), 1.0));
            assert!(close(laplace_tail(scale, 5), laplace_tail(scale, 4) * (-1.0 / scale).exp()));
        }
        assert!(close(rounded_normal_tail(2.0, 3), 0.5 * erfc(2.5 / 8.0_f64.sqrt())));
    }

    #[test]
    fn bins_reach_the_tails_and_the_centre() {
        let n = 1e6;
        for scale in [0.5, 30.0, 1e9] {
            let tail = |k| laplace_tail(scale, k);
            let edges = edges(n, &tail);
            assert!(edges.is_sorted_by(|a, b| a < b));
            let far = edges[edges.len() - 1];
            assert!(n * tail(far) >= LEAST_EXPECTED && n * tail(far + 1) < LEAST_EXPECTED + 1e-3);
            assert!(n * (1.0 - 2.0 * tail(edges[0])) >= LEAST_EXPECTED);
            assert!((1.0 - 2.0 * tail(edges[0])) <= (0.5 / scale).tanh() + 2.0 * LARGEST_SHARE);
        }
    }

    #[test]
    fn p_values_of_a_correct_sampler_are_uniform() -> Result<()> {
        let (seed, mut source) = test_source(0)?;
        let law = DiscreteLaplace::new(3.0)?;
        let p: Vec<f64> = (0..1000)
            .map(|_| p_value(2000, |k| laplace_tail(3.0, k), || law.sample(&mut source)))
            .collect();
        let under = |level| p.iter().filter(|&&p| p < level).count();
        // Expected 10 and 500; both bounds are off by chance less than once in a million.
        assert!(under(0.01) <= 35, "{} below 0.01, seed {seed}", under(0.01));
        assert!(under(0.5).abs_diff(500) <= 80, "{} below 0.5, seed {seed}", under(0.5));
        Ok(())
    }

    #[test]
    fn counts_that_are_off_are_refused() {
        assert!(p_value_of_counts(&[500, 500], &[0.5, 0.5]) > 0.99);
        assert!(p_value_of_counts(&[700, 300], &[0.5, 0.5]) < FALSE_ALARM);
        // Rare bins count together.
        assert!(p_value_of_counts(&[960, 20, 20], &[0.99, 0.005, 0.005]) < FALSE_ALARM);
    }
}
