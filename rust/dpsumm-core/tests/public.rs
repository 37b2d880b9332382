//! The crate as others meet it: what its functions say of each other, by plain loops.

use dpsumm_core::bid::{Bidder, best_bids, score_of};
use dpsumm_core::features::{FeatureKind, FeatureMap, RandomFeatures};
use dpsumm_core::grid::{Grid, features_on_grid, sum_on_grid};
use dpsumm_core::kernel::kernel_means;
use dpsumm_core::mmd::{mean_kernel, mean_kernel_self, mmd2};
use dpsumm_core::nearest::nearest;
use dpsumm_core::noise::RoundedNormal;
use dpsumm_core::points::Points;
use dpsumm_core::rng::Source;
use dpsumm_core::selection::{greedy, greedy_towards, objective};
use dpsumm_core::vertical::pad::{Key, Use, fill};
use dpsumm_core::vertical::ring::{OneHot, correction, mask, pair_counts, scatter, times_pad};
use dpsumm_core::{Error, Result};

const GAMMA: f64 = 0.7;

fn table(rows: usize, dim: usize, seed: u64) -> Vec<f64> {
    let mut source = Source::seeded(seed, 0);
    (0..rows * dim).map(|_| 4.0 * source.unit()).collect()
}

fn squared(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(a, b)| (a - b).powi(2)).sum()
}

fn kernel(x: &[f64], y: &[f64]) -> f64 {
    (-GAMMA * squared(x, y)).exp()
}

#[test]
fn the_greedy_picks_what_a_plain_loop_picks() -> Result<()> {
    for (seed, size) in [(1, 5), (2, 30), (3, 60)] {
        let (data, goal) = (table(60, 3, seed), table(25, 3, seed + 100));
        let (points, target) = (Points::new("points", &data, 3)?, Points::new("target", &goal, 3)?);
        let attraction = kernel_means(&points, &target, GAMMA)?;
        let mut rows: Vec<usize> = Vec::new();
        for t in 0..size {
            let score = |y: usize| {
                let crowd: f64 = rows.iter().map(|&x| kernel(points.row(x), points.row(y))).sum();
                attraction[y] - crowd / (t + 1) as f64
            };
            let free = (0..60).filter(|y| !rows.contains(y));
            rows.extend(free.max_by(|&a, &b| score(a).total_cmp(&score(b))));
        }
        let picks = greedy(&points, &attraction, GAMMA, size)?;
        assert_eq!(picks.rows, rows);
        assert_eq!(picks, greedy_towards(&points, &target, GAMMA, size)?);

        let chosen: Vec<f64> = rows.iter().flat_map(|&row| points.row(row).to_vec()).collect();
        let chosen = Points::new("chosen", &chosen, 3)?;
        let own: Vec<f64> = rows.iter().map(|&row| attraction[row]).collect();
        let last = objective(&chosen, &own, GAMMA)?[size - 1];
        let distance = mmd2(&chosen, &target, GAMMA)?;
        assert!((mean_kernel_self(&target, GAMMA)? - last - distance).abs() < 1e-12);
    }
    Ok(())
}

#[test]
fn means_and_neighbours_are_those_of_plain_loops() -> Result<()> {
    let (a, b) = (table(40, 5, 4), table(30, 5, 5));
    let (a, b) = (Points::new("a", &a, 5)?, Points::new("b", &b, 5)?);
    let (places, squares) = nearest(&a, &b, 3)?;
    let mut total = 0.0;
    for i in 0..40 {
        let mut order: Vec<usize> = (0..30).collect();
        order.sort_by(|&x, &y| squared(a.row(i), b.row(x)).total_cmp(&squared(a.row(i), b.row(y))));
        for (k, &j) in order[..3].iter().enumerate() {
            assert_eq!(places[3 * i + k], j as i64);
            assert!((squares[3 * i + k] - squared(a.row(i), b.row(j))).abs() < 1e-12);
        }
        total += (0..30).map(|j| kernel(a.row(i), b.row(j))).sum::<f64>();
    }
    assert!((mean_kernel(&a, &b, GAMMA)? - total / 1200.0).abs() < 1e-14);
    Ok(())
}

#[test]
fn a_sum_is_that_of_its_rows_and_moves_by_no_more_than_the_grid_says() -> Result<()> {
    let map = RandomFeatures::draw(FeatureKind::Phase, false, GAMMA, 2, 31, 6)?;
    let data = table(300, 2, 7);
    let points = Points::new("points", &data, 2)?;
    let grid = Grid::for_features(FeatureKind::Phase, 1 << 18)?;
    let (h, mut row, mut sums) = (map.transform(&points)?, vec![0; 31], vec![0i64; 31]);
    for features in h.chunks(31) {
        grid.round_clamped(features, &mut row)?;
        sums.iter_mut().zip(&row).for_each(|(sum, &q)| *sum += i64::from(q));
    }
    assert_eq!(sum_on_grid(&map, &points, &grid)?, sums);

    let mut changed = data.clone();
    changed[..2].copy_from_slice(&[-1e6, 1e6]);
    let other = sum_on_grid(&map, &Points::new("points", &changed, 2)?, &grid)?;
    let moved: u64 = sums.iter().zip(&other).map(|(a, b)| a.abs_diff(*b).pow(2)).sum();
    assert!(moved > 0 && moved <= 4 * grid.max_norm_squared());
    Ok(())
}

