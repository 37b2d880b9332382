//! What only the Auction needs: bids and MWEM.

use std::sync::{Mutex, PoisonError};

use dpsumm_core::Error;
use dpsumm_core::bid::Bidder;
use dpsumm_core::mwem::{Mwem, MwemParams};
use dpsumm_core::rng::Source;
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2, ToPyArray};
use pyo3::prelude::*;

use crate::arrays::{rows, vector};
use crate::errors::CoreError;
use crate::noise::MWEM;
use crate::run::{detached, here};

/// A lock that no panic can break: the core does not panic while it is held.
fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[pyclass(frozen, name = "Bidder", module = "dpsumm.kernels._core")]
pub struct PyBidder(Mutex<Bidder>);

impl PyBidder {
    /// Run `work` on this thread if it is brief, else in the package's threads.
    fn run<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Bidder) -> Result<R, Error> + Send,
    ) -> PyResult<R> {
        let tried = here(py, || {
            let mut bidder = locked(&self.0);
            Ok(if bidder.is_brief() { Ok(work(&mut bidder)?) } else { Err(work) })
        })?;
        tried.or_else(|work| detached(py, |_| Ok(work(&mut locked(&self.0))?)))
    }
}

#[pymethods]
impl PyBidder {
    #[new]
    fn new(features: PyReadonlyArray2<'_, i16>) -> PyResult<Self> {
        let (data, width) = rows(&features);
        let bidder = Bidder::new(data.into_owned(), width).map_err(CoreError)?;
        Ok(Self(Mutex::new(bidder)))
    }

    fn append(
        &self,
        py: Python<'_>,
        features: PyReadonlyArray2<'_, i16>,
        ids: PyReadonlyArray1<'_, i64>,
    ) -> PyResult<()> {
        let (data, width) = rows(&features);
        let ids = vector(&ids);
        self.run(py, |bidder| {
            if width != bidder.n_features() {
                let reason = format!("must have {} columns", bidder.n_features());
                return Err(Error::InvalidParameter { name: "features", reason });
            }
            bidder.append(&data, &ids)
        })
    }

    fn set_target(&self, py: Python<'_>, direction: PyReadonlyArray1<'_, i64>) -> PyResult<()> {
        let direction = vector(&direction);
        self.run(py, |bidder| bidder.set_target(&direction))
    }

    fn set_summary(&self, py: Python<'_>, direction: PyReadonlyArray1<'_, i64>) -> PyResult<()> {
        let direction = vector(&direction);
        self.run(py, |bidder| bidder.set_summary(&direction))
    }

    fn remove(&self, row: usize) -> PyResult<()> {
        Ok(locked(&self.0).remove(row).map_err(CoreError)?)
    }

    /// Set the directions that are given first: a round of bids is one call.
    #[pyo3(signature = (target_factor, summary_factor, count, target=None, summary=None))]
    fn best(
        &self,
        py: Python<'_>,
        target_factor: i64,
        summary_factor: i64,
        count: usize,
        target: Option<PyReadonlyArray1<'_, i64>>,
        summary: Option<PyReadonlyArray1<'_, i64>>,
    ) -> PyResult<(Vec<usize>, Vec<i128>)> {
        let (target, summary) = (target.as_ref().map(vector), summary.as_ref().map(vector));
        let bids = self.run(py, |bidder| {
            target.iter().try_for_each(|direction| bidder.set_target(direction))?;
            summary.iter().try_for_each(|direction| bidder.set_summary(direction))?;
            bidder.best(target_factor, summary_factor, count)
        })?;
        Ok(bids.into_iter().map(|bid| (bid.row, bid.score)).unzip())
    }
}

#[pyclass(frozen, name = "Mwem", module = "dpsumm.kernels._core")]
pub struct PyMwem(Mutex<Mwem>);

#[pymethods]
impl PyMwem {
    #[new]
    fn new(theta: PyReadonlyArray1<'_, f64>, steps: u32) -> PyResult<Self> {
        let mwem = Mwem::from_theta(vector(&theta).into_owned(), steps).map_err(CoreError)?;
        Ok(Self(Mutex::new(mwem)))
    }

    #[getter]
    fn theta<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        locked(&self.0).theta().to_pyarray(py)
    }

    #[pyo3(signature = (sums, count, iterations, epsilon_select, epsilon_measure, seed=None))]
    #[expect(clippy::too_many_arguments, reason = "the parameters of Algorithm 2")]
    fn run<'py>(
        &self,
        py: Python<'py>,
        sums: PyReadonlyArray1<'py, i64>,
        count: u64,
        iterations: usize,
        epsilon_select: f64,
        epsilon_measure: f64,
        seed: Option<u64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let sums = vector(&sums);
        let release = detached(py, |_| {
            let params = MwemParams { iterations, epsilon_select, epsilon_measure };
            let mut source = Source::from_option(seed, MWEM)?;
            Ok(locked(&self.0).run(&sums, count, &params, &mut source)?)
        })?;
        Ok(release.means.to_pyarray(py))
    }
}
