//! Bits on every path and with any number of threads; the law of the keys. Values: in Python,
//! against a twin in NumPy.

use super::*;
use crate::features::{FeatureKind, RandomFeatures};
use crate::kernel::tests::{at_threads, normals};
use crate::rng::Source;
use crate::simd::tests::same_every_way;

/// A map of (n, 3) rows, and a goal that is the mean of other points with noise.
fn world(n: usize) -> Result<(RandomFeatures, Vec<f64>, Vec<f64>)> {
    let map = RandomFeatures::draw(FeatureKind::Paired, true, 0.2, 3, 130, 8)?;
    let target: Vec<f64> = normals(150, 4).iter().map(|x| 0.6 * x + 0.5).collect();
    let features = map.transform(&Points::new("target", &target, 3)?)?;
    let mut goal = vec![0.0; 130];
    features.chunks(130).for_each(|row| axes::add(&mut goal, 1.0 / 50.0, row));
    axes::add(&mut goal, 0.02, &normals(130, 5));
    Ok((map, normals(3 * n, 6), goal))
}

#[test]
fn bits_do_not_depend_on_instructions_or_threads() -> Result<()> {
    for n in [5, 300] {
        let (map, rows, goal) = world(n)?;
        let single: Vec<f32> = rows.iter().map(|&x| x as f32).collect();
        let run = || -> Result<_> {
            let double = tilt(&map, &Points::new("x", &rows, 3)?, &goal, 0.02, 0.1)?;
            let single = tilt(&map, &Points::new("x", &single, 3)?, &goal, 0.02, 0.1)?;
            Ok((double, single))
        };
        let wide = same_every_way(run)?;
        assert!(wide.0.iter().any(|&u| u != 0.0));
        for threads in [1, 3] {
            assert_eq!(wide, at_threads(threads, run)?);
        }
    }
    Ok(())
}

#[test]
fn inner_products_are_chains_of_fused_operations_in_order() {
    for (n, m, dim) in [(1, 1, 1), (5, 9, 255), (100, 17, 257), (7, 8, 600)] {
        let (rows, others) = (normals(n * dim, 7), normals(m * dim, 8));
        let rows: Vec<&[f64]> = rows.chunks(dim).collect();
        let others: Vec<&[f64]> = others.chunks(dim).collect();
        let read = |k: usize, x: f64| x - 0.01 * k as f64;
        let chain = |x: &[f64], y: &[f64]| {
            let pairs = x.iter().zip(y).enumerate();
            pairs.fold(0.0, |sum, (k, (&x, &y))| read(k, x).mul_add(read(k, y), sum))
        };
        let plain = |rows: &[&[f64]], others: &[&[f64]]| -> Vec<f64> {
            rows.iter().flat_map(|x| others.iter().map(|y| chain(x, y))).collect()
        };
        assert_eq!(
            same_every_way(|| inner::inner(&rows, &others, dim, read)),
            plain(&rows, &others)
        );
        assert_eq!(same_every_way(|| inner::gram(&rows, dim, read)), plain(&rows, &rows));
    }
    assert!(inner::gram::<f64>(&[], 3, |_, x| x).is_empty());
}

#[test]
fn equal_rows_and_hidden_signals_have_no_direction() -> Result<()> {
    let (map, rows, goal) = world(40)?;
    let equal = rows[..3].repeat(40);
    for rows in [&equal[..], &rows[..3]] {
        for noise in [0.0, 0.1, 1e300] {
            let found = tilt(&map, &Points::new("x", rows, 3)?, &goal, noise, 0.0)?;
            assert_eq!(found, vec![0.0; 130]);
        }
    }
    let hidden = tilt(&map, &Points::new("x", &rows, 3)?, &goal, 1e9, 0.0)?;
    assert_eq!(hidden, vec![0.0; 130]);
    Ok(())
}

#[test]
fn keys_are_finite_for_every_coin_and_refuse_others() -> Result<()> {
    let keys = arrivals(&[0.0, 1.0, 0.0], &[0.0, 0.5, 1.0 - f64::EPSILON / 2.0])?;
    assert!(keys.iter().all(|key| key.is_finite()));
    assert!((keys[1] - (0.5f64.ln().abs().ln() - 1.0)).abs() < 1e-15);
    for (rates, coins) in [(&[0.0][..], &[1.0][..]), (&[0.0], &[-0.1]), (&[0.0], &[f64::NAN])] {
        assert!(matches!(arrivals(rates, coins), Err(Error::InvalidParameter { .. })));
    }
    assert!(matches!(arrivals(&[0.0], &[]), Err(Error::InvalidParameter { .. })));
    assert!(matches!(arrivals(&[f64::INFINITY], &[0.1]), Err(Error::NonFinite { .. })));
    Ok(())
}

#[test]
fn the_first_to_arrive_is_drawn_in_proportion_to_its_rate() -> Result<()> {
    let mut source = Source::seeded(1, 0);
    let (log_rates, mut first) = ([0.0, 3f64.ln()], 0);
    for _ in 0..20_000 {
        let keys = arrivals(&log_rates, &[source.unit(), source.unit()])?;
        first += usize::from(keys[1] < keys[0]);
    }
    // 6 standard deviations of a binomial count of chance 3/4.
    assert!((first as f64 - 15_000.0).abs() < 6.0 * (20_000.0 * 0.1875f64).sqrt(), "{first}");
    Ok(())
}
