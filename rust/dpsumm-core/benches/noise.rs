//! Draws a second of each sampler, on one core.

mod common;

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use dpsumm_core::Result;
use dpsumm_core::noise::{DiscreteLaplace, ExponentialTree, RoundedNormal};
use dpsumm_core::rng::Source;

const BATCH: u64 = 1000;
const SCALES: [f64; 4] = [0.5, 3.0, 100.0, 7.8e6];

fn laplace(c: &mut Criterion) {
    let mut group = c.benchmark_group("discrete_laplace");
    group.throughput(Throughput::Elements(BATCH));
    for scale in SCALES {
        let law = DiscreteLaplace::new(scale).expect("a valid scale");
        let mut source = Source::system().expect("entropy");
        group.bench_function(BenchmarkId::from_parameter(scale), |b| {
            b.iter(|| (0..BATCH).fold(0i64, |sum, _| sum ^ black_box(law.sample(&mut source))));
        });
    }
}

fn normal(c: &mut Criterion) {
    let mut group = c.benchmark_group("rounded_normal");
    group.throughput(Throughput::Elements(BATCH));
    for std in SCALES {
        let law = RoundedNormal::new(std).expect("a valid std");
        let mut source = Source::system().expect("entropy");
        group.bench_function(BenchmarkId::from_parameter(std), |b| {
            b.iter(|| (0..BATCH).fold(0i64, |sum, _| sum ^ black_box(law.sample(&mut source))));
        });
    }
}

/// One selection and one changed score: an iteration of MWEM.
fn exponential(c: &mut Criterion) {
    let mut group = c.benchmark_group("exponential_tree");
    group.throughput(Throughput::Elements(1));
    for n in [140usize, 4096, 1 << 20] {
        let scores: Vec<i64> = (0..n as i64).map(|i| i * 7919 % 1000).collect();
        let step = || -> Result<_> {
            let mut tree = ExponentialTree::new(&scores, 0.01)?;
            let mut source = Source::system()?;
            Ok(move || -> Result<()> {
                let i = tree.select(&mut source);
                tree.update(i, (source.bits() >> 54) as i64)
            })
        };
        let mut step = step().expect("valid scores");
        group.bench_function(BenchmarkId::from_parameter(n), |b| b.iter(&mut step));
    }
}

criterion_group! {
    name = benches;
    config = common::settings();
    targets = laplace, normal, exponential
}
criterion_main!(benches);
