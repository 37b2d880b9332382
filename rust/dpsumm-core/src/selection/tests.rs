//! Lazy picks against plain loops.

use super::*;
use crate::kernel::origin;
use crate::kernel::tests::{at_threads, lattice, normals};
use crate::simd::tests::same_every_way;

/// Plain loops: every score at every pick, with the kernel of the standard library.
fn plain(points: &Points<f64>, attraction: &[f64], gamma: f64, weights: &[f64]) -> Vec<usize> {
    let mut rows: Vec<usize> = Vec::new();
    let mut sums = vec![0.0; points.len()];
    for &weight in weights {
        let score = |i: usize| (-sums[i] as f64).mul_add(weight, attraction[i]);
        let left = (0..points.len()).filter(|i| !rows.contains(i));
        let best = left.reduce(|best, i| if score(i) > score(best) { i } else { best });
        let Some(best) = best else { break };
        for (i, sum) in sums.iter_mut().enumerate() {
            let pairs = points.row(i).iter().zip(points.row(best));
            let square: f64 = pairs.map(|(x, y)| (x - y) * (x - y)).sum();
            *sum += (-gamma * square).exp();
        }
        rows.push(best);
    }
    rows
}

fn means(points: &Points<f64>, target: &[f64], gamma: f64) -> Result<Vec<f64>> {
    crate::kernel::kernel_means(points, &Points::new("target", target, points.dim())?, gamma)
}

#[test]
fn lazy_greedy_picks_what_plain_greedy_picks() -> Result<()> {
    for (n, dim, size, gamma) in
        [(1, 1, 1, 1.0), (9, 1, 9, 0.5), (3001, 5, 90, 0.1), (700, 33, 300, 0.02)]
    {
        let data = normals(n * dim, 1);
        let points = Points::new("points", &data, dim)?;
        let target: Vec<f64> = normals(40 * dim, 2).iter().map(|x| x + 0.5).collect();
        let attraction = means(&points, &target, gamma)?;
        let weights: Vec<f64> = (0..size).map(|t| 1.0 / (t + 1) as f64).collect();
        let picks = greedy(&points, &attraction, gamma, size)?;
        assert_eq!(picks.rows, plain(&points, &attraction, gamma, &weights));
    }
    Ok(())
}

#[test]
fn equal_scores_go_to_the_first_row() -> Result<()> {
    // Few distinct rows, many times each: equal rows have equal scores to the last bit.
    let data = lattice(2500, 2, 3);
    let points = Points::new("points", &data, 2)?;
    for attraction in [vec![0.25; 2500], lattice(2500, 1, 4)] {
        let picks = greedy(&points, &attraction, 8.0, 120)?;
        let weights: Vec<f64> = (0..120).map(|t| 1.0 / (t + 1) as f64).collect();
        assert_eq!(picks.rows, exhaustive(&points, &attraction, 8.0, &weights));
    }
    let same = vec![1.0; 40];
    let points = Points::new("points", &same, 2)?;
    assert_eq!(greedy(&points, &[0.5; 20], 1.0, 20)?.rows, (0..20).collect::<Vec<_>>());
    Ok(())
}

#[test]
fn copies_are_picked_one_by_one_in_their_order() -> Result<()> {
    let (n, dim, gamma) = (1500, 20, 0.02);
    let target: Vec<f64> = normals(200 * dim, 16).iter().map(|x| x + 0.5).collect();
    // Copies of the best row, of an average one and, with other signs of its zeros, of the origin.
    let mut data = normals(n * dim, 15);
    let first = means(&Points::new("points", &data, dim)?, &target, gamma)?;
    let best = (0..n).reduce(|a, b| if first[b] > first[a] { b } else { a }).unwrap_or(0);
    for (row, from) in (0..n).filter(|row| row % 3 != 0).zip([best, 7].into_iter().cycle()) {
        data.copy_within(from * dim..(from + 1) * dim, row * dim);
    }
    for row in (0..n).step_by(60) {
        data[row * dim..(row + 1) * dim].fill(if row % 120 == 0 { 0.0 } else { -0.0 });
    }
    let points = Points::new("points", &data, dim)?;
    let attraction = means(&points, &target, gamma)?;
    let towards = Points::new("target", &target, dim)?;
    for size in [1, 40, 700] {
        let slow = in_double(&points, &attraction, gamma, size)?;
        assert_eq!(greedy_towards(&points, &towards, gamma, size)?, slow);
        assert_eq!(in_single(&points, &attraction, gamma, size)?, slow);
    }
    // Equal rows that attract unequally are no copies.
    let unequal: Vec<f64> =
        attraction.iter().zip(0..n).map(|(a, i)| a + (i % 5) as f64 / 100.0).collect();
    let slow = in_double(&points, &unequal, gamma, 300)?;
    assert_eq!(in_single(&points, &unequal, gamma, 300)?, slow);
    Ok(())
}

