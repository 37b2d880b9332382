use std::f64::consts::PI;

use super::*;
use crate::features::RandomFeatures;
use crate::rng::Source;

fn gaussian_row(source: &mut Source, d: usize, norm: f64) -> Vec<f64> {
    let row: Vec<f64> = (0..d).map(|_| (0..12).map(|_| source.unit()).sum::<f64>() - 6.0).collect();
    let length = row.iter().map(|x| x * x).sum::<f64>().sqrt();
    row.iter().map(|x| x * norm / length).collect()
}

fn rounded(grid: &Grid, row: &[f64]) -> Result<Vec<i32>> {
    let mut out = vec![0; row.len()];
    grid.round_clamped(row, &mut out)?;
    Ok(out)
}

#[test]
fn rows_inside_the_ball_are_rounded_to_nearest() -> Result<()> {
    let mut source = Source::seeded(1, 0);
    let grid = Grid::new(1 << 20, 1 << 40)?;
    for d in [1, 2, 7, 140] {
        let row = gaussian_row(&mut source, d, 0.99);
        let slow: Vec<i32> =
            row.iter().map(|x| (x * f64::from(1 << 20)).round_ties_even() as i32).collect();
        assert_eq!(rounded(&grid, &row)?, slow);
    }
    let grid = Grid::new(2, 1 << 20)?;
    assert_eq!(
        rounded(&grid, &[0.25, 0.75, -0.25, -0.75, 1.25])?,
        [0, 2, 0, -2, 2],
        "ties to even"
    );
    let mut out = [0; 3];
    grid.round_clamped(&[0.1f32, -0.6, 3.0], &mut out)?;
    assert_eq!(out, [0, -1, 6]);
    Ok(())
}

#[test]
fn unit_rows_lose_a_few_steps_only() -> Result<()> {
    let mut source = Source::seeded(2, 0);
    for (d, levels) in [(2usize, 1u32 << 14), (140, 1 << 17), (512, 1 << 20), (4096, 1 << 20)] {
        let grid = Grid::for_features(FeatureKind::Paired, levels)?;
        for _ in 0..50 {
            let row = gaussian_row(&mut source, d, 1.0);
            for (q, x) in rounded(&grid, &row)?.iter().zip(&row) {
                assert!((f64::from(*q) - x * f64::from(levels)).abs() <= 1.5, "{d}");
            }
        }
    }
    Ok(())
}

#[test]
fn absurd_rows_are_clamped_into_the_ball() -> Result<()> {
    let mut source = Source::seeded(3, 0);
    for (levels, max) in [(1, 1), (3, 7), (1 << 20, 1 << 40), (MAX_LEVELS, 1 << 45)] {
        let grid = Grid::new(levels, max)?;
        for d in [1, 2, 33, 1000] {
            for norm in [1.0, 1.0 + 1e-12, 1.001, 1.5, 10.0, 1e9, 1e200, f64::MAX] {
                let row = gaussian_row(&mut source, d, norm);
                let row: Vec<f64> = row.iter().map(|x| x.clamp(-f64::MAX, f64::MAX)).collect();
                let q = rounded(&grid, &row)?;
                assert!(norm_squared(&q) <= max);
                assert!(q.iter().zip(&row).all(|(&q, &x)| q == 0 || f64::from(q) * x > 0.0));
            }
        }
        let corner = rounded(&grid, &[f64::MAX; 1000])?;
        assert!(norm_squared(&corner) <= max);
        if levels > 1000 {
            assert!(norm_squared(&corner) as f64 > 0.99 * max as f64, "shrunk too much");
        }
    }
    Ok(())
}

#[test]
fn every_small_row_ends_in_the_ball() {
    let side = -7..=7i32;
    for max in [1, 2, 3, 7, 10, 16, 30, 60, 100] {
        for (x, y) in side.clone().flat_map(|x| side.clone().map(move |y| (x, y))) {
            for z in side.clone() {
                let mut row = [x, y, z];
                shorten(&mut row, max);
                assert!(norm_squared(&row) <= max, "{x} {y} {z} {max}");
                let inside = norm_squared(&[x, y, z]) <= max;
                assert!(!inside || row == [x, y, z], "shortened without need");
            }
        }
    }
}

#[test]
fn what_is_not_a_number_is_refused() -> Result<()> {
    let grid = Grid::new(8, 64)?;
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let refused = rounded(&grid, &[0.5, bad]);
        assert_eq!(refused, Err(Error::NonFinite { name: "features" }));
    }
    assert!(grid.round_clamped(&[0.5], &mut [0, 0]).is_err());
    assert!(Grid::new(0, 1).is_err());
    assert!(Grid::new(MAX_LEVELS + 1, 1).is_err());
    assert!(Grid::new(8, 0).is_err());
    assert!(Grid::for_features(FeatureKind::Phase, u32::MAX).is_err());
    assert!(Grid::for_bids(FeatureKind::Paired, 0).is_err());
    Ok(())
}

