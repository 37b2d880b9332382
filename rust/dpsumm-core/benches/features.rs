//! Random features of 100,000 points: 64 coordinates, 512 features.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use dpsumm_core::features::{FeatureKind, RandomFeatures};
use dpsumm_core::points::{Points, Scalar};
use dpsumm_core::rng::Source;

const N: usize = 100_000;
const DIM: usize = 64;
const D: usize = 512;

fn passes<T: Scalar>(c: &mut Criterion, name: &str) {
    let mut source = Source::seeded(1, 0);
    let data: Vec<T> = (0..N * DIM).map(|_| T::from_f64(source.unit() * 2.0 - 1.0)).collect();
    let points = Points::new("points", &data, DIM).expect("finite points");
    let features = RandomFeatures::draw(FeatureKind::Paired, true, 0.01, DIM, D, 1);
    let features = features.expect("valid parameters");
    let direction: Vec<f64> = (0..D).map(|_| source.unit()).collect();
    let mut group = c.benchmark_group(name);
    group.sample_size(10).throughput(Throughput::Elements(N as u64));
    let mut out = vec![T::default(); 480 * D];
    group.bench_function("transform_block", |b| {
        b.iter(|| {
            for start in (0..N / 480 * 480).step_by(480) {
                let rows = black_box(points.rows(start..start + 480));
                features.transform_block(rows, &mut out).expect("small angles");
            }
        });
    });
    group.bench_function("transform", |b| b.iter(|| features.transform(black_box(&points))));
    group.bench_function("scores", |b| {
        b.iter(|| features.scores(black_box(&points), &direction));
    });
}

fn features(c: &mut Criterion) {
    passes::<f32>(c, "features_f32");
    passes::<f64>(c, "features_f64");
}

criterion_group!(benches, features);
criterion_main!(benches);