/// The plain greedy with this crate's kernel values, so that ties are the same.
fn exhaustive(points: &Points<f64>, attraction: &[f64], gamma: f64, weights: &[f64]) -> Vec<usize> {
    let mut rows: Vec<usize> = Vec::new();
    let mut sums = vec![0.0; points.len()];
    for &weight in weights {
        let score = |i: usize| (-sums[i] as f64).mul_add(weight, attraction[i]);
        let left = (0..points.len()).filter(|i| !rows.contains(i));
        let Some(best) = left.reduce(|best, i| if score(i) > score(best) { i } else { best })
        else {
            break;
        };
        let origin = origin(points);
        let at = |i: usize| points.row(i).iter().zip(&origin).map(|(x, o)| x - o);
        let dot = |i, j| at(i).zip(at(j)).fold(0.0, |sum, (x, y): (f64, f64)| x.mul_add(y, sum));
        for (i, sum) in sums.iter_mut().enumerate() {
            let square = f64::mul_add(dot(best, i), -2.0, dot(best, best) + dot(i, i));
            *sum += crate::exp::exp_nonpositive(-gamma * square.max(0.0));
        }
        rows.push(best);
    }
    rows
}

/// The greedy without f32: its slow twin.
fn in_double(points: &Points<f64>, attraction: &[f64], gamma: f64, size: usize) -> Result<Picks> {
    Ok(run(Box::new(Double::new(points, attraction, gamma)?), size))
}

fn in_single<T: Scalar>(
    points: &Points<T>,
    attraction: &[f64],
    gamma: f64,
    size: usize,
) -> Result<Picks> {
    let scores = Screened::new(points, attraction, gamma).expect("points near each other");
    Ok(run(Box::new(scores), size))
}

fn run(mut scores: Box<dyn Scores + '_>, size: usize) -> Picks {
    for t in 0..size {
        let best = scores.best(1.0 / (t + 1) as f64).expect("no stop").expect("enough rows");
        scores.pick(best.row);
    }
    scores.into_picks()
}

#[test]
fn screening_in_single_precision_changes_no_bit() -> Result<()> {
    for (n, dim, size, gamma) in
        [(1, 1, 1, 1.0), (17, 1, 17, 0.5), (5001, 5, 200, 0.1), (2500, 64, 150, 0.01)]
    {
        let spread = normals(n * dim, 1);
        let shifted = Points::new("target", &spread[..dim], dim)?;
        // All rows within a few roundings of f32 of a few; and a row far away now and then.
        let close: Vec<f64> =
            lattice(n, dim, 2).iter().zip(&spread).map(|(x, e)| x + 1e-8 * e).collect();
        let far = |(i, x): (usize, &f64)| if i % (997 * dim) == 500 * dim { 1e4 * x } else { *x };
        let outliers: Vec<f64> = spread.iter().enumerate().map(far).collect();
        for table in [&spread, &close, &outliers] {
            let points = Points::new("points", table, dim)?;
            let attraction = crate::kernel::kernel_means(&points, &shifted, gamma)?;
            let found = greedy_towards(&points, &shifted, gamma, size)?;
            assert_eq!(found, in_double(&points, &attraction, gamma, size)?);
            // Attractions that differ by less than the margin, and not at all.
            let near: Vec<f64> = attraction.iter().map(|a| 0.5 + 1e-9 * a).collect();
            for attraction in [&attraction, &near, &vec![0.25; n]] {
                let found = in_single(&points, attraction, gamma, size)?;
                assert_eq!(found, in_double(&points, attraction, gamma, size)?);
                assert_eq!(found, greedy(&points, attraction, gamma, size)?);
            }
        }
    }
    Ok(())
}

#[test]
fn attractions_in_single_precision_change_no_bit() -> Result<()> {
    for (n, m, dim, size, gamma) in [
        (3000, 1, 4, 60, 0.1),
        (3000, 301, 4, 60, 0.1),
        (1000, 1000, 64, 100, 0.01),
        // Narrow kernels: most values are tiny.
        (2000, 300, 16, 150, 0.4),
        (2000, 40, 3, 150, 2.5),
        (5, 7, 1, 5, 1.0),
    ] {
        let data = normals(n * dim, 13);
        let points = Points::new("points", &data, dim)?;
        let near: Vec<f64> = normals(m * dim, 14).iter().map(|x| x + 0.5).collect();
        // Targets that attract all points nearly alike, or not at all.
        let same: Vec<f64> = near.iter().map(|x| 1e-6 * x).collect();
        let away: Vec<f64> = near.iter().map(|x| x + 300.0).collect();
        let far: Vec<f64> = near.iter().map(|x| x * 1e12).collect();
        for target in [&near, &same, &away, &far] {
            let attraction = means(&points, target, gamma)?;
            let target = Points::new("target", target, dim)?;
            let slow = in_double(&points, &attraction, gamma, size)?;
            let run = || greedy_towards(&points, &target, gamma, size);
            assert_eq!(at_threads(1, run)?, slow);
            assert_eq!(at_threads(3, run)?, slow);
            assert_eq!(same_every_way(run)?, slow);
        }
    }
    Ok(())
}

