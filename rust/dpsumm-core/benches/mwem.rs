//! A whole run of MWEM: time by iteration should grow with the logarithm of the coordinates.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use dpsumm_core::mwem::{Mwem, MwemParams};
use dpsumm_core::rng::Source;

fn mwem(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("mwem");
    group.sample_size(10).warm_up_time(Duration::from_secs(1));
    for (d, iterations) in [(140usize, 1656usize), (4096, 262_144)] {
        let (steps, count) = (8, 1000);
        let sums: Vec<i64> = (0..d as i64).map(|i| (i * 7919) % 4001 - 2000).collect();
        let params = MwemParams { iterations, epsilon_select: 0.01, epsilon_measure: 0.01 };
        group.throughput(Throughput::Elements(iterations as u64));
        group.bench_function(format!("{d} coordinates, {iterations} iterations"), |bencher| {
            bencher.iter(|| {
                let mut source = Source::seeded(1, 0);
                let release =
                    Mwem::new(d, steps).and_then(|mut m| m.run(&sums, count, &params, &mut source));
                black_box(release)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, mwem);
criterion_main!(benches);
