//! 500 of 50,000 x 64 points towards 1,000 target points, and offers of an owner.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use dpsumm_core::kernel::kernel_means;
use dpsumm_core::points::Points;
use dpsumm_core::rng::Source;
use dpsumm_core::selection::{greedy, greedy_towards, herd};

const N: usize = 50_000;
const DIM: usize = 64;
const GAMMA: f64 = 1.0 / 128.0;

/// Normal points (Irwin-Hall) around `shift`.
fn points(n: usize, shift: f64, seed: u64) -> Vec<f64> {
    let mut source = Source::seeded(seed, 0);
    let mut one = || (0..12).map(|_| source.unit()).sum::<f64>() - 6.0 + shift;
    (0..n * DIM).map(|_| one()).collect()
}

fn selection(c: &mut Criterion) {
    let (data, target) = (points(N, 0.0, 1), points(1000, 0.5, 2));
    let data = Points::new("points", &data, DIM).expect("finite points");
    let target = Points::new("target", &target, DIM).expect("finite points");
    let attraction = kernel_means(&data, &target, GAMMA).expect("valid parameters");
    let mut group = c.benchmark_group("selection");
    group.sample_size(10);
    group.bench_function("kernel_means", |b| {
        b.iter(|| kernel_means(black_box(&data), &target, GAMMA));
    });
    group.bench_function("greedy", |b| {
        b.iter(|| greedy(black_box(&data), &attraction, GAMMA, 500));
    });
    group.bench_function("greedy_towards", |b| {
        b.iter(|| greedy_towards(black_box(&data), &target, GAMMA, 500));
    });
    group.bench_function("herd", |b| {
        b.iter(|| herd(black_box(&data), &attraction, GAMMA, 0.005, 1, 1000));
    });
}

criterion_group!(benches, selection);
criterion_main!(benches);
