//! Exact samplers as NumPy vectors. Each call has a generator of its own.

use dpsumm_core::error::check_room;
use dpsumm_core::noise::{DiscreteLaplace, ExponentialTree, RoundedNormal};
use dpsumm_core::rng::Source;
use numpy::{PyArray1, PyReadonlyArray1, ToPyArray};
use pyo3::prelude::*;

use crate::arrays::vector;
use crate::errors::CoreError;
use crate::run::detached;

// Streams of one test seed, one for each use, so that no two uses share coins.
pub const NORMAL: u64 = 0x6e6f_726d;
pub const LAPLACE: u64 = 0x6c61_706c;
pub const EXPONENTIAL: u64 = 0x6578_706f;
pub const QUANTIZE: u64 = 0x7175_616e;
pub const MWEM: u64 = 0x6d77_656d;

#[pyfunction]
#[pyo3(signature = (noise_std, size, seed=None))]
pub fn rounded_normal(
    py: Python<'_>,
    noise_std: f64,
    size: usize,
    seed: Option<u64>,
) -> PyResult<Bound<'_, PyArray1<i64>>> {
    let draws = detached(py, |_| {
        let law = RoundedNormal::new(noise_std)?;
        check_room::<i64>("size", size, 1)?;
        let mut source = Source::from_option(seed, NORMAL)?;
        Ok((0..size).map(|_| law.sample(&mut source)).collect::<Vec<_>>())
    })?;
    Ok(draws.to_pyarray(py))
}

#[pyfunction]
#[pyo3(signature = (scale, size, seed=None))]
pub fn discrete_laplace(
    py: Python<'_>,
    scale: f64,
    size: usize,
    seed: Option<u64>,
) -> PyResult<Bound<'_, PyArray1<i64>>> {
    let draws = detached(py, |_| {
        let law = DiscreteLaplace::new(scale)?;
        check_room::<i64>("size", size, 1)?;
        let mut source = Source::from_option(seed, LAPLACE)?;
        Ok((0..size).map(|_| law.sample(&mut source)).collect::<Vec<_>>())
    })?;
    Ok(draws.to_pyarray(py))
}

#[pyfunction]
#[pyo3(signature = (scores, epsilon, seed=None))]
pub fn exponential_choice(
    scores: PyReadonlyArray1<'_, i64>,
    epsilon: f64,
    seed: Option<u64>,
) -> PyResult<usize> {
    let tree = ExponentialTree::new(&vector(&scores), epsilon).map_err(CoreError)?;
    let mut source = Source::from_option(seed, EXPONENTIAL).map_err(CoreError)?;
    Ok(tree.select(&mut source))
}
