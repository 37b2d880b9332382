//! Landmark features against plain loops, and the bounds against searched pairs of rows.

use super::*;
use crate::grid::{features_on_grid, sum_on_grid};
use crate::kernel::tests::{at_threads, normals};
use crate::rng::Source;
use crate::simd::tests::same_every_way;

/// Unit cells, a category of three and one of two, an interval with a cell for "missing".
const PARTS: [(usize, f64); 5] = [(1, 1.0), (3, 0.7), (1, 2.0), (2, 0.7), (1, 0.3)];
const DIM: usize = 8;

fn region() -> Result<Region> {
    Region::new(PARTS.map(|(cells, limit)| Simplex { cells, limit }).to_vec())
}

/// Rows of the region: uniform in intervals, one cell of each category, some at the ends.
fn rows(source: &mut Source, n: usize) -> Vec<f64> {
    let mut rows = vec![0.0; n * DIM];
    for row in rows.chunks_exact_mut(DIM) {
        let mut first = 0;
        for (cells, limit) in PARTS {
            if cells == 1 {
                let ends = [0.0, 1.0, source.unit(), source.unit()];
                row[first] = limit * ends[source.below(4) as usize];
            } else {
                row[first + source.below(cells as u64) as usize] = limit;
            }
            first += cells;
        }
    }
    rows
}

fn map(count: usize, gamma: f64) -> Result<LandmarkFeatures> {
    let landmarks = rows(&mut Source::seeded(1, 0), count);
    LandmarkFeatures::new(&Points::new("landmarks", &landmarks, DIM)?, gamma, Some(region()?))
}

/// Plain loops: kernel matrix, Cholesky factor by columns, forward substitution for every row.
fn plain(landmarks: &[f64], dim: usize, gamma: f64, rows: &[f64]) -> Vec<f64> {
    let kernel = |x: &[f64], y: &[f64]| {
        (-gamma * x.iter().zip(y).map(|(x, y)| (x - y) * (x - y)).sum::<f64>()).exp()
    };
    let z: Vec<&[f64]> = landmarks.chunks(dim).collect();
    let mut factor = vec![vec![0.0f64; z.len()]; z.len()];
    for i in 0..z.len() {
        for j in 0..=i {
            let ridge = if i == j { RIDGE } else { 0.0 };
            let known: f64 = (0..j).map(|k| factor[i][k] * factor[j][k]).sum();
            let left = kernel(z[i], z[j]) + ridge - known;
            factor[i][j] = if i == j { left.sqrt() } else { left / factor[j][j] };
        }
    }
    let mut features = Vec::new();
    for row in rows.chunks(dim) {
        let mut h = vec![0.0; z.len()];
        for i in 0..z.len() {
            let known: f64 = (0..i).map(|k| factor[i][k] * h[k]).sum();
            h[i] = (kernel(row, z[i]) - known) / factor[i][i];
        }
        features.extend(h);
    }
    features
}

fn close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    let worst = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst < tolerance, "{worst:e}");
}

fn norm(row: impl Iterator<Item = f64>) -> f64 {
    row.map(|x| x * x).sum::<f64>().sqrt()
}

#[test]
fn equal_plain_loops_in_both_precisions() -> Result<()> {
    for (count, n) in [(1, 1), (7, 50), (24, 6), (101, 97)] {
        let landmarks = rows(&mut Source::seeded(1, 0), count);
        let points = rows(&mut Source::seeded(2, 0), n);
        let single: Vec<f32> = points.iter().map(|&x| x as f32).collect();
        let widened: Vec<f64> = single.iter().map(|&x| f64::from(x)).collect();
        let features = map(count, 0.4)?;
        let expected = plain(&landmarks, DIM, 0.4, &points);
        close(&features.transform(&Points::new("x", &points, DIM)?)?, &expected, 1e-10);
        let found = features.transform(&Points::new("x", &single, DIM)?)?;
        let found: Vec<f64> = found.iter().map(|&x| f64::from(x)).collect();
        close(&found, &plain(&landmarks, DIM, 0.4, &widened), 1e-7);
    }
    Ok(())
}

