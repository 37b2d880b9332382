//! The core of dpsumm: exact noise, feature maps whose sums have a proven sensitivity, and the
//! choice of points that match a released mean. No Python here.
//!
//! | module | what it has |
//! |---|---|
//! | [`rng`], [`noise`] | the operating system's randomness, and samplers whose law is the stated one |
//! | [`draws`] | draws that protect no record and repeat by their key |
//! | [`features`], [`landmarks`], [`grid`], [`quantize`] | maps of the Gaussian kernel, and integers whose sums move by a known length |
//! | [`mwem`] | the mean of bounded coordinates by multiplicative weights |
//! | [`kernel`], [`mmd`], [`nearest`] | means of the kernel, distance of two samples, nearest rows |
//! | [`selection`], [`tilt`], [`bid`] | which points match a target: exact greedy, weights, a tilted draw, bids |
//! | [`vertical`] | tables of two owners' columns that neither sees, and models of noisy tables |
//!
//! Results depend neither on the number of threads nor on the processor. What protects somebody is
//! computed in integers, and each module states its claim, what it assumes and what tests it.
//!
//! # Examples
//! Release the mean features of a few records, and choose the two of four points that match it.
//! ```
//! use dpsumm_core::features::{FeatureKind, FeatureMap, RandomFeatures};
//! use dpsumm_core::grid::{Grid, sum_on_grid};
//! use dpsumm_core::noise::RoundedNormal;
//! use dpsumm_core::points::Points;
//! use dpsumm_core::rng::Source;
//! use dpsumm_core::selection::greedy;
//!
//! let map = RandomFeatures::draw(FeatureKind::Paired, true, 1.0, 1, 256, 1)?;
//! let grid = Grid::for_features(FeatureKind::Paired, 1 << 20)?;
//! let records: Vec<f64> = (0..4000).map(|i| 2.0 + f64::from(i % 100) / 1000.0).collect();
//! let sum = sum_on_grid(&map, &Points::new("records", &records, 1)?, &grid)?;
//!
//! // One record replaced moves the sum by 2 R at most: a noise multiplier of 4.
//! let law = RoundedNormal::new(4.0 * 2.0 * (grid.max_norm_squared() as f64).sqrt())?;
//! let mut source = Source::system()?;
//! let scale = f64::from(grid.levels()) * records.len() as f64;
//! let mean: Vec<f64> = sum.iter().map(|s| (s + law.sample(&mut source)) as f64 / scale).collect();
//!
//! let points = Points::new("points", &[-3.0, 2.0, 0.0, 2.1], 1)?;
//! let attraction = map.project(&points, &mean)?;
//! let mut rows = greedy(&points, &attraction, 1.0, 2)?.rows;
//! rows.sort();
//! assert_eq!(rows, [1, 3]);
//! # Ok::<(), dpsumm_core::Error>(())
//! ```

pub mod bid;
pub mod draws;
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
