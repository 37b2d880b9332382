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
    /// A result would not fit the memory; allocating it anyway would end the process.
    NoMemory {
        /// Name of what asks for so much.
        name: &'static str,
    },
    /// The caller asked to stop ([`crate::points::Points::until`]).
    Stopped,
    /// The operating system gave no random bytes, so nothing private can be drawn.
    NoEntropy,
}

impl Error {
    /// An [`Error::InvalidParameter`] from anything that can be shown.
    pub fn invalid(name: &'static str, reason: impl Into<String>) -> Self {
        Self::InvalidParameter { name, reason: reason.into() }
    }
}

/// Ask whether `rows * columns` elements can be allocated: `vec!` would abort the process if not.
///
/// # Errors
/// [`Error::NoMemory`] for `name`.
pub fn check_room<T>(name: &'static str, rows: usize, columns: usize) -> Result<()> {
    let room = |len| Vec::<T>::new().try_reserve_exact(len).ok();
    rows.checked_mul(columns).and_then(room).ok_or(Error::NoMemory { name })
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidParameter { name, reason } => write!(f, "{name}: {reason}"),
            Self::NonFinite { name } => {
                write!(f, "{name} holds NaN or infinite values; remove or impute them first")
            }
            Self::NoMemory { name } => {
                write!(f, "{name}: the result does not fit the memory; ask for less at a time")
            }
            Self::Stopped => write!(f, "stopped before the end"),
            Self::NoEntropy => {
                write!(f, "the operating system gave no random bytes; nothing private can be drawn")
            }
        }
    }
}

impl std::error::Error for Error {}

/// Result of the core's functions.
pub type Result<T> = std::result::Result<T, Error>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_refused_before_it_is_missed() {
        assert_eq!(check_room::<f64>("n", 1000, 1000), Ok(()));
        for (rows, columns) in [(1 << 30, 1 << 30), (1 << 40, 1 << 40), (usize::MAX, 2)] {
            assert_eq!(check_room::<f64>("n", rows, columns), Err(Error::NoMemory { name: "n" }));
        }
    }
}
