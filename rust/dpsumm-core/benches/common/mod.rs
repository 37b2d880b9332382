//! What the benches share: settings under which all of them take minutes, and data.

use std::time::Duration;

use criterion::Criterion;
use dpsumm_core::rng::Source;

/// Few samples: growth and large changes show, a percent does not.
pub fn settings() -> Criterion {
    Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(1))
}

/// Normal points (Irwin-Hall) around `shift`, (n, dim) row-major.
#[allow(dead_code)] // not every bench needs points
pub fn normals(n: usize, dim: usize, shift: f64, seed: u64) -> Vec<f64> {
    let mut source = Source::seeded(seed, 0);
    let mut one = || (0..12).map(|_| source.unit()).sum::<f64>() - 6.0 + shift;
    (0..n * dim).map(|_| one()).collect()
}