fn draw(kind: FeatureKind, dim: usize, n_features: usize) -> Result<RandomFeatures> {
    RandomFeatures::draw(kind, false, 0.3, dim, n_features, 5)
}

fn table(source: &mut Source, n: usize, dim: usize) -> Vec<f64> {
    (0..n * dim).map(|_| 6.0 * source.unit() - 3.0).collect()
}

fn squared_distance(a: &[i64], b: &[i64]) -> u64 {
    a.iter().zip(b).map(|(a, b)| a.abs_diff(*b).pow(2)).sum()
}

#[test]
fn sums_equal_the_slow_twin_for_any_number_of_threads() -> Result<()> {
    let mut source = Source::seeded(4, 0);
    for (kind, n) in
        [(FeatureKind::Paired, 700), (FeatureKind::Phase, 1), (FeatureKind::Phase, 513)]
    {
        let features = draw(kind, 5, 24)?;
        let grid = Grid::for_features(kind, 1 << 16)?;
        let data = table(&mut source, n, 5);
        let points = Points::new("points", &data, 5)?;
        let mut slow = vec![0i64; 24];
        for row in features.transform(&points)?.chunks(24) {
            slow.iter_mut().zip(rounded(&grid, row)?).for_each(|(sum, q)| *sum += i64::from(q));
        }
        for threads in [1, 3] {
            let pool =
                rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            assert_eq!(pool.install(|| sum_on_grid(&features, &points, &grid))?, slow);
        }
    }
    Ok(())
}

#[test]
fn neighbours_stay_within_the_sensitivity() -> Result<()> {
    let mut source = Source::seeded(5, 0);
    for kind in [FeatureKind::Paired, FeatureKind::Phase] {
        let features = draw(kind, 3, 10)?;
        let grid = Grid::for_features(kind, 1 << 20)?;
        let mut data = table(&mut source, 20, 3);
        let mut before = sum_on_grid(&features, &Points::new("points", &data, 3)?, &grid)?;
        for round in 0..400 {
            let wide = if round % 4 == 0 { 1e7 } else { 3.0 };
            let row = 3 * source.below(20) as usize;
            data[row..row + 3].iter_mut().for_each(|x| *x = wide * (source.unit() - 0.5));
            let after = sum_on_grid(&features, &Points::new("points", &data, 3)?, &grid)?;
            assert!(squared_distance(&before, &after) <= 4 * grid.max_norm_squared());
            before = after;
        }
    }
    Ok(())
}

#[test]
fn antipodal_records_reach_the_sensitivity() -> Result<()> {
    // One frequency over and over: x and x + pi have opposite features.
    let features = RandomFeatures::from_parts(FeatureKind::Paired, vec![1.0; 8], Vec::new(), 1)?;
    let grid = Grid::for_features(FeatureKind::Paired, 1 << 20)?;
    let sum = |x: f64| sum_on_grid(&features, &Points::new("points", &[0.2, x], 1)?, &grid);
    let distance = (squared_distance(&sum(0.7)?, &sum(0.7 + PI)?) as f64).sqrt();
    let claim = 2.0 * f64::from(grid.levels());
    assert!(distance <= claim && distance > claim - 8.0, "{distance} {claim}");
    Ok(())
}

#[test]
fn bid_features_fit_and_depend_on_their_point_alone() -> Result<()> {
    let mut source = Source::seeded(6, 0);
    let data: Vec<f32> = table(&mut source, 600, 4).iter().map(|&x| x as f32).collect();
    let points = Points::new("points", &data, 4)?;
    for (kind, d) in [(FeatureKind::Paired, 2), (FeatureKind::Paired, 64), (FeatureKind::Phase, 31)]
    {
        let features = draw(kind, 4, d)?;
        let grid = Grid::for_bids(kind, d)?;
        assert!(fits_16_bits(grid.levels(), d) && !fits_16_bits(2 * grid.levels(), d));
        let all = features_on_grid(&features, &points, &grid)?;
        assert!(all.iter().any(|q| q.unsigned_abs() > 1 << 13), "bits are wasted");
        for i in [0, 1, 255, 256, 599] {
            let alone =
                features_on_grid(&features, &Points::new("point", points.row(i), 4)?, &grid)?;
            assert_eq!(alone, all[i * d..(i + 1) * d]);
        }
        let sum = sum_on_grid(&features, &points, &grid)?;
        let columns = (0..d).map(|j| all.iter().skip(j).step_by(d).map(|&q| i64::from(q)).sum());
        assert_eq!(sum, columns.collect::<Vec<i64>>());
        let fine = Grid::for_features(kind, 2 * grid.levels())?;
        assert!(features_on_grid(&features, &points, &fine).is_err());
    }
    let features = draw(FeatureKind::Paired, 3, 8)?;
    assert!(sum_on_grid(&features, &points, &Grid::new(8, 64)?).is_err(), "4 columns for 3");
    Ok(())
}
