//! Landmark features.

use dpsumm_core::features::FeatureMap;
use dpsumm_core::landmarks::{LandmarkFeatures, Region, Simplex};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::arrays::{AnyPoints, rows};
use crate::errors::CoreError;
use crate::features::{project, summed, tilted, transformed};
use crate::run::detached;

#[pyclass(frozen, name = "LandmarkFeatures", module = "dpsumm.kernels._core")]
pub struct PyLandmarkFeatures(LandmarkFeatures);

#[pymethods]
impl PyLandmarkFeatures {
    #[new]
    #[pyo3(signature = (landmarks, gamma, region=None))]
    fn new(
        py: Python<'_>,
        landmarks: PyReadonlyArray2<'_, f64>,
        gamma: f64,
        region: Option<Vec<(usize, f64)>>,
    ) -> PyResult<Self> {
        let (data, width) = rows(&landmarks);
        let landmarks =
            dpsumm_core::points::Points::new("landmarks", &data, width).map_err(CoreError)?;
        let simplices = |parts: Vec<(usize, f64)>| {
            Region::new(parts.into_iter().map(|(cells, limit)| Simplex { cells, limit }).collect())
        };
        let region = region.map(simplices).transpose().map_err(CoreError)?;
        detached(py, |_| Ok(LandmarkFeatures::new(&landmarks, gamma, region)?)).map(Self)
    }

    #[getter]
    fn n_features(&self) -> usize {
        self.0.n_features()
    }

    fn grid_norm(&self, levels: u32) -> f64 {
        self.0.grid_norm(levels)
    }

    fn grid_difference(&self, levels: u32) -> f64 {
        self.0.grid_difference(levels)
    }

    fn transform<'py>(
        &self,
        py: Python<'py>,
        points: AnyPoints<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        transformed(py, &self.0, points)
    }

    fn scores<'py>(
        &self,
        py: Python<'py>,
        points: AnyPoints<'py>,
        directions: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        project(py, &self.0, points, &directions)
    }

    fn tilt<'py>(
        &self,
        py: Python<'py>,
        sample: AnyPoints<'py>,
        goal: PyReadonlyArray1<'py, f64>,
        noise: f64,
        least: f64,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        tilted(py, &self.0, sample, &goal, noise, least)
    }

    fn sum_on_grid<'py>(
        &self,
        py: Python<'py>,
        points: AnyPoints<'py>,
        levels: u32,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        summed(py, &self.0, points, &self.0.grid(levels).map_err(CoreError)?)
    }
}
