//! Kernel means against plain loops; tables that other tests use.

use super::*;
use crate::rng::Source;
use crate::simd::tests::same_every_way;

/// Standard normal numbers.
pub(crate) fn normals(count: usize, seed: u64) -> Vec<f64> {
    let mut source = Source::seeded(seed, 0);
    let mut one = || {
        let radius = (-2.0 * (1.0 - source.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * source.unit()).cos()
    };
    (0..count).map(|_| one()).collect()
}

/// Rows of few distinct small numbers.
pub(crate) fn lattice(n: usize, dim: usize, seed: u64) -> Vec<f64> {
    let mut source = Source::seeded(seed, 0);
    (0..n * dim).map(|_| source.below(4) as f64 / 4.0).collect()
}

/// The result of `work` with some number of threads.
pub(crate) fn at_threads<R: Send>(n: usize, work: impl FnOnce() -> R + Send) -> R {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build();
    pool.expect("the machine can start a few threads").install(work)
}

/// Plain loops and the exponential of the standard library.
pub(crate) fn plain_means(points: &[f64], others: &[f64], dim: usize, gamma: f64) -> Vec<f64> {
    let kernel = |x: &[f64], y: &[f64]| {
        (-gamma * x.iter().zip(y).map(|(x, y)| (x - y) * (x - y)).sum::<f64>()).exp()
    };
    let mean =
        |x| others.chunks(dim).map(|y| kernel(x, y)).sum::<f64>() / (others.len() / dim) as f64;
    points.chunks(dim).map(mean).collect()
}

fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn means_equal_plain_loops() -> Result<()> {
    for (n, m, dim) in [(1, 1, 1), (1, 9, 3), (5, 1, 2), (49, 17, 1), (100, 95, 64), (13, 50, 131)]
    {
        let (a, b) = (normals(n * dim, 1), normals(m * dim, 2));
        let gamma = 0.7 / dim as f64;
        let means = kernel_means(&Points::new("a", &a, dim)?, &Points::new("b", &b, dim)?, gamma)?;
        assert!(largest_difference(&means, &plain_means(&a, &b, dim, gamma)) < 1e-14);
    }
    Ok(())
}

#[test]
fn single_precision_points_lose_nothing_more() -> Result<()> {
    let single = |seed| normals(60 * 7, seed).iter().map(|&x| x as f32).collect::<Vec<f32>>();
    let double = |x: &[f32]| x.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
    let (a, b) = (single(1), single(2));
    let means = kernel_means(&Points::new("a", &a, 7)?, &Points::new("b", &b, 7)?, 0.1)?;
    assert!(largest_difference(&means, &plain_means(&double(&a), &double(&b), 7, 0.1)) < 1e-14);
    Ok(())
}

#[test]
fn a_far_origin_does_not_matter() -> Result<()> {
    // Whole numbers, so that the shifted table holds the same differences exactly.
    let near: Vec<f64> = normals(80 * 5, 3).iter().map(|x| (x * 4.0).round()).collect();
    let far: Vec<f64> = near.iter().map(|x| x + 1e12).collect();
    let table = Points::new("far", &far, 5)?;
    let means = kernel_means(&table, &table, 0.01)?;
    assert!(largest_difference(&means, &plain_means(&near, &near, 5, 0.01)) < 1e-13);
    Ok(())
}

#[test]
fn equal_rows_have_kernel_exactly_one() -> Result<()> {
    for offset in [0.0, 0.1, 1e9] {
        let row: Vec<f64> = normals(37, 4).iter().map(|x| x * 1e3 + offset).collect();
        let table = row.repeat(19);
        let table = Points::new("table", &table, 37)?;
        assert!(kernel_means(&table, &table, 1e6)?.iter().all(|&k| k == 1.0));
    }
    // And a row among others far away keeps exactly its own share.
    let spread: Vec<f64> = normals(50 * 3, 5).iter().map(|x| x * 1e6).collect();
    let spread = Points::new("spread", &spread, 3)?;
    assert!(kernel_means(&spread, &spread, 1.0)?.iter().all(|&k| k == 1.0 / 50.0));
    Ok(())
}

#[test]
fn same_bits_for_any_number_of_threads_and_on_every_path() -> Result<()> {
    let (a, b) = (normals(333 * 6, 6), normals(77 * 6, 7));
    let (a, b) = (Points::new("a", &a, 6)?, Points::new("b", &b, 6)?);
    let run = || kernel_means(&a, &b, 0.2);
    assert_eq!(at_threads(1, run)?, at_threads(3, run)?);
    same_every_way(run)?;
    Ok(())
}

#[test]
fn refuses_bad_parameters_and_overflow() -> Result<()> {
    let (good, huge) = ([0.0, 1.0], [1e200, -1e200]);
    let (good, huge) = (Points::new("good", &good, 1)?, Points::new("huge", &huge, 1)?);
    let none = Points::<f64>::new("none", &[], 1)?;
    let wide = Points::new("wide", &[0.0, 1.0], 2)?;
    let name = |r: Result<Vec<f64>>| match r {
        Err(Error::InvalidParameter { name, .. }) => name,
        other => panic!("not refused: {other:?}"),
    };
    for gamma in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(name(kernel_means(&good, &good, gamma)), "gamma");
    }
    assert_eq!(name(kernel_means(&good, &none, 1.0)), "none");
    assert_eq!(name(kernel_means(&good, &wide, 1.0)), "wide");
    assert_eq!(name(kernel_means(&good, &huge, 1.0)), "huge");
    assert_eq!(name(kernel_means(&huge, &good, 1.0)), "huge");
    assert!(kernel_means(&none, &good, 1.0)?.is_empty());
    Ok(())
}
