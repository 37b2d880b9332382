//! Random features, the exact kernel and MMD.

use dpsumm_core::error::check_room;
use dpsumm_core::features::{FeatureKind, FeatureMap, RandomFeatures};
use dpsumm_core::grid::{Grid, ROWS, features_on_grid, sum_on_grid};
use dpsumm_core::points::{Points, Scalar};
use dpsumm_core::quantize::Quantizer;
use dpsumm_core::rng::Source;
use dpsumm_core::{kernel, mmd, tilt};
use numpy::{
    Element, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, ToPyArray,
};
use pyo3::prelude::*;

use crate::arrays::{AnyPoints, rows, vector, with_points, with_two};
use crate::errors::{CoreError, InvalidParameterError};
use crate::noise::QUANTIZE;
use crate::run::{detached, here};

#[pyclass(frozen, name = "RandomFeatures", module = "dpsumm.kernels._core")]
pub struct PyRandomFeatures(RandomFeatures);

fn kind_of(name: &str) -> PyResult<FeatureKind> {
    match name {
        "paired" => Ok(FeatureKind::Paired),
        "phase" => Ok(FeatureKind::Phase),
        _ => Err(InvalidParameterError::new_err(format!(
            "kind must be 'paired' or 'phase', got {name:?}"
        ))),
    }
}

/// Every row's features, in the precision of the points.
pub fn transformed<'py>(
    py: Python<'py>,
    map: &impl FeatureMap,
    points: AnyPoints<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let width = map.n_features();
    with_points!(points, "points", |points| {
        // NumPy asks for huge pages, which a large result is filled faster in.
        let out = zeros_like(py, &points, [points.len(), width])?;
        let mut filled = out.readwrite();
        let slice = filled.as_slice_mut()?;
        detached(py, |_| Ok(map.transform_into(&points, slice)?))?;
        drop(filled);
        Ok(out.into_any())
    })
}

fn zeros_like<'py, T: Scalar + Element>(
    py: Python<'py>,
    points: &Points<T>,
    shape: [usize; 2],
) -> PyResult<Bound<'py, PyArray2<T>>> {
    check_room::<T>(points.name(), shape[0], shape[1]).map_err(CoreError)?;
    Ok(PyArray2::zeros(py, shape, false))
}

/// The sum of all rows' features on a grid.
pub fn summed<'py>(
    py: Python<'py>,
    map: &impl FeatureMap,
    points: AnyPoints<'py>,
    grid: &Grid,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    with_points!(points, "points", |points| {
        let out = detached(py, |_| Ok(sum_on_grid(map, &points, grid)?))?;
        Ok(out.to_pyarray(py))
    })
}

/// Products of every row's features with each of a few directions.
pub fn project<'py>(
    py: Python<'py>,
    map: &impl FeatureMap,
    points: AnyPoints<'py>,
    directions: &PyReadonlyArray2<'py, f64>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (directions, width) = rows(directions);
    if width != map.n_features() {
        return Err(InvalidParameterError::new_err(format!(
            "direction has {width} numbers, needs {}",
            map.n_features()
        )));
    }
    with_points!(points, "points", |points| {
        let out = detached(py, |_| Ok(map.project(&points, &directions)?))?;
        PyArray1::from_vec(py, out).reshape([points.len(), directions.len() / width])
    })
}

/// The direction of a tilted draw.
pub fn tilted<'py>(
    py: Python<'py>,
    map: &impl FeatureMap,
    sample: AnyPoints<'py>,
    goal: &PyReadonlyArray1<'py, f64>,
    noise: f64,
    least: f64,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let goal = vector(goal);
    with_points!(sample, "sample", |sample| {
        let out = detached(py, |_| Ok(tilt::tilt(map, &sample, &goal, noise, least)?))?;
        Ok(out.to_pyarray(py))
    })
}

#[pyfunction]
pub fn arrivals<'py>(
    py: Python<'py>,
    log_rates: PyReadonlyArray1<'py, f64>,
    uniform: PyReadonlyArray1<'py, f64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (log_rates, uniform) = (vector(&log_rates), vector(&uniform));
    let out = detached(py, |_| Ok(tilt::arrivals(&log_rates, &uniform)?))?;
    Ok(out.to_pyarray(py))
}

#[pymethods]
impl PyRandomFeatures {
    #[new]
    fn new(
        py: Python<'_>,
        kind: &str,
        orthogonal: bool,
        gamma: f64,
        n_columns: usize,
        n_features: usize,
        seed: u64,
    ) -> PyResult<Self> {
        let kind = kind_of(kind)?;
        detached(py, |_| {
            Ok(RandomFeatures::draw(kind, orthogonal, gamma, n_columns, n_features, seed)?)
        })
        .map(Self)
    }