#[test]
fn products_with_directions_are_those_of_the_features() -> Result<()> {
    let features = map(70, 0.3)?;
    let points = rows(&mut Source::seeded(3, 0), 131);
    let points = Points::new("x", &points, DIM)?;
    let directions = normals(70 * 11, 4);
    let h = features.transform(&points)?;
    let dot = |h: &[f64], g: &[f64]| h.iter().zip(g).map(|(h, g)| h * g).sum::<f64>();
    let each = |h| directions.chunks(70).map(move |g| dot(h, g));
    let expected: Vec<f64> = h.chunks(70).flat_map(each).collect();
    let found = features.project(&points, &directions)?;
    close(&found, &expected, 1e-10);
    // In f32 kernel values are right to about 1e-6, and A^T g has numbers in the tens.
    let single: Vec<f32> = points.rows(0..points.len()).iter().map(|&x| x as f32).collect();
    let rough = features.project(&Points::new("x", &single, DIM)?, &directions)?;
    close(&rough, &expected, 2e-3);
    assert!(rough != found);
    // Each direction as if it were alone.
    let one = features.project(&points, &directions[70 * 9..70 * 10])?;
    assert_eq!(one, found.iter().skip(9).step_by(11).copied().collect::<Vec<_>>());
    Ok(())
}

#[test]
fn same_bits_for_any_number_of_threads_and_on_both_paths() -> Result<()> {
    let points = rows(&mut Source::seeded(5, 0), 200);
    let points = Points::new("x", &points, DIM)?;
    let direction = normals(61, 6);
    let run = || -> Result<_> {
        let features = map(61, 0.2)?;
        let sum = sum_on_grid(&features, &points, &features.grid(1 << 20)?)?;
        let single: Vec<f32> = points.rows(0..points.len()).iter().map(|&x| x as f32).collect();
        let rough = features.project(&Points::new("x", &single, DIM)?, &direction)?;
        Ok((features.transform(&points)?, features.project(&points, &direction)?, rough, sum))
    };
    assert_eq!(at_threads(1, run)?, at_threads(3, run)?);
    same_every_way(run)?;
    Ok(())
}

#[test]
fn no_row_changes_another_wherever_it_lies() -> Result<()> {
    let features = map(40, 0.3)?;
    let near = rows(&mut Source::seeded(7, 0), 61);
    let direction = normals(40, 8);
    let all = |rows: &[f64]| -> Result<_> {
        let points = Points::new("x", rows, DIM)?;
        let grid = features.grid(1 << 12)?;
        let integers = features_on_grid(&features, &points, &grid)?;
        Ok((features.transform(&points)?, features.project(&points, &direction)?, integers))
    };
    for (place, far) in [(0, 1e3), (7, -1e200), (48, f64::MAX), (60, -2.0)] {
        let mut rows = near.clone();
        rows[place * DIM + 2] = far;
        let whole = all(&rows)?;
        for (i, row) in rows.chunks(DIM).enumerate() {
            let (h, score, integers) = all(row)?;
            assert_eq!(whole.0[i * 40..][..40], h);
            assert_eq!(whole.1[i..=i], score);
            assert_eq!(whole.2[i * 40..][..40], integers);
        }
    }
    Ok(())
}

#[test]
fn the_map_is_a_contraction_of_the_kernels_own() -> Result<()> {
    let gamma = 0.35;
    let points = rows(&mut Source::seeded(9, 0), 150);
    for count in [3, 100] {
        let features = map(count, gamma)?;
        let h = features.transform(&Points::new("x", &points, DIM)?)?;
        let all: Vec<(&[f64], &[f64])> = points.chunks(DIM).zip(h.chunks(count)).collect();
        for (x, h_x) in &all {
            assert!(norm(h_x.iter().copied()) <= 1.0 + 1e-9);
            for (y, h_y) in &all {
                let exact: f64 = x.iter().zip(*y).map(|(x, y)| (x - y) * (x - y)).sum();
                let allowed = (2.0 - 2.0 * (-gamma * exact).exp()).sqrt();
                let moved = norm(h_x.iter().zip(*h_y).map(|(a, b)| a - b));
                assert!(moved <= allowed + 1e-9, "{moved} {allowed}");
            }
        }
    }
    Ok(())
}

