//! p of n points of `dim` coordinates towards m target points, and offers of an owner.

mod common;

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use dpsumm_core::kernel::kernel_means;
use dpsumm_core::points::Points;
use dpsumm_core::selection::{greedy, greedy_towards};

/// The steps at one size, each in its group.
fn steps(criterion: &mut Criterion, by: &str, size: usize, (n, dim, p): (usize, usize, usize)) {
    let gamma = 0.5 / dim as f64;
    let data = common::normals(n, dim, 0.0, 1);
    let target = common::normals(200, dim, 0.5, 2);
    let data = Points::new("points", &data, dim).expect("finite points");
    let target = Points::new("target", &target, dim).expect("finite points");
    let attraction = kernel_means(&data, &target, gamma).expect("valid parameters");
    let id = || BenchmarkId::from_parameter(size);
    if by != "p" {
        criterion.benchmark_group(format!("kernel_means by {by}")).bench_function(id(), |b| {
            b.iter(|| kernel_means(black_box(&data), &target, gamma));
        });
    }
    criterion.benchmark_group(format!("greedy by {by}")).bench_function(id(), |b| {
        b.iter(|| greedy(black_box(&data), &attraction, gamma, p));
    });
    criterion.benchmark_group(format!("greedy_towards by {by}")).bench_function(id(), |b| {
        b.iter(|| greedy_towards(black_box(&data), &target, gamma, p));
    });
}

fn selection(criterion: &mut Criterion) {
    for n in [500, 5000, 50_000] {
        steps(criterion, "n", n, (n, 64, 100));
    }
    for dim in [4, 40, 400] {
        steps(criterion, "dim", dim, (5000, dim, 100));
    }
    for p in [10, 100, 1000] {
        steps(criterion, "p", p, (5000, 64, p));
    }
    steps(criterion, "n and p", 50_000, (50_000, 64, 500));
}

criterion_group! { name = benches; config = common::settings(); targets = selection }
criterion_main!(benches);
