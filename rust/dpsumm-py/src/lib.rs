//! The module `dpsumm.kernels._core`: a list of exports, no algorithms.
#![allow(missing_docs, reason = "the typed stub _core.pyi and the Python wrappers document it")]

use pyo3::prelude::*;

mod arrays;
mod auction;
mod draws;
mod errors;
mod features;
mod landmarks;
mod noise;
mod run;
mod selection;
mod vertical;

#[pymodule]
mod _core {
    use pyo3::prelude::*;

    use super::errors::CoreError;

    #[pymodule_export]
    use super::auction::{PyBidder, PyMwem};
    #[pymodule_export]
    use super::draws::{subset, units};
    #[pymodule_export]
    use super::features::{
        PyRandomFeatures, arrivals, kernel_means, mean_kernel_self, mmd2, nearest,
    };
    #[pymodule_export]
    use super::landmarks::PyLandmarkFeatures;
    #[pymodule_export]
    use super::noise::{discrete_laplace, exponential_choice, rounded_normal};
    #[pymodule_export]
    use super::run::set_threads;
    #[pymodule_export]
    use super::selection::{PyPicks, greedy, greedy_towards, objective, weights};

    #[pymodule_export]
    use super::vertical::{
        fit_mixture, fit_softmax, one_hot_product, pad_correction, pad_mask, pad_product,
        pad_share, pair_counts, sample_mixture, softmax_shares,
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("INSTRUCTIONS", dpsumm_core::simd::instructions().map_err(CoreError)?)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