/// Squared L2 distance of two rows' integers.
fn apart(features: &LandmarkFeatures, grid: &Grid, x: &[f64], y: &[f64]) -> Result<f64> {
    let sum = |row: &[f64]| sum_on_grid(features, &Points::new("x", row, DIM)?, grid);
    Ok(norm(sum(x)?.iter().zip(sum(y)?).map(|(a, b)| (a - b) as f64)))
}

#[test]
fn pairs_searched_for_a_large_difference_stay_within_the_bound() -> Result<()> {
    let mut source = Source::seeded(10, 0);
    let levels = 1 << 20;
    // Landmarks at the corners that are compared, so that the bound is nearly reached.
    let mut corners = vec![0.0; 2 * DIM];
    corners[1] = 0.7;
    corners[5] = 0.7;
    corners[DIM..].copy_from_slice(&[1.0, 0.0, 0.0, 0.7, 2.0, 0.0, 0.7, 0.3]);
    for gamma in [0.02, 0.2, 2.0] {
        let landmarks = Points::new("landmarks", &corners, DIM)?;
        let features = LandmarkFeatures::new(&landmarks, gamma, Some(region()?))?;
        let grid = features.grid(levels)?;
        let bound = features.grid_difference(levels);
        let reached = apart(&features, &grid, &corners[..DIM], &corners[DIM..])?;
        assert!(reached <= bound && reached > 0.99 * bound, "{gamma} {reached} {bound}");
        // Beyond the region rows come back to it; a search by single changes goes uphill.
        let mut pair = rows(&mut source, 2);
        let mut best = 0.0;
        for step in 0..600 {
            let mut next = pair.clone();
            let wide = if step % 5 == 0 { 1e6 } else { 3.0 };
            next[source.below(2 * DIM as u64) as usize] = wide * (source.unit() - 0.4);
            let found = apart(&features, &grid, &next[..DIM], &next[DIM..])?;
            assert!(found <= bound, "{gamma} {found} {bound}");
            if found >= best {
                (pair, best) = (next, found);
            }
        }
        assert!(best > 0.9 * bound, "the search found only {best} of {bound}");
    }
    Ok(())
}

#[test]
fn differences_of_many_landmarks_and_norms_stay_within_their_bounds() -> Result<()> {
    let mut source = Source::seeded(11, 0);
    for gamma in [0.05, 0.5, 40.0] {
        let features = map(120, gamma)?;
        let points = rows(&mut source, 120);
        for levels in [64, 1 << 20] {
            let grid = features.grid(levels)?;
            let integers: Vec<Vec<i64>> = points
                .chunks(DIM)
                .map(|row| sum_on_grid(&features, &Points::new("x", row, DIM)?, &grid))
                .collect::<Result<_>>()?;
            for (i, a) in integers.iter().enumerate() {
                assert!(norm(a.iter().map(|&x| x as f64)) <= features.grid_norm(levels));
                for b in &integers[..i] {
                    let apart = norm(a.iter().zip(b).map(|(a, b)| (a - b) as f64));
                    assert!(apart <= features.grid_difference(levels));
                }
            }
        }
    }
    Ok(())
}

#[test]
fn no_row_of_the_region_is_shortened_by_the_clamp() -> Result<()> {
    let features = map(100, 0.1)?;
    let grid = features.grid(1 << 20)?;
    // A landmark's own features have nearly the norm of the kernel's, 1.
    let points = rows(&mut Source::seeded(1, 0), 100);
    let points = Points::new("x", &points, DIM)?;
    let rounded = |x: &f64| (x * f64::from(1 << 20)).round_ties_even() as i64;
    let mut sums = vec![0; 100];
    for row in features.transform(&points)?.chunks(100) {
        assert!(norm(row.iter().copied()) > 0.99);
        sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += rounded(x));
    }
    assert_eq!(sum_on_grid(&features, &points, &grid)?, sums);
    Ok(())
}

