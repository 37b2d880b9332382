//! Exact MMD of two samples of n points of `dim` coordinates.

mod common;

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use dpsumm_core::mmd::mmd2;
use dpsumm_core::points::Points;

fn mmd(criterion: &mut Criterion) {
    let by_n = [100, 1000, 10_000].map(|n| ("mmd2 by n, dim = 64", n, n, 64));
    let by_dim = [4, 40, 400].map(|dim| ("mmd2 by dim, n = 2000", dim, 2000, dim));
    for (name, size, n, dim) in by_n.into_iter().chain(by_dim) {
        let (a, b) = (common::normals(n, dim, 0.0, 1), common::normals(n, dim, 0.1, 2));
        let a = Points::new("a", &a, dim).expect("finite points");
        let b = Points::new("b", &b, dim).expect("finite points");
        let mut group = criterion.benchmark_group(name);
        // Kernel values: all pairs between, half of the pairs within.
        group.throughput(Throughput::Elements((2 * n * n) as u64));
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            bencher.iter(|| mmd2(black_box(&a), &b, 0.5 / dim as f64));
        });
    }
}

criterion_group! { name = benches; config = common::settings(); targets = mmd }
criterion_main!(benches);