#[test]
fn points_too_far_apart_for_single_precision_are_not_screened() -> Result<()> {
    let data: Vec<f64> = normals(600 * 3, 11).iter().map(|x| x * 1e3).collect();
    let points = Points::new("points", &data, 3)?;
    assert!(Screened::new(&points, &[0.0; 600], 0.1).is_none());
    let attraction = means(&points, &data[..30], 0.1)?;
    let found = greedy(&points, &attraction, 0.1, 50)?;
    assert_eq!(found, in_double(&points, &attraction, 0.1, 50)?);
    let huge = [1e200, -1e200];
    let points = Points::new("points", &huge, 1)?;
    assert!(greedy(&points, &[0.0; 2], 1.0, 1).is_err());
    // Far from the origin but near each other is no harm.
    let data: Vec<f64> = normals(600 * 3, 12).iter().map(|x| x + 1e9).collect();
    assert!(Screened::new(&Points::new("points", &data, 3)?, &[0.0; 600], 0.1).is_some());
    Ok(())
}

#[test]
fn objective_is_j() -> Result<()> {
    let data = normals(60 * 4, 7);
    let target = normals(30 * 4, 8);
    let points = Points::new("points", &data, 4)?;
    let whole = Points::new("target", &target, 4)?;
    let picks = greedy(&points, &means(&points, &target, 0.1)?, 0.1, 20)?;
    for t in [1, 2, 20] {
        let rows: Vec<f64> = picks.rows[..t].iter().flat_map(|&i| points.row(i)).copied().collect();
        let mmd2 = crate::mmd::mmd2(&whole, &Points::new("summary", &rows, 4)?, 0.1)?;
        let j = crate::mmd::mean_kernel_self(&whole, 0.1)? - mmd2;
        assert!((picks.objective[t - 1] - j).abs() < 1e-13);
        let summary = Points::new("summary", &rows, 4)?;
        let again = objective(&summary, &means(&summary, &target, 0.1)?, 0.1)?;
        assert!(again.iter().zip(&picks.objective).all(|(a, b)| (a - b).abs() < 1e-13));
        assert_eq!(again.len(), t);
    }
    Ok(())
}

#[test]
fn same_bits_for_any_number_of_threads_and_on_every_path() -> Result<()> {
    let data = normals(5000 * 3, 9);
    let points = Points::new("points", &data, 3)?;
    let attraction = means(&points, &normals(20 * 3, 10), 0.3)?;
    let single = || in_single(&points, &attraction, 0.3, 40);
    let double = || in_double(&points, &attraction, 0.3, 40);
    assert_eq!(at_threads(1, single)?, at_threads(3, double)?);
    assert_eq!(at_threads(3, single)?, at_threads(1, double)?);
    for run in [&single as &dyn Fn() -> Result<Picks>, &double] {
        same_every_way(run)?;
    }
    Ok(())
}

#[test]
fn refuses_what_cannot_be_picked() -> Result<()> {
    let data = [0.0, 1.0, 2.0];
    let points = Points::new("points", &data, 1)?;
    let a = [0.1, 0.2, 0.3];
    let message = |r: Result<Picks>| r.err().map(|e| e.to_string()).unwrap_or_default();
    assert!(message(greedy(&points, &a, 1.0, 0)).starts_with("size"));
    assert!(message(greedy(&points, &a, 1.0, 4)).starts_with("size"));
    assert!(message(greedy(&points, &a[..2], 1.0, 1)).starts_with("attraction"));
    assert!(message(greedy(&points, &[0.0, f64::NAN, 0.0], 1.0, 1)).starts_with("attraction"));
    assert!(message(greedy(&points, &a, 0.0, 1)).starts_with("gamma"));
    let empty: [f64; 0] = [];
    assert!(message(greedy(&Points::new("points", &empty, 1)?, &[], 1.0, 1)).starts_with("points"));
    Ok(())
}

