//! Random Fourier features: signatures first, bodies follow.
#![allow(missing_docs, unused_variables, clippy::todo)]

use crate::error::Result;
use crate::points::{Points, Scalar};

/// Which features.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeatureKind {
    /// cos and sin of each frequency.
    Paired,
    /// cos of frequency plus phase.
    Phase,
}

/// Random Fourier features.
#[derive(Debug, Clone, PartialEq)]
pub struct RandomFeatures {
    kind: FeatureKind,
    dim: usize,
    omega: Vec<f64>,
    phase: Vec<f64>,
}

impl RandomFeatures {
    pub fn draw(
        kind: FeatureKind, orthogonal: bool, gamma: f64, dim: usize, n_features: usize, seed: u64,
    ) -> Result<Self> {
        todo!()
    }
    pub fn from_parts(kind: FeatureKind, omega: Vec<f64>, phase: Vec<f64>, dim: usize) -> Result<Self> {
        todo!()
    }
    pub fn kind(&self) -> FeatureKind {
        self.kind
    }
    pub fn dim(&self) -> usize {
        self.dim
    }
    pub fn n_features(&self) -> usize {
        todo!()
    }
    pub fn omega(&self) -> &[f64] {
        &self.omega
    }
    pub fn phase(&self) -> &[f64] {
        &self.phase
    }
    pub fn transform_block<T: Scalar>(&self, rows: &[T], out: &mut [T]) {
        todo!()
    }
    pub fn transform<T: Scalar>(&self, points: &Points<T>) -> Result<Vec<T>> {
        todo!()
    }
    pub fn scores<T: Scalar>(&self, points: &Points<T>, direction: &[f64]) -> Result<Vec<f64>> {
        todo!()
    }
}
