//! Best bids among 50,000 rows of 512 grid features: one dense pass, and after a sparse change.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use dpsumm_core::bid::{Bidder, best_bids};
use dpsumm_core::rng::Source;

const N: usize = 50_000;
const D: usize = 512;

fn bids(criterion: &mut Criterion) {
    let mut source = Source::seeded(1, 0);
    let features: Vec<i16> = (0..N * D).map(|_| source.bits() as i16).collect();
    // A sum of 1000 rows on a grid of 2^19 steps has entries of about 2^23 to 2^28.
    let mut direction: Vec<i64> = (0..D).map(|_| (source.bits() as i64) >> 36).collect();
    let mut group = criterion.benchmark_group("bid");
    group.sample_size(10).warm_up_time(Duration::from_secs(1));

    let available = vec![true; N];
    group.bench_function("dense pass and the best", |bencher| {
        bencher.iter(|| black_box(best_bids(&features, &direction, &available, 1)));
    });

    let mut bidder = Bidder::new(features, D).expect("valid shape");
    bidder.set_target(&direction).expect("valid direction");
    for changed in [1, 10, 100, 512] {
        group.bench_function(format!("{changed} coordinates change"), |bencher| {
            bencher.iter(|| {
                direction.iter_mut().take(changed).for_each(|g| *g ^= 1 << 20);
                black_box(bidder.set_summary(&direction))
            });
        });
    }
    for s in [1, 100] {
        group.bench_function(format!("best {s} from cached scores"), |bencher| {
            bencher.iter(|| black_box(bidder.best(401, 1000, s)));
        });
    }
    group.finish();
}

criterion_group!(benches, bids);
criterion_main!(benches);
