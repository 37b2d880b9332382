//! Greedy selection towards a target, weights.

use dpsumm_core::selection::{self, Picks};
use numpy::{PyArray1, PyReadonlyArray1, ToPyArray};
use pyo3::prelude::*;

use crate::arrays::{AnyPoints, vector, with_points, with_two};
use crate::run::detached;

#[pyclass(frozen, name = "Picks", module = "dpsumm.kernels._core")]
pub struct PyPicks(Picks);

#[pymethods]
impl PyPicks {
    #[getter]
    fn rows<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        let rows: Vec<i64> = self.0.rows.iter().map(|&row| row as i64).collect();
        rows.to_pyarray(py)
    }

    #[getter]
    fn objective<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.0.objective.to_pyarray(py)
    }
}

#[pyfunction]
pub fn greedy<'py>(
    py: Python<'py>,
    points: AnyPoints<'py>,
    attraction: PyReadonlyArray1<'py, f64>,
    gamma: f64,
    size: usize,
) -> PyResult<PyPicks> {
    let attraction = vector(&attraction);
    with_points!(points, "points", |points| {
        detached(py, |stop| Ok(selection::greedy(&points.until(stop), &attraction, gamma, size)?))
            .map(PyPicks)
    })
}

#[pyfunction]
pub fn greedy_towards<'py>(
    py: Python<'py>,
    points: AnyPoints<'py>,
    target: AnyPoints<'py>,
    gamma: f64,
    size: usize,
) -> PyResult<PyPicks> {
    with_two!(points, "points", target, "target", |points, target| {
        detached(py, |stop| {
            Ok(selection::greedy_towards(&points.until(stop), &target, gamma, size)?)
        })
        .map(PyPicks)
    })
}

#[pyfunction]
pub fn objective<'py>(
    py: Python<'py>,
    points: AnyPoints<'py>,
    attraction: PyReadonlyArray1<'py, f64>,
    gamma: f64,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let attraction = vector(&attraction);
    with_points!(points, "points", |points| {
        let out = detached(py, |stop| {
            Ok(selection::objective(&points.until(stop), &attraction, gamma)?)
        })?;
        Ok(out.to_pyarray(py))
    })
}

#[pyfunction]
pub fn weights<'py>(
    py: Python<'py>,
    points: AnyPoints<'py>,
    attraction: PyReadonlyArray1<'py, f64>,
    gamma: f64,
    ridge: f64,
    effective_size: f64,
    tolerance: f64,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let attraction = vector(&attraction);
    with_points!(points, "points", |points| {
        let out = detached(py, |stop| {
            let points = points.until(stop);
            let size = effective_size;
            Ok(selection::weights(&points, &attraction, gamma, ridge, size, tolerance)?)
        })?;
        Ok(out.to_pyarray(py))
    })
}
