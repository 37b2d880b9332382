//! The module `dpsumm._core`: a list of exports, no algorithms.

use pyo3::prelude::*;

#[pymodule]
mod _core {}
