//! Best bids among n rows of d grid features: dense passes, and after a sparse change.

mod common;

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use dpsumm_core::bid::{Bidder, best_bids};
use dpsumm_core::rng::Source;

/// Random features (n, d), and a direction as of a sum of 1000 rows on a grid of 2^19 steps, with
/// entries of about 2^23 to 2^28.
fn data(n: usize, d: usize) -> (Vec<i16>, Vec<i64>) {
    let mut source = Source::seeded(1, 0);
    let features = (0..n * d).map(|_| source.bits() as i16).collect();
    let direction = (0..d).map(|_| (source.bits() as i64) >> 36).collect();
    (features, direction)
}

fn dense(criterion: &mut Criterion) {
    let by_n = [1000, 10_000, 100_000].map(|n| ("dense by n, d = 512", n, n, 512));
    let by_d = [16, 160, 1600].map(|d| ("dense by d, n = 20000", d, 20_000, d));
    for (name, size, n, d) in by_n.into_iter().chain(by_d) {
        let (features, direction) = data(n, d);
        let available = vec![true; n];
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Bytes(2 * features.len() as u64));
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            bencher.iter(|| black_box(best_bids(&features, &direction, &available, 1)));
        });
    }
}

fn cached(criterion: &mut Criterion) {
    let (features, mut direction) = data(50_000, 512);
    let mut bidder = Bidder::new(features, 512).expect("valid shape");
    bidder.set_target(&direction).expect("valid direction");
    let mut group = criterion.benchmark_group("changed columns of 512, n = 50000");
    for changed in [1, 10, 100, 512] {
        group.bench_function(BenchmarkId::from_parameter(changed), |bencher| {
            bencher.iter(|| {
                direction.iter_mut().take(changed).for_each(|g| *g ^= 1 << 20);
                black_box(bidder.set_summary(&direction))
            });
        });
    }
    group.finish();
    let mut group = criterion.benchmark_group("best s of cached scores, n = 50000");
    for s in [1, 10, 100] {
        group.bench_function(BenchmarkId::from_parameter(s), |bencher| {
            bencher.iter(|| black_box(bidder.best(401, 1000, s)));
        });
    }
}

criterion_group! { name = benches; config = common::settings(); targets = dense, cached }
criterion_main!(benches);
