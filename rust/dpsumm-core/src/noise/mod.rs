//! Exact samplers: from uniform bits to noise, in integers only.
//!
//! *Exact* means that the law of the output is the stated law itself, not an approximation of it:
//! the only idealisation is that the source's bits are uniform and independent. No floating point
//! number lies between a secret coin and an output, so the low bits of a result cannot tell
//! neighbouring data apart (Mironov 2012), and no delta is spent on arithmetic.
//!
//! | file | law | what it costs in privacy |
//! |---|---|---|
//! | [`laplace`] | `P(k) ~ exp(-abs(k) / scale)` on the integers | `D / scale`, pure, for sums that move by at most `D` (L1) |
//! | [`normal`] | `std * N(0, 1)` rounded to nearest | that of the continuous Gaussian: rounding is post-processing |
//! | [`exponential`] | `P(i) ~ exp(epsilon * score_i)` | `2 D epsilon`, pure, for scores that move by at most `D` each |
//! | [`bernoulli`], [`uniform`], [`fixed`] | coins, lazy uniforms and parameters the others are made of | none of their own |
//!
//! Not covered: time. The number of coins drawn depends on the outcome, so whoever can time one
//! draw learns about it.

pub mod bernoulli;
pub mod exponential;
pub mod fixed;
pub mod laplace;
pub mod normal;
pub mod uniform;

#[cfg(test)]
mod law;

pub use exponential::ExponentialTree;
pub use laplace::DiscreteLaplace;
pub use normal::RoundedNormal;
pub use uniform::LazyUniform;
