//! Features against plain loops, and their law.

use super::*;
use crate::grid::{Grid, features_on_grid, sum_on_grid};
use crate::kernel::tests::{at_threads, normals};
use crate::simd::tests::same_every_way;

const KINDS: [FeatureKind; 2] = [FeatureKind::Paired, FeatureKind::Phase];

/// Plain loops over frequencies with the sine and cosine of the standard library.
fn plain(features: &RandomFeatures, rows: &[f64]) -> Vec<f64> {
    let scale = (2.0 / features.n_features() as f64).sqrt();
    let dim = features.dim();
    let row = |x: &[f64]| {
        let dot = |w: &[f64]| w.iter().zip(x).map(|(w, x)| w * x).sum::<f64>();
        let angles: Vec<f64> = features.omega().chunks(dim).map(dot).collect();
        match features.kind() {
            FeatureKind::Paired => {
                let sines = angles.iter().map(|a| a.sin());
                angles.iter().map(|a| a.cos()).chain(sines).collect::<Vec<_>>()
            }
            FeatureKind::Phase => {
                angles.iter().zip(features.phase()).map(|(a, b)| (a + b).cos()).collect()
            }
        }
    };
    rows.chunks(dim).flat_map(row).map(|h| h * scale).collect()
}

fn close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    let worst = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst < tolerance, "{worst:e}");
}

#[test]
fn equal_plain_loops_in_both_precisions() -> Result<()> {
    for kind in KINDS {
        for (n, dim, d) in [(1, 1, 2), (7, 3, 10), (49, 64, 34), (101, 5, 512), (500, 131, 66)] {
            let features = RandomFeatures::draw(kind, true, 0.4 / dim as f64, dim, d, 3)?;
            let single: Vec<f32> = normals(n * dim, 1).iter().map(|&x| x as f32).collect();
            let rows: Vec<f64> = single.iter().map(|&x| f64::from(x)).collect();
            let expected = plain(&features, &rows);
            close(&features.transform(&Points::new("x", &rows, dim)?)?, &expected, 1e-14);
            let found = features.transform(&Points::new("x", &single, dim)?)?;
            let found: Vec<f64> = found.iter().map(|&x| f64::from(x)).collect();
            close(&found, &expected, 3e-6 / (d as f64).sqrt());
        }
    }
    Ok(())
}

#[test]
fn scores_are_products_with_the_features() -> Result<()> {
    for kind in KINDS {
        for (n, dim, d) in [(1, 1, 2), (50, 4, 30), (999, 9, 130)] {
            let features = RandomFeatures::draw(kind, false, 0.3, dim, d, 8)?;
            let (rows, g) = (normals(n * dim, 2), normals(d, 3));
            let dot = |h: &[f64]| h.iter().zip(&g).map(|(h, g)| h * g).sum::<f64>();
            let expected: Vec<f64> = plain(&features, &rows).chunks(d).map(dot).collect();
            close(&features.project(&Points::new("x", &rows, dim)?, &g)?, &expected, 1e-13);
            let single: Vec<f32> = rows.iter().map(|&x| x as f32).collect();
            close(&features.project(&Points::new("x", &single, dim)?, &g)?, &expected, 2e-5);
        }
    }
    Ok(())
}

#[test]
fn products_with_a_direction_have_the_same_bits_beside_any_others() -> Result<()> {
    for kind in KINDS {
        let features = RandomFeatures::draw(kind, true, 0.3, 4, 70, 8)?;
        let (rows, directions) = (normals(101 * 4, 2), normals(3 * 70, 3));
        let single: Vec<f32> = rows.iter().map(|&x| x as f32).collect();
        let (rows, single) = (Points::new("x", &rows, 4)?, Points::new("x", &single, 4)?);
        let together = features.project(&rows, &directions)?;
        let together_f32 = features.project(&single, &directions)?;
        for (j, direction) in directions.chunks(70).enumerate() {
            let one = |all: &[f64]| all.iter().skip(j).step_by(3).copied().collect::<Vec<f64>>();
            assert_eq!(one(&together), features.project(&rows, direction)?);
            assert_eq!(one(&together_f32), features.project(&single, direction)?);
        }
    }
    Ok(())
}

#[test]
fn far_points_keep_the_accuracy_of_their_angles() -> Result<()> {
    // One frequency 1 and whole angles: exact up to 2^53, so only the trigonometry is tested.
    let features = RandomFeatures::from_parts(FeatureKind::Paired, vec![1.0], vec![], 1)?;
    let rows = [0.0, 355.0, -1e6, 1e9, 1e15];
    close(&features.transform(&Points::new("x", &rows, 1)?)?, &plain(&features, &rows), 1e-15);
    Ok(())
}

#[test]
fn products_approximate_the_kernel_and_paired_norms_are_one() -> Result<()> {
    let (dim, d, gamma) = (6, 8192, 0.08);
    let rows = normals(40 * dim, 4);
    for kind in KINDS {
        for orthogonal in [false, true] {
            let features = RandomFeatures::draw(kind, orthogonal, gamma, dim, d, 11)?;
            let h = features.transform(&Points::new("x", &rows, dim)?)?;
            for (x, h_x) in rows.chunks(dim).zip(h.chunks(d)) {
                let norm: f64 = h_x.iter().map(|h| h * h).sum();
                if kind == FeatureKind::Paired {
                    assert!((norm - 1.0).abs() < 1e-14);
                }
                assert!(norm <= 2.0);
                for (y, h_y) in rows.chunks(dim).zip(h.chunks(d)) {
                    let square: f64 = x.iter().zip(y).map(|(x, y)| (x - y) * (x - y)).sum();
                    let product: f64 = h_x.iter().zip(h_y).map(|(a, b)| a * b).sum();
                    // Terms lie in [-2, 2]/d, so six standard errors are below 12 / sqrt(d).
                    assert!((product - (-gamma * square).exp()).abs() < 6.0 / (d as f64).sqrt());
                }
            }
        }
    }
    Ok(())
}

