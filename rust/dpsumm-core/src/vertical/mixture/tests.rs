use std::sync::atomic::AtomicBool;

use super::*;
use crate::error::{Error, Result};
use crate::rng::Source;
use crate::simd::tests::same_every_way;

const SIZES: [usize; 3] = [3, 2, 4];
const SETTINGS: Settings =
    Settings { components: 4, step: 0.06, init: 0.5, stop: 1e-6, max_steps: 3000, seed: 1 };

/// Two components, and their tables.
fn truth() -> (Vec<f64>, Vec<f64>) {
    let pi = [0.4, 0.6];
    let theta = [
        [0.7, 0.2, 0.1, 0.9, 0.1, 0.1, 0.2, 0.3, 0.4],
        [0.1, 0.3, 0.6, 0.2, 0.8, 0.6, 0.2, 0.1, 0.1],
    ];
    let mut pairs = vec![0.0; 81];
    let mut singles = vec![0.0; 9];
    for (p, row) in pi.iter().zip(&theta) {
        for i in 0..9 {
            singles[i] += p * row[i];
            for j in 0..9 {
                pairs[i * 9 + j] += p * row[i] * row[j];
            }
        }
    }
    (pairs, singles)
}

fn tables<'a>(
    pairs: &'a [f64],
    pair_weights: &'a [f64],
    singles: &'a [f64],
    single_weights: &'a [f64],
) -> Tables<'a> {
    Tables { sizes: &SIZES, pairs, pair_weights, singles, single_weights }
}

fn pair_weights(weight: f64) -> Vec<f64> {
    let block = |i: usize| [0, 0, 0, 1, 1, 2, 2, 2, 2][i];
    (0..81).map(|c| if block(c / 9) == block(c % 9) { 0.0 } else { weight }).collect()
}

#[test]
fn exact_tables_are_reproduced() -> Result<()> {
    let (pairs, singles) = truth();
    // A million records, noise 10.
    let (weights, single_weights) = (pair_weights(1e10), vec![1e10; 9]);
    let tables = tables(&pairs, &weights, &singles, &single_weights);
    let fit = fit(&tables, &SETTINGS, &AtomicBool::new(false))?;
    for i in 0..9 {
        for j in 0..9 {
            let cell: f64 =
                (0..4).map(|k| fit.pi[k] * fit.theta[k * 9 + i] * fit.theta[k * 9 + j]).sum();
            let error = if weights[i * 9 + j] > 0.0 { cell - pairs[i * 9 + j] } else { 0.0 };
            assert!(error.abs() < 2e-5, "{i} {j} {error:e}");
        }
    }
    Ok(())
}

#[test]
fn it_stops_at_the_noise_and_at_max_steps() -> Result<()> {
    let (pairs, singles) = truth();
    let (weights, single_weights) = (pair_weights(1e4), vec![1e4; 9]);
    let tables = tables(&pairs, &weights, &singles, &single_weights);
    let run = |stop, max_steps| {
        fit(&tables, &Settings { stop, max_steps, ..SETTINGS }, &AtomicBool::new(false))
    };
    let loose = run(1.0, 3000)?;
    assert!(loose.chi2 <= 1.0 && loose.steps < 500, "{loose:?}");
    assert_eq!(run(1e-6, 5)?.steps, 5);
    let stopped = fit(&tables, &SETTINGS, &AtomicBool::new(true));
    assert!(matches!(stopped, Err(Error::Stopped)));
    Ok(())
}

#[test]
fn every_processor_and_any_threads_give_the_same_bits() -> Result<()> {
    let (pairs, singles) = truth();
    let (weights, single_weights) = (pair_weights(1e6), vec![1e6; 9]);
    let tables = tables(&pairs, &weights, &singles, &single_weights);
    let settings = Settings { max_steps: 40, ..SETTINGS };
    let run = || fit(&tables, &settings, &AtomicBool::new(false));
    let wide = same_every_way(run);
    for threads in [1, 3] {
        if let Ok(pool) = rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
            assert_eq!(pool.install(run), wide);
        }
    }
    // A library's logarithm that differs in a last bit, or another order of a sum, moves these.
    let fit = wide?;
    let digest = fit
        .theta
        .iter()
        .chain(&fit.pi)
        .fold(0u64, |sum, x| (sum ^ x.to_bits()).wrapping_mul(0x0100_0000_01b3).rotate_left(7));
    assert_eq!(digest, 2_353_082_286_741_374_702);
    Ok(())
}

#[test]
fn samples_have_the_models_shares_and_the_given_codes() -> Result<()> {
    let pi = [0.25, 0.75];
    let theta = [1.0, 0.0, 0.5, 0.5, 0.0, 0.2, 0.8, 0.1, 0.1, 0.8];
    let mut source = Source::seeded(2, 0);
    let rows = sample(&pi, &theta, &[2, 3], &[None, None], 40_000, &mut source)?;
    let share =
        |f: &dyn Fn(&[u32]) -> bool| rows.chunks(2).filter(|row| f(row)).count() as f64 / 40_000.0;
    assert!((share(&|row| row[0] == 0) - 0.40).abs() < 0.02);
    assert!((share(&|row| row == [1, 2]) - 0.48).abs() < 0.02);
    // Component 1 has weight .75 * .8 against 0 when the second column is 2.
    let rows = sample(&pi, &theta, &[2, 3], &[None, Some(2)], 10_000, &mut source)?;
    assert!(rows.chunks(2).all(|row| row[1] == 2));
    let zeros = rows.chunks(2).filter(|row| row[0] == 0).count() as f64 / 10_000.0;
    assert!((zeros - 0.2).abs() < 0.03, "{zeros}");
    Ok(())
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut source = Source::seeded(2, 0);
    let mut draw = |pi: &[f64], theta: &[f64], given: &[Option<u32>]| {
        sample(pi, theta, &[2, 1], given, 1, &mut source)
    };
    assert!(draw(&[1.0], &[1.0, 0.0, 1.0], &[None, None]).is_ok());
    assert!(draw(&[1.0], &[1.0, 0.0], &[None, None]).is_err());
    assert!(draw(&[1.0], &[f64::NAN, 0.0, 1.0], &[None, None]).is_err());
    assert!(draw(&[1.0], &[1.0, 0.0, 1.0], &[Some(2), None]).is_err());
    assert!(draw(&[1.0], &[1.0, 0.0, 1.0], &[Some(1), None]).is_err());
    let (pairs, singles) = truth();
    let weights = vec![1.0; 81];
    let tables = Tables {
        sizes: &SIZES,
        pairs: &pairs,
        pair_weights: &weights,
        singles: &singles,
        single_weights: &[1.0; 9],
    };
    let run = |t: &Tables<'_>, s: &Settings| fit(t, s, &AtomicBool::new(false));
    for broken in [
        Settings { components: 0, ..SETTINGS },
        Settings { step: f64::NAN, ..SETTINGS },
        Settings { init: 0.0, ..SETTINGS },
    ] {
        assert!(run(&tables, &broken).is_err());
    }
    assert!(run(&Tables { singles: &singles[1..], ..tables }, &SETTINGS).is_err());
    assert!(run(&Tables { singles: &[f64::NAN; 9], ..tables }, &SETTINGS).is_err());
    assert!(run(&Tables { single_weights: &[-1.0; 9], ..tables }, &SETTINGS).is_err());
    assert!(run(&Tables { sizes: &[], ..tables }, &SETTINGS).is_err());
}
