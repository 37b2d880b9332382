//! Draws of a key as NumPy vectors.

use dpsumm_core::draws;
use numpy::{PyArray1, ToPyArray};
use pyo3::prelude::*;

use crate::errors::{CoreError, key_of};
use crate::run::detached;

#[pyfunction]
pub fn units<'py>(
    py: Python<'py>,
    key: &[u8],
    first: u64,
    count: usize,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let key = key_of(key)?;
    let out = detached(py, |_| Ok(draws::units(key, first, count)?))?;
    Ok(out.to_pyarray(py))
}

#[pyfunction]
pub fn subset<'py>(
    py: Python<'py>,
    key: &[u8],
    total: u64,
    count: usize,
) -> PyResult<Bound<'py, PyArray1<u64>>> {
    let drawn = draws::subset(key_of(key)?, total, count).map_err(CoreError)?;
    Ok(drawn.to_pyarray(py))
}
