//! One error type for the core. Messages carry public parameters only, never a value of the data.

use std::fmt;

/// What can go wrong in the core.
#[derive(Debug, Clone, PartialEq)]
pub enum Error {
    /// A parameter is outside its range; `reason` says the range and the way out.
    InvalidParameter {
        /// Name of the parameter as the caller knows it.
        name: &'static str,
        /// The range allowed and the way out.
        reason: String,
    },
    /// An input array holds NaN or an infinity. The value and its place are not told: they are private.
    NonFinite {
        /// Name of the array.
        name: &'static str,
    },
    /// The operating system gave no random bytes, so nothing private can be drawn.
    NoEntropy,
}

impl Error {
    /// An [`Error::InvalidParameter`] from anything that can be shown.
    pub fn invalid(name: &'static str, reason: impl Into<String>) -> Self {
        Self::InvalidParameter { name, reason: reason.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidParameter { name, reason } => write!(f, "{name}: {reason}"),
            Self::NonFinite { name } => {
                write!(f, "{name} holds NaN or infinite values; remove or impute them first")
            }
            Self::NoEntropy => {
                write!(f, "the operating system gave no random bytes; nothing private can be drawn")
            }
        }
    }
}

impl std::error::Error for Error {}

/// Result of the core's functions.
pub type Result<T> = std::result::Result<T, Error>;
