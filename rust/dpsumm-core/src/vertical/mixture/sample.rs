//! Drawing rows from a mixture.

use crate::error::{Error, Result, check_room};
use crate::rng::Source;

/// Draw `n` rows of codes, a code for each column; where `given` has a code, that one.
///
/// The given columns choose among components by Bayes' rule; the others are drawn from the chosen.
///
/// # Errors
/// Parameters that do not fit each other, numbers that are no shares, a given combination that no
/// component has.
pub fn sample(
    pi: &[f64],
    theta: &[f64],
    sizes: &[usize],
    given: &[Option<u32>],
    n: usize,
    source: &mut Source,
) -> Result<Vec<u32>> {
    let width: usize = sizes.iter().sum();
    if sizes.is_empty() || pi.is_empty() || pi.len().checked_mul(width) != Some(theta.len()) {
        return Err(Error::invalid("theta", "must have shape (len(pi), sum(sizes))"));
    }
    if pi.iter().chain(theta).any(|x| !(0.0..=1.0 + 1e-9).contains(x)) {
        return Err(Error::invalid("theta", "and pi must be shares, from 0 to 1"));
    }
    let fits =
        given.iter().zip(sizes).all(|(code, &n)| code.is_none_or(|code| (code as usize) < n));
    if given.len() != sizes.len() || !fits {
        return Err(Error::invalid(
            "given",
            "must have a code below its size, or none, for each column",
        ));
    }
    check_room::<u32>("n", n, sizes.len())?;
    let components = cumulative(&weights(pi, theta, sizes, given)?);
    let cumulated: Vec<f64> = theta
        .chunks_exact(width)
        .flat_map(|row| {
            let mut start = 0;
            sizes.iter().flat_map(move |&size| {
                start += size;
                cumulative(&row[start - size..start])
            })
        })
        .collect();
    let mut out = Vec::with_capacity(n * sizes.len());
    for _ in 0..n {
        let k = draw(&components, source);
        let mut start = k * width;
        for (code, &size) in given.iter().zip(sizes) {
            let code = code.unwrap_or_else(|| draw(&cumulated[start..start + size], source) as u32);
            out.push(code);
            start += size;
        }
    }
    Ok(out)
}

/// The components' weights given some columns.
fn weights(pi: &[f64], theta: &[f64], sizes: &[usize], given: &[Option<u32>]) -> Result<Vec<f64>> {
    let width: usize = sizes.iter().sum();
    let mut weights = pi.to_vec();
    let mut start = 0;
    for (code, &size) in given.iter().zip(sizes) {
        if let Some(code) = code {
            for (weight, row) in weights.iter_mut().zip(theta.chunks_exact(width)) {
                *weight *= row[start + *code as usize];
            }
            // So that many columns do not underflow.
            let top = weights.iter().fold(0.0, |a: f64, &b| a.max(b));
            if top > 0.0 {
                weights.iter_mut().for_each(|weight| *weight /= top);
            }
        }
        start += size;
    }
    if weights.iter().sum::<f64>() > 0.0 {
        Ok(weights)
    } else {
        Err(Error::invalid("given", "has no chance in the model; give fewer columns"))
    }
}

fn cumulative(shares: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    shares
        .iter()
        .map(|&x| {
            sum += x;
            sum
        })
        .collect()
}

/// Draw an index by its cumulative weight.
fn draw(cumulative: &[f64], source: &mut Source) -> usize {
    let total = cumulative.last().copied().unwrap_or(0.0);
    let at = source.unit() * total;
    cumulative.partition_point(|&x| x <= at).min(cumulative.len() - 1)
}
