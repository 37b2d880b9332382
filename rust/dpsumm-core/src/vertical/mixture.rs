//! A mixture of products of categorical columns: fitted to noisy two-way tables, and sampled.
//!
//! Both are post-processing of released numbers. Still every bit is the same on every processor and
//! with any number of threads: sums are chains in a fixed order, logarithms and roots are exact
//! functions of their argument's bits, and the first values come from an integer sampler.

mod fit;
mod product;
mod sample;
#[cfg(test)]
mod tests;

pub use fit::fit;
pub use sample::sample;

/// What is fitted to: shares, and how much each of them counts.
#[derive(Debug, Clone, Copy)]
pub struct Tables<'a> {
    /// Categories of each column; their sum is W.
    pub sizes: &'a [usize],
    /// Two-way tables side by side, `(W, W)`, symmetric, as shares of the records.
    pub pairs: &'a [f64],
    /// One over the variance of each share; 0 where there is no table.
    pub pair_weights: &'a [f64],
    /// One-way tables side by side, `(W,)`, as shares.
    pub singles: &'a [f64],
    /// One over their variances.
    pub single_weights: &'a [f64],
}

/// How it is fitted.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Components of the mixture.
    pub components: usize,
    /// Rate of the first step.
    pub step: f64,
    /// Standard deviation of the first values, in nats.
    pub init: f64,
    /// Chi-square for each cell of a pair at which the fit stops.
    pub stop: f64,
    /// Steps at most.
    pub max_steps: usize,
    /// Of the first values.
    pub seed: u64,
}

/// A mixture, and how far its fit came.
#[derive(Debug, Clone, PartialEq)]
pub struct Mixture {
    /// Weight of each component.
    pub pi: Vec<f64>,
    /// Share of each category in each component, `(K, W)`.
    pub theta: Vec<f64>,
    /// Steps taken.
    pub steps: usize,
    /// Chi-square for each cell at the end.
    pub chi2: f64,
}
