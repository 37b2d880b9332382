//! Errors of the core as the package's exceptions.

use dpsumm_core::Error;
use dpsumm_core::rng::Key;
use pyo3::PyErr;
use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyOSError};

pyo3::import_exception!(dpsumm.errors, InvalidDataError);
pyo3::import_exception!(dpsumm.errors, InvalidParameterError);

/// An error of the core on its way to Python, so that `?` works everywhere in this crate.
pub struct CoreError(pub Error);

impl From<Error> for CoreError {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl From<CoreError> for PyErr {
    fn from(CoreError(error): CoreError) -> Self {
        let message = error.to_string();
        match error {
            Error::InvalidParameter { .. } => InvalidParameterError::new_err(message),
            Error::NonFinite { .. } => InvalidDataError::new_err(message),
            Error::NoMemory { .. } => PyMemoryError::new_err(message),
            Error::Stopped => PyKeyboardInterrupt::new_err(message),
            Error::NoEntropy => PyOSError::new_err(message),
        }
    }
}

/// Return a key of ChaCha20, checked.
pub fn key_of(key: &[u8]) -> Result<&Key, CoreError> {
    key.try_into().map_err(|_| CoreError(Error::invalid("key", "must be 32 bytes")))
}