    #[staticmethod]
    fn from_parts(
        kind: &str,
        omega: PyReadonlyArray2<'_, f64>,
        phase: PyReadonlyArray1<'_, f64>,
    ) -> PyResult<Self> {
        let (omega, width) = rows(&omega);
        RandomFeatures::from_parts(
            kind_of(kind)?,
            omega.into_owned(),
            vector(&phase).into_owned(),
            width,
        )
        .map(Self)
        .map_err(|error| CoreError(error).into())
    }

    #[getter]
    fn omega<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let omega = self.0.omega();
        omega.to_pyarray(py).reshape([omega.len() / self.0.dim(), self.0.dim()])
    }

    #[getter]
    fn phase<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.0.phase().to_pyarray(py)
    }

    #[getter]
    fn n_features(&self) -> usize {
        self.0.n_features()
    }

    /// Largest L2 norm of a feature row: what sensitivities are multiples of.
    #[getter]
    fn max_norm(&self) -> f64 {
        match self.0.kind() {
            FeatureKind::Paired => 1.0,
            FeatureKind::Phase => std::f64::consts::SQRT_2,
        }
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
        summed(py, &self.0, points, &Grid::for_features(self.0.kind(), levels).map_err(CoreError)?)
    }

    /// Random rounding to the grid of `steps` steps, summed.
    #[pyo3(signature = (points, steps, seed=None))]
    fn quantized_sum<'py>(
        &self,
        py: Python<'py>,
        points: AnyPoints<'py>,
        steps: u32,
        seed: Option<u64>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let quantizer = Quantizer::new(steps).map_err(CoreError)?;
        with_points!(points, "points", |points| {
            let out = detached(py, |_| {
                let mut source = Source::from_option(seed, QUANTIZE)?;
                Ok(quantizer.sum_features(&self.0, &points, &mut source)?)
            })?;
            Ok(out.to_pyarray(py))
        })
    }

    fn on_grid<'py>(
        &self,
        py: Python<'py>,
        points: AnyPoints<'py>,
    ) -> PyResult<Bound<'py, PyArray2<i16>>> {
        let width = self.0.n_features();
        let grid = Grid::for_bids(self.0.kind(), width).map_err(CoreError)?;
        with_points!(points, "points", |points| {
            let made = || Ok(features_on_grid(&self.0, &points, &grid)?);
            let brief = points.len() <= ROWS;
            let out = if brief { here(py, made) } else { detached(py, |_| made()) }?;
            PyArray1::from_vec(py, out).reshape([points.len(), width])
        })
    }
}

#[pyfunction]
pub fn kernel_means<'py>(
    py: Python<'py>,
    points: AnyPoints<'py>,
    others: AnyPoints<'py>,
    gamma: f64,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    with_two!(points, "points", others, "others", |points, others| {
        let out =
            detached(py, |stop| Ok(kernel::kernel_means(&points.until(stop), &others, gamma)?))?;
        Ok(out.to_pyarray(py))
    })
}

#[pyfunction]
pub fn mmd2(py: Python<'_>, a: AnyPoints<'_>, b: AnyPoints<'_>, gamma: f64) -> PyResult<f64> {
    with_two!(a, "a", b, "b", |a, b| detached(py, |stop| Ok(mmd::mmd2(
        &a.until(stop),
        &b.until(stop),
        gamma
    )?)))
}

#[pyfunction]
pub fn mean_kernel_self(py: Python<'_>, points: AnyPoints<'_>, gamma: f64) -> PyResult<f64> {
    with_points!(points, "points", |points| detached(py, |stop| Ok(mmd::mean_kernel_self(
        &points.until(stop),
        gamma
    )?)))
}

#[pyfunction]
#[allow(clippy::type_complexity)]
pub fn nearest<'py>(
    py: Python<'py>,
    points: AnyPoints<'py>,
    others: AnyPoints<'py>,
    count: usize,
) -> PyResult<(Bound<'py, PyArray2<i64>>, Bound<'py, PyArray2<f64>>)> {
    with_two!(points, "points", others, "others", |points, others| {
        check_room::<i64>("points", points.len(), count).map_err(CoreError)?;
        let (places, squares) = detached(py, |stop| {
            Ok(dpsumm_core::nearest::nearest(&points.until(stop), &others, count)?)
        })?;
        let shape = [points.len(), count];
        Ok((
            PyArray1::from_vec(py, places).reshape(shape)?,
            PyArray1::from_vec(py, squares).reshape(shape)?,
        ))
    })
}
