//! Algorithms of dpsumm, and every number that its privacy rests on. No Python here.

pub mod error;
pub mod features;
pub mod noise;
pub mod points;
mod product;
pub mod rng;

pub use error::{Error, Result};