/// The conditions of Karush, Kuhn and Tucker, with plain loops: no point has a smaller slope than
/// those that have weight.
#[test]
fn weights_are_the_best_on_the_simplex() -> Result<()> {
    for (n, dim, gamma, ridge) in [
        (1, 1, 1.0, 0.0),
        (2, 1, 0.5, 0.0),
        (60, 3, 0.2, 0.0),
        (150, 9, 0.05, 0.01),
        (70, 2, 3.0, 9.0),
    ] {
        let data = normals(n * dim, 5);
        let points = Points::new("points", &data, dim)?;
        let target: Vec<f64> = normals(40 * dim, 6).iter().map(|x| 0.7 * x + 0.5).collect();
        let attraction = means(&points, &target, gamma)?;
        let found = weights(&points, &attraction, gamma, ridge, 1.0, 1e-10)?;
        assert!(found.iter().all(|&w| w >= 0.0));
        assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let kernel = |i: usize, j: usize| {
            let pairs = points.row(i).iter().zip(points.row(j));
            (-gamma * pairs.map(|(x, y)| (x - y) * (x - y)).sum::<f64>()).exp()
        };
        let slope = |i: usize| {
            let sum: f64 = (0..n).map(|j| found[j] * kernel(i, j)).sum();
            sum - attraction[i] + ridge * found[i]
        };
        let slopes: Vec<f64> = (0..n).map(slope).collect();
        let least = slopes.iter().copied().fold(f64::INFINITY, f64::min);
        let above = (0..n).filter(|&i| found[i] > 0.0).map(|i| slopes[i] - least);
        assert!(above.fold(0.0, f64::max) < 1e-7);
    }
    Ok(())
}

#[test]
fn weights_of_equal_points_and_refused_numbers() -> Result<()> {
    let same = vec![1.0; 40];
    let points = Points::new("points", &same, 2)?;
    let found = weights(&points, &[0.5; 20], 1.0, 0.1, 1.0, 1e-9)?;
    assert!(found.iter().all(|w| (w - 0.05).abs() < 1e-9));
    assert!(weights(&points, &[0.5; 20], 1.0, -0.1, 1.0, 1e-9).is_err());
    assert!(weights(&points, &[0.5; 20], 1.0, 0.1, 1.0, 0.0).is_err());
    assert!(weights(&points, &[0.5; 19], 1.0, 0.1, 1.0, 1e-9).is_err());
    for floor in [0.999, 20.001, -1.0, f64::NAN, f64::INFINITY] {
        let refused = weights(&points, &[0.5; 20], 1.0, 0.1, floor, 1e-9).err();
        assert!(refused.is_some_and(|e| e.to_string().starts_with("effective_size")));
    }
    Ok(())
}

/// Under a floor: it is reached, and no other weights that reach it are better by more than the
/// tolerance.
#[test]
fn weights_reach_a_floor_and_are_the_best_that_do() -> Result<()> {
    for (n, dim, gamma, ridge, floor) in [
        (60, 3, 0.2, 0.0, 30.0),
        (60, 3, 0.2, 0.003, 45.5),
        (150, 9, 0.05, 0.001, 149.0),
        (40, 2, 3.0, 0.0, 1.5),
    ] {
        let data = normals(n * dim, 5);
        let points = Points::new("points", &data, dim)?;
        let target: Vec<f64> = normals(40 * dim, 6).iter().map(|x| 0.7 * x + 0.5).collect();
        let attraction = means(&points, &target, gamma)?;
        let free = weights(&points, &attraction, gamma, ridge, 1.0, 1e-9)?;
        let found = weights(&points, &attraction, gamma, ridge, floor, 1e-9)?;
        assert!(found.iter().all(|&w| w >= 0.0));
        assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let size = |w: &[f64]| 1.0 / w.iter().map(|w| w * w).sum::<f64>();
        assert!(size(&found) >= floor * (1.0 - 1e-9));
        let kernel = |i: usize, j: usize| {
            let pairs = points.row(i).iter().zip(points.row(j));
            (-gamma * pairs.map(|(x, y)| (x - y) * (x - y)).sum::<f64>()).exp()
        };
        let loss = |w: &[f64]| -> f64 {
            let pull = |i: usize| (0..n).map(|j| w[j] * kernel(i, j)).sum::<f64>();
            (0..n).map(|i| w[i] * (pull(i) - 2.0 * attraction[i] + ridge * w[i])).sum()
        };
        if size(&free) >= floor {
            assert!((loss(&found) - loss(&free)).abs() < 2e-9);
            continue;
        }
        assert!((size(&found) / floor - 1.0).abs() < 1e-6);
        // Nothing between them and others that reach the floor is better.
        let least = loss(&found);
        for seed in 0..50 {
            let raw: Vec<f64> = normals(n, 100 + seed).iter().map(|x| (1.5 * x).exp()).collect();
            let total: f64 = raw.iter().sum();
            for share in [1.0, 0.1, 0.01, 0.001] {
                let mix = |(w, x): (&f64, &f64)| w + share * (x / total - w);
                let other: Vec<f64> = found.iter().zip(&raw).map(mix).collect();
                assert!(size(&other) < floor || loss(&other) >= least - 1e-9);
            }
        }
    }
    Ok(())
}
