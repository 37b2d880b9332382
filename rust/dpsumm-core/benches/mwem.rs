//! Whole runs of MWEM: time by iteration should grow with the logarithm of the coordinates.

mod common;

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use dpsumm_core::mwem::{Mwem, MwemParams};
use dpsumm_core::rng::Source;

fn mwem(criterion: &mut Criterion) {
    let by_d = [100, 1000, 10_000].map(|d| ("mwem by d, T = 10000", d, d, 10_000));
    let by_t = [1656, 16_560, 165_600].map(|t| ("mwem by T, d = 140", t, 140, t));
    let large = [("mwem", 4096, 4096, 262_144)];
    for (name, size, d, iterations) in by_d.into_iter().chain(by_t).chain(large) {
        let (steps, count) = (8, 1000);
        let sums: Vec<i64> = (0..d as i64).map(|i| (i * 7919) % 4001 - 2000).collect();
        let params = MwemParams { iterations, epsilon_select: 0.01, epsilon_measure: 0.01 };
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Elements(iterations as u64));
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            bencher.iter(|| {
                let mut source = Source::seeded(1, 0);
                let release =
                    Mwem::new(d, steps).and_then(|mut m| m.run(&sums, count, &params, &mut source));
                black_box(release)
            });
        });
    }
}

criterion_group! { name = benches; config = common::settings(); targets = mwem }
criterion_main!(benches);