#[test]
fn without_a_region_any_rows_differ_by_the_root_of_two() -> Result<()> {
    let landmarks = normals(30 * 3, 12);
    let features = LandmarkFeatures::new(&Points::new("landmarks", &landmarks, 3)?, 0.5, None)?;
    assert!((features.difference() - 2f64.sqrt()).abs() < 1e-6);
    let mut source = Source::seeded(13, 0);
    for _ in 0..300 {
        let far = [1.0, 5.0, 1e3, 1e100][source.below(4) as usize];
        let row = || vec![0.0; 3];
        let (mut x, mut y) = (row(), row());
        x.iter_mut().chain(&mut y).for_each(|x| *x = far * (source.unit() - 0.5));
        let h = |row: &[f64]| features.transform(&Points::new("x", row, 3)?);
        let moved = norm(h(&x)?.iter().zip(h(&y)?).map(|(a, b)| a - b));
        assert!(moved <= features.difference());
    }
    Ok(())
}

#[test]
fn equal_and_very_many_equal_landmarks_work() -> Result<()> {
    let landmarks = [0.3; 64 * 2];
    let features = LandmarkFeatures::new(&Points::new("landmarks", &landmarks, 2)?, 1.0, None)?;
    let h = features.transform(&Points::new("x", &[0.3, 0.3], 2)?)?;
    assert!((norm(h.into_iter()) - 1.0).abs() < 1e-3);
    Ok(())
}

#[test]
fn a_matrix_that_is_no_contraction_has_a_larger_bound_or_none() -> Result<()> {
    let landmarks = rows(&mut Source::seeded(1, 0), 48);
    let points = Points::new("landmarks", &landmarks, DIM)?;
    let origin = origin(&points);
    let packed = Packed::new(&points, &origin, PANEL)?;
    let matrix = kernel_matrix(&points, &origin, &packed, 0.3, 48)?;
    let factor = root::cholesky(&matrix, 48)?;
    let inverse = root::inverse(&factor);
    let prove = |factor, inverse| Bounds::prove(&matrix, factor, inverse, 0.3, &packed);
    let sound = prove(&factor, &inverse)?;
    assert!(sound.operator < 1.0 + 1e-9 && sound.arithmetic < 1e-6);
    // A tenth longer in one direction: the residual tells.
    let mut longer = root::inverse(&factor);
    longer.scale_row(47, 1.1);
    assert!(prove(&factor, &longer)?.operator > 1.09);
    // The factor of another matrix: the ridge no longer covers the difference.
    let other = map_matrix(&points, 0.31)?;
    assert!(prove(&root::cholesky(&other, 48)?, &inverse).is_err());
    Ok(())
}

fn map_matrix(points: &Points<f64>, gamma: f64) -> Result<Vec<f64>> {
    let origin = origin(points);
    let packed = Packed::new(points, &origin, PANEL)?;
    kernel_matrix(points, &origin, &packed, gamma, 48)
}

#[test]
fn what_cannot_be_vouched_for_is_refused() -> Result<()> {
    let build = |landmarks: &[f64], gamma, region| {
        LandmarkFeatures::new(&Points::new("landmarks", landmarks, 2)?, gamma, region)
    };
    assert!(build(&[0.0; 4], 0.0, None).is_err());
    assert!(build(&[], 1.0, None).is_err());
    assert!(build(&[0.0; 4], 1.0, Some(region()?)).is_err(), "8 cells for 2 columns");
    // Distances that f64 cannot hold to the accuracy needed.
    assert!(build(&[1e9, 0.0, -1e9, 3.0], 1.0, None).is_err());
    assert!(build(&[1e200, 0.0, -1e200, 3.0], 1.0, None).is_err());
    let features = map(9, 1.0)?;
    assert!(features.transform(&Points::new("x", &[0.0; 3], 3)?).is_err());
    assert!(features.project(&Points::new("x", &[0.0; 8], 8)?, &[1.0; 8]).is_err());
    assert!(features.project(&Points::new("x", &[0.0; 8], 8)?, &[f64::NAN; 9]).is_err());
    assert!(features.project(&Points::new("x", &[0.0; 8], 8)?, &[f64::MAX; 9]).is_err());
    assert!(features.transform_block(&[0.0; 3], &mut [0.0; 9]).is_err());
    assert!(features.grid(0).is_err() && features.grid(u32::MAX).is_err());
    Ok(())
}
