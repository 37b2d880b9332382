//! Algorithms of dpsumm, and every number that its privacy rests on. No Python here.

pub mod error;
pub mod rng;

pub use error::{Error, Result};
