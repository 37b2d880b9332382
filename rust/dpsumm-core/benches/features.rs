//! Random features of n points of `dim` coordinates, d features: every pass, and its growth.

mod common;

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use dpsumm_core::features::{FeatureKind, FeatureMap, RandomFeatures};
use dpsumm_core::points::{Points, Scalar};

fn map(dim: usize, d: usize) -> RandomFeatures {
    let gamma = 0.5 / dim as f64;
    RandomFeatures::draw(FeatureKind::Paired, true, gamma, dim, d, 1).expect("valid parameters")
}

fn passes<T: Scalar>(criterion: &mut Criterion, name: &str) {
    let (n, dim, d) = (20_000, 64, 512);
    let data: Vec<T> = common::normals(n, dim, 0.0, 1).into_iter().map(T::from_f64).collect();
    let points = Points::new("points", &data, dim).expect("finite points");
    let features = map(dim, d);
    let direction = vec![1.0 / d as f64; d];
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Elements(n as u64));
    let mut out = vec![T::default(); 480 * d];
    group.bench_function("transform_block", |b| {
        b.iter(|| {
            for start in (0..n / 480 * 480).step_by(480) {
                let rows = black_box(points.rows(start..start + 480));
                features.transform_block(rows, &mut out).expect("small angles");
            }
        });
    });
    group.bench_function("transform", |b| b.iter(|| features.transform(black_box(&points))));
    group.bench_function("scores", |b| {
        b.iter(|| features.project(black_box(&points), &direction));
    });
}

fn both(criterion: &mut Criterion) {
    passes::<f32>(criterion, "features_f32");
    passes::<f64>(criterion, "features_f64");
}

fn growth(criterion: &mut Criterion) {
    let by_n = [1000, 10_000, 100_000].map(|n| ("scores by n", n, (n, 64, 128)));
    let by_dim = [4, 40, 400].map(|dim| ("scores by dim", dim, (10_000, dim, 128)));
    let by_d = [16, 160, 1600].map(|d| ("scores by d", d, (10_000, 64, d)));
    for (name, size, (n, dim, d)) in by_n.into_iter().chain(by_dim).chain(by_d) {
        let data = common::normals(n, dim, 0.0, 1);
        let points = Points::new("points", &data, dim).expect("finite points");
        let (features, direction) = (map(dim, d), vec![1.0 / d as f64; d]);
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Elements((n * d) as u64));
        group.bench_function(BenchmarkId::from_parameter(size), |b| {
            b.iter(|| features.project(black_box(&points), &direction));
        });
    }
}

criterion_group! { name = benches; config = common::settings(); targets = both, growth }
criterion_main!(benches);