#[test]
fn bids_are_the_scores_that_a_curator_computes_again() -> Result<()> {
    let map = RandomFeatures::draw(FeatureKind::Paired, true, GAMMA, 2, 16, 8)?;
    let data = table(50, 2, 9);
    let grid = Grid::for_bids(FeatureKind::Paired, 16)?;
    let rows = features_on_grid(&map, &Points::new("points", &data, 2)?, &grid)?;
    let mut source = Source::seeded(10, 0);
    let mut direction =
        || -> Vec<i64> { (0..16).map(|_| source.below(2000) as i64 - 1000).collect() };
    let (target, summary) = (direction(), direction());
    let mut owner = Bidder::new(rows.clone(), 16)?;
    owner.set_target(&target)?;
    owner.set_summary(&summary)?;
    let bids = owner.best(3, 5, 50)?;
    assert!(bids.windows(2).all(|two| two[0].score >= two[1].score));
    for bid in &bids {
        let row = &rows[16 * bid.row..16 * (bid.row + 1)];
        assert_eq!(score_of(row, &target, &summary, 3, 5)?, bid.score);
    }
    assert_eq!(owner.best(1, 0, 7)?, best_bids(&rows, &target, &[true; 50], 7)?);
    Ok(())
}

#[test]
fn two_owners_count_their_table_from_words_that_tell_neither_anything() -> Result<()> {
    let (rows, levels) = (500, [4usize, 7]);
    let mut source = Source::seeded(11, 0);
    let codes: [Vec<u32>; 2] =
        levels.map(|n| (0..rows).map(|_| source.below(n as u64) as u32).collect());
    let keys: [Key; 2] = [[3; 32], [4; 32]];
    let [left, right] = [0, 1].map(|i| OneHot::new(&codes[i], 1, levels[i]));
    let (left, right) = (left?, right?);
    let mut masked = levels.map(|n| vec![0u64; rows * n]);
    mask(left, &keys[0], 0, &mut masked[0])?;
    mask(right, &keys[1], 0, &mut masked[1])?;

    let mut share = vec![0u64; 28];
    fill(&keys[0], Use::Share, 0, &mut share);
    let parts = [
        scatter(left, &masked[1], 7)?,
        share,
        times_pad(&masked[0], 4, &keys[1], 7, 0)?,
        correction(rows, &keys[0], 4, &keys[1], 7)?,
    ];
    let both: Vec<u32> = (0..rows).flat_map(|r| [codes[0][r], 4 + codes[1][r]]).collect();
    let plain = pair_counts(OneHot::new(&both, 2, 11)?)?;
    for (i, j) in (0..4).flat_map(|i| (0..7).map(move |j| (i, j))) {
        let word = parts.iter().fold(0u64, |sum, part| sum.wrapping_add(part[7 * i + j]));
        assert_eq!(word, plain[11 * i + 4 + j]);
    }
    Ok(())
}

#[test]
fn threads_change_no_bit() -> Result<()> {
    let (data, goal) = (table(3000, 4, 12), table(500, 4, 13));
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.expect("a pool of threads").install(|| -> Result<_> {
            let (points, target) = (Points::new("a", &data, 4)?, Points::new("b", &goal, 4)?);
            let map = RandomFeatures::draw(FeatureKind::Paired, true, GAMMA, 4, 64, 14)?;
            let picks = greedy_towards(&points, &target, GAMMA, 40)?;
            Ok((picks, map.transform(&points)?, mmd2(&points, &target, GAMMA)?.to_bits()))
        })
    };
    assert_eq!(run(1)?, run(3)?);
    Ok(())
}

#[test]
fn errors_name_the_parameter_and_no_value_of_the_data() -> Result<()> {
    let points = Points::new("patients", &[1.5, 2.5], 1)?;
    let error = greedy(&points, &[0.5, f64::NAN], GAMMA, 1).expect_err("not a number");
    assert_eq!(error, Error::NonFinite { name: "attraction" });
    let error = greedy(&points, &[0.5, 0.5], GAMMA, 3).expect_err("more than there are");
    assert!(error.to_string().starts_with("size: 3"));
    assert!(RoundedNormal::new(f64::NAN).is_err());
    Ok(())
}
