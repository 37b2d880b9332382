use std::sync::atomic::AtomicBool;

use super::*;
use crate::rng::Source;
use crate::simd::tests::same_every_way;

const SIZES: [usize; 2] = [5, 3];
const START: [f64; 3] = [0.5, 0.2, 0.3];

fn records(n: usize) -> Vec<u32> {
    let mut source = Source::seeded(1, 2);
    (0..2 * n).map(|i| source.below(SIZES[i % 2] as u64) as u32).collect()
}

fn moments(codes: &[u32], shares: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; 8 * 3];
    for (row, shares) in codes.chunks_exact(2).zip(shares.chunks_exact(3)) {
        for at in [row[0] as usize, 5 + row[1] as usize] {
            for (class, share) in shares.iter().enumerate() {
                out[at * 3 + class] += share / (codes.len() / 2) as f64;
            }
        }
    }
    out
}

#[test]
fn fitted_weights_have_the_moments() -> Result<()> {
    same_every_way(|| -> Result<Vec<f64>> {
        let codes = records(5000);
        let view = Codes::new(&codes, &SIZES, 3)?;
        let truth: Vec<f64> = (0..24).map(|i| f64::from(i * 7 % 11) / 5.0 - 1.0).collect();
        let wanted = shares(view, &truth, &START)?;
        let moments = moments(&codes, &wanted);
        let ridges = vec![1e-8; 24];
        let asked = Wanted { moments: &moments, ridges: &ridges };
        let found = fit(view, &asked, &START, 60, &AtomicBool::new(false))?;
        let reached = shares(view, &found, &START)?;
        for (a, b) in reached.iter().zip(&wanted) {
            assert!((a - b).abs() < 1e-3, "{a} {b}");
        }
        Ok(found)
    })
    .map(|_| ())
}

#[test]
fn large_ridges_leave_the_start() -> Result<()> {
    let codes = records(300);
    let view = Codes::new(&codes, &SIZES, 3)?;
    let moments = vec![0.1; 24];
    let asked = Wanted { moments: &moments, ridges: &[1e9; 24] };
    let found = fit(view, &asked, &START, 60, &AtomicBool::new(false))?;
    assert!(found.iter().all(|w| w.abs() < 1e-8));
    let reached = shares(view, &found, &START)?;
    for row in reached.chunks_exact(3) {
        assert!(row.iter().zip(START).all(|(x, s)| (x - s).abs() < 1e-6));
    }
    Ok(())
}

#[test]
fn bad_input_is_refused() -> Result<()> {
    let view = Codes::new(&[0, 0, 4, 2], &SIZES, 3)?;
    assert!(Codes::new(&[0, 3], &SIZES, 3).is_err());
    assert!(Codes::new(&[0, 1, 2], &SIZES, 3).is_err());
    assert!(Codes::new(&[0, 1], &[5, 0], 3).is_err());
    assert!(Codes::new(&[], &[], 3).is_err());
    assert!(Codes::new(&[0, 1], &SIZES, 0).is_err());
    assert!(shares(view, &[0.0; 23], &START).is_err());
    assert!(shares(view, &[f64::NAN; 24], &START).is_err());
    assert!(shares(view, &[0.0; 24], &[0.5, 0.5, 0.0]).is_err());
    let none = AtomicBool::new(false);
    let asked = |moments, ridges| Wanted { moments, ridges };
    assert!(fit(view, &asked(&[0.0; 24], &[-1.0; 24]), &START, 9, &none).is_err());
    assert!(fit(view, &asked(&[0.0; 9], &[1.0; 24]), &START, 9, &none).is_err());
    let empty = Codes::new(&[], &SIZES, 3)?;
    assert!(fit(empty, &asked(&[0.0; 24], &[1.0; 24]), &START, 9, &none).is_err());
    assert_eq!(shares(empty, &[0.0; 24], &START), Ok(vec![]));
    let stopped = AtomicBool::new(true);
    assert_eq!(fit(view, &asked(&[0.1; 24], &[1.0; 24]), &START, 9, &stopped), Err(Error::Stopped));
    Ok(())
}
