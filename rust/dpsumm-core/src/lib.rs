//! Algorithms of dpsumm, and every number that its privacy rests on. No Python here.

pub mod bid;
pub mod error;
mod exp;
pub mod features;
pub mod grid;
pub mod kernel;
pub mod landmarks;
pub mod mmd;
pub mod mwem;
pub mod nearest;
pub mod noise;
pub mod points;
mod product;
pub mod quantize;
pub mod rng;
pub mod selection;
pub mod simd;
pub mod tilt;
mod trig;
pub mod vertical;

pub use error::{Error, Result};