#[test]
fn same_bits_for_any_number_of_threads_and_on_every_path() -> Result<()> {
    let features = RandomFeatures::draw(FeatureKind::Paired, true, 0.1, 5, 70, 1)?;
    let single: Vec<f32> = normals(1500 * 5, 5).iter().map(|&x| x as f32).collect();
    let points = Points::new("x", &single, 5)?;
    let g = normals(70, 6);
    let run =
        || -> Result<_> { Ok((features.transform(&points)?, features.project(&points, &g)?)) };
    assert_eq!(at_threads(1, run)?, at_threads(3, run)?);
    same_every_way(run)?;
    // Nor do they depend on how the rows are cut into blocks.
    let mut row = vec![0.0; 70];
    features.transform_block(&single[5 * 777..5 * 778], &mut row)?;
    assert_eq!(row, features.transform(&points)?[70 * 777..70 * 778]);
    Ok(())
}

/// Each row's grid features, features and score in a block equal those of the row alone, when any
/// one row of the block lies far out.
fn every_row_is_alone<T: Scalar + PartialEq + std::fmt::Debug>(kind: FeatureKind) -> Result<()> {
    // More than a block and a tile, 48 and 6 rows; more than a panel of lanes.
    let (n, dim, d) = (61, 3, 34);
    let features = RandomFeatures::draw(kind, true, 0.3, dim, d, 4)?;
    let grid = Grid::for_bids(kind, d)?;
    let near: Vec<T> = normals(n * dim, 7).into_iter().map(T::from_f64).collect();
    let g = normals(d, 8);
    let all = |rows: &[T]| -> Result<_> {
        let points = Points::new("x", rows, dim)?;
        let integers = features_on_grid(&features, &points, &grid)?;
        let sums = sum_on_grid(&features, &points, &grid)?;
        Ok((features.transform(&points)?, features.project(&points, &g)?, integers, sums))
    };
    let ways = |rows: &[T]| -> Result<_> { same_every_way(|| all(rows)) };
    for (far, place) in [2e5, -1e6, 1e10, 1e14, 1e15].into_iter().cycle().zip(0..n) {
        let mut rows = near.clone();
        rows[place * dim + place % dim] = T::from_f64(far);
        let whole = ways(&rows)?;
        let mut sums = vec![0; d];
        for (i, row) in rows.chunks(dim).enumerate() {
            let (h, score, integers, sum) = ways(row)?;
            assert_eq!(whole.0[i * d..][..d], h, "{place} {i}");
            assert_eq!(whole.1[i..=i], score, "{place} {i}");
            assert_eq!(whole.2[i * d..][..d], integers, "{place} {i}");
            sums.iter_mut().zip(sum).for_each(|(sums, sum)| *sums += sum);
        }
        assert_eq!(whole.3, sums, "{place}");
    }
    Ok(())
}

#[test]
fn no_row_changes_another() -> Result<()> {
    for kind in KINDS {
        every_row_is_alone::<f32>(kind)?;
        every_row_is_alone::<f64>(kind)?;
    }
    Ok(())
}

#[test]
fn refuses_bad_parameters_and_overflow() -> Result<()> {
    let draw = |kind, gamma, dim, d| RandomFeatures::draw(kind, true, gamma, dim, d, 0).err();
    let (paired, phase) = (FeatureKind::Paired, FeatureKind::Phase);
    for bad in [draw(paired, 0.0, 2, 4), draw(paired, f64::NAN, 2, 4), draw(paired, 1.0, 0, 4)] {
        assert!(matches!(bad, Some(Error::InvalidParameter { .. })));
    }
    assert!(draw(paired, 1.0, 2, 0).is_some() && draw(paired, 1.0, 2, 3).is_some());
    assert!(draw(phase, 1.0, 2, 3).is_none());
    let parts = |omega: &[f64], phase: &[f64], dim| {
        RandomFeatures::from_parts(FeatureKind::Phase, omega.to_vec(), phase.to_vec(), dim).is_err()
    };
    assert!(parts(&[], &[], 1) && parts(&[1.0], &[], 1) && parts(&[1.0, 2.0], &[0.0, 0.0], 2));
    assert!(parts(&[f64::NAN], &[0.0], 1) && parts(&[1.0], &[f64::INFINITY], 1));
    let features = RandomFeatures::draw(paired, true, 1.0, 2, 4, 0)?;
    let far = [f64::MAX, f64::MAX, -f64::MAX, f64::MAX];
    assert!(features.transform(&Points::new("x", &far, 2)?).is_err());
    assert!(features.transform(&Points::new("x", &[0.0; 3], 3)?).is_err());
    assert!(features.project(&Points::new("x", &[0.0; 2], 2)?, &[1.0; 3]).is_err());
    assert!(features.project(&Points::new("x", &[0.0; 2], 2)?, &[]).is_err());
    assert!(features.project(&Points::new("x", &[0.0; 2], 2)?, &[f64::NAN; 4]).is_err());
    assert!(features.project(&Points::new("x", &[0.0; 2], 2)?, &[f64::MAX; 4]).is_err());
    assert!(features.transform_block(&[0.0; 3], &mut [0.0; 4]).is_err());
    Ok(())
}
