//! Projections on the weights w >= 0 of sum 1 whose effective size `1 / sum w_i^2` reaches a floor.
//!
//! Both are `(v_i - t)^+`, scaled to sum 1, for some threshold t. It is found from below: with a
//! set of entries taken for positive, t has a closed form, and entries below it leave the set, since
//! the true threshold is not smaller (Michelot 1986). The set shrinks, so this ends.

/// Return the weights nearest to `v`; an effective size of at least `floor`, below v's length.
pub(super) fn nearest(v: &[f64], floor: f64) -> Vec<f64> {
    let found = positive_parts(v, |mean, _, count| Some(mean - 1.0 / count));
    if found.iter().map(|w| w * w).sum::<f64>() <= 1.0 / floor {
        return found;
    }
    steepest(v, floor)
}

/// Return the weights w of the largest `v . w`.
///
/// They just reach the floor, and are the nearest to v times any large number.
pub(super) fn steepest(v: &[f64], floor: f64) -> Vec<f64> {
    // Of m entries with variance s^2, those above `mean - s sqrt(floor / (m - floor))` make weights
    // of that effective size. No more than `floor` of them, or all equal: equal weights.
    positive_parts(v, |mean, variance, count| {
        let room = count - floor;
        (room > 0.0 && variance > 0.0).then(|| mean - (variance * floor / room).sqrt())
    })
}

/// Return `(v - t)^+`, scaled to sum 1, with t from mean, variance and number of the positive ones.
fn positive_parts(v: &[f64], threshold: impl Fn(f64, f64, f64) -> Option<f64>) -> Vec<f64> {
    // Around their middle, so that little is lost in differences.
    let middle = v.iter().sum::<f64>() / v.len() as f64;
    let v: Vec<f64> = v.iter().map(|x| x - middle).collect();
    let mut kept: Vec<usize> = (0..v.len()).collect();
    let mut parts = vec![0.0; v.len()];
    loop {
        let count = kept.len() as f64;
        let mean = kept.iter().map(|&i| v[i]).sum::<f64>() / count;
        let variance = kept.iter().map(|&i| (v[i] - mean) * (v[i] - mean)).sum::<f64>() / count;
        let at = threshold(mean, variance, count);
        let above: Vec<usize> =
            kept.iter().copied().filter(|&i| at.is_none_or(|at| v[i] > at)).collect();
        // Where rounding leaves none above, those that are left are equal up to rounding.
        if above.len() == kept.len() || above.is_empty() {
            let at = at.filter(|_| !above.is_empty());
            kept.iter().for_each(|&i| parts[i] = at.map_or(1.0, |at| v[i] - at));
            let sum: f64 = parts.iter().sum();
            parts.iter_mut().for_each(|part| *part /= sum);
            return parts;
        }
        kept = above;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::tests::normals;

    fn effective_size(weights: &[f64]) -> f64 {
        1.0 / weights.iter().map(|w| w * w).sum::<f64>()
    }

    /// Dykstra's algorithm (1983): projections on the simplex and on the ball by turns.
    fn plain_nearest(v: &[f64], floor: f64) -> Vec<f64> {
        let (mut x, mut p, mut q) = (v.to_vec(), vec![0.0; v.len()], vec![0.0; v.len()]);
        for _ in 0..20_000 {
            let y: Vec<f64> = x.iter().zip(&p).map(|(x, p)| x + p).collect();
            let on = positive_parts(&y, |mean, _, count| Some(mean - 1.0 / count));
            p = y.iter().zip(&on).map(|(y, on)| y - on).collect();
            let y: Vec<f64> = on.iter().zip(&q).map(|(x, q)| x + q).collect();
            let norm = y.iter().map(|y| y * y).sum::<f64>().sqrt();
            let scale = (1.0 / floor.sqrt() / norm).min(1.0);
            x = y.iter().map(|y| y * scale).collect();
            q = y.iter().zip(&x).map(|(y, x)| y - x).collect();
        }
        x
    }

    #[test]
    fn the_nearest_weights_are_those_of_alternating_projections() {
        for (seed, size, floor) in [(1, 0.01, 6.0), (2, 0.3, 6.0), (3, 3.0, 9.5), (4, 1.0, 1.5)] {
            let v: Vec<f64> = normals(12, seed).iter().map(|x| size * x).collect();
            let found = nearest(&v, floor);
            assert!(effective_size(&found) >= floor * (1.0 - 1e-12));
            assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            for (found, plain) in found.iter().zip(plain_nearest(&v, floor)) {
                assert!((found - plain).abs() < 1e-5, "{seed}: {found} {plain}");
            }
        }
    }

    #[test]
    fn the_steepest_weights_are_the_nearest_to_a_long_vector() {
        let v = normals(40, 5);
        for floor in [1.0, 1.2, 7.0, 39.0] {
            let found = steepest(&v, floor);
            assert!((effective_size(&found) - floor).abs() < 1e-9 * floor);
            let long: Vec<f64> = v.iter().map(|x| 1e9 * x).collect();
            let near = nearest(&long, floor);
            found.iter().zip(near).for_each(|(a, b)| assert!((a - b).abs() < 1e-6));
        }
    }

    #[test]
    fn ties_have_equal_weights() {
        for (v, wanted) in [
            (vec![1.0; 4], vec![0.25; 4]),
            (vec![1.0, 1.0, 0.0], vec![0.5, 0.5, 0.0]),
            (vec![1.0, 1.0, -1e3], vec![0.5, 0.5, 0.0]),
        ] {
            assert_eq!(steepest(&v, 1.5), wanted);
        }
        assert_eq!(nearest(&[0.0; 3], 2.0), vec![1.0 / 3.0; 3]);
    }
}
